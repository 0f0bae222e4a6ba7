"""A module before it is built: its class, spaces and settings."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from gymnasium.spaces import Space
from typing_extensions import Self, override

from ...core.columns import DEFAULT_MODULE_ID
from ...core.errors import ConfigError
from ...core.spaces.ray_layouts import gym_space_to_dict, space_from_ray
from ...core.trust import Names, Slot, Trust, Words
from ...core.trust.arguments import live_arguments
from ...core.vault.decode.standins import GlobalRef, Opaque, class_path
from ..saving.class_names import saved_name
from ..saving.class_slots import CATALOG, MODULE
from .model_config import as_settings

if TYPE_CHECKING:
    from .multi_spec import MultiRLModuleSpec
    from .rl_module import RLModule


class SpecData:
    """A spec that data, as in a file, can become again."""

    @classmethod
    def from_dict(
        cls,
        d: Mapping[str, Any],
        *,
        trust: Words = None,
        module_classes: Mapping[str, Any] | None = None,
    ) -> Self:
        """Restore a spec from the output of `to_dict`.

        Args:
            d: The data.
            trust: Your own classes that it names: a list, or a mapping of the names in it.
            module_classes: Another spelling of `trust`.

        Raises:
            UnknownClassError: Classes are missing; the error lists all of them.
        """
        names = Names(Trust.of(trust) | Trust.of(module_classes))
        spec = cls.in_file(d, names)
        names.check("from_dict")
        return spec

    @classmethod
    @abc.abstractmethod
    def in_file(cls, d: Mapping[str, Any], names: Names) -> Self:
        """Restore a spec from `to_dict` data or pickled attributes in a file."""


def space_data(space: Space[Any] | None) -> Any:
    """A space as RLlib's dict."""
    return gym_space_to_dict(space)


def space_of(data: Any) -> Any:
    """The space in RLlib's dict; a space is kept."""
    return space_from_ray(data) if isinstance(data, Mapping) else data


NAMES: Final = (str, GlobalRef, Opaque)
"""Types that represent classes in a file."""


@dataclass
class RLModuleSpec(SpecData):
    """Specification of one module.

    Args:
        module_class: The class.
        observation_space: What it takes.
        action_space: What it gives.
        inference_only: Whether parts that only learning needs are left out.
        learner_only: Whether it lives on learners only.
        model_config: Settings, a dict or a `DefaultModelConfig`.
        catalog_class: Builds its networks; None leaves the choice to the class.
        load_state_path: A checkpoint a learner starts from.
        model_config_dict: The older name of `model_config`.

    Example:
        >>> from gymnasium.spaces import Box, Discrete
        >>> from rlconnect.v2 import DefaultPPOTorchRLModule
        >>> spec = RLModuleSpec(DefaultPPOTorchRLModule, Box(-1, 1, (3,)), Discrete(2))
        >>> type(spec.build()).__name__
        'DefaultPPOTorchRLModule'
    """

    module_class: Any = None
    observation_space: Space[Any] | None = None
    action_space: Space[Any] | None = None
    inference_only: bool | None = False
    learner_only: bool | None = False
    model_config: Any = None
    catalog_class: Any = None
    load_state_path: str | None = None
    model_config_dict: InitVar[Any] = None

    def __post_init__(self, model_config_dict: Any) -> None:
        if model_config_dict is not None:
            self.model_config = model_config_dict

    def build(self) -> RLModule:
        """Make the module.

        Raises:
            ConfigError: The class or a space is missing.
        """
        if self.module_class is None:
            raise ConfigError("the RLModule class is not set", hint="set module_class.")
        if self.observation_space is None:
            raise ConfigError("Observation space is not set", hint="set observation_space.")
        if self.action_space is None:
            raise ConfigError("Action space is not set", hint="set action_space.")
        module: RLModule = self.module_class(
            observation_space=self.observation_space,
            action_space=self.action_space,
            inference_only=self.inference_only,
            learner_only=self.learner_only,
            model_config=as_settings(self.model_config),
            catalog_class=self.catalog_class,
        )
        return module

    @classmethod
    def from_module(cls, module: RLModule) -> RLModuleSpec:
        """Describe an existing module.

        Raises:
            ConfigError: The module is a multi-module.
        """
        from .multi_rl_module import MultiRLModule

        if isinstance(module, MultiRLModule):
            raise ConfigError(
                "RLModuleSpec.from_module() got a MultiRLModule",
                hint="use MultiRLModuleSpec.from_module().",
            )
        module = module.unwrapped()
        return cls(
            module_class=type(module),
            observation_space=module.observation_space,
            action_space=module.action_space,
            inference_only=module.inference_only,
            learner_only=module.learner_only,
            model_config=as_settings(module.model_config),
            catalog_class=None if module.catalog is None else type(module.catalog),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: classes by name, spaces as RLlib's dicts."""
        return {
            "module_class": _name(self.module_class),
            "observation_space": space_data(self.observation_space),
            "action_space": space_data(self.action_space),
            "inference_only": self.inference_only,
            "learner_only": self.learner_only,
            "model_config": as_settings(self.model_config),
            "catalog_class": _name(self.catalog_class),
        }

    @classmethod
    @override
    def in_file(cls, d: Mapping[str, Any], names: Names) -> Self:
        return cls(
            module_class=_named(d.get("module_class"), MODULE, names),
            observation_space=space_of(live_arguments(d.get("observation_space"), names)),
            action_space=space_of(live_arguments(d.get("action_space"), names)),
            inference_only=d.get("inference_only", False),
            learner_only=d.get("learner_only", False),
            model_config=live_arguments(d.get("model_config"), names),
            catalog_class=_named(d.get("catalog_class"), CATALOG, names),
        )

    def update(self, other: RLModuleSpec, override: bool = True) -> None:
        """Take fields over from another spec.

        Args:
            other: The other one; what it leaves empty changes nothing.
            override: Whether its fields replace ours; otherwise they only fill empty ones.

        Raises:
            ConfigError: It is no RLModuleSpec.
        """
        if not isinstance(other, RLModuleSpec):
            raise ConfigError(
                "update()", expected="another RLModuleSpec", found=type(other).__name__
            )
        for part in fields(self):
            mine, theirs = getattr(self, part.name), getattr(other, part.name)
            # An inference-only module stays inference-only: False is the default.
            is_said = not _is_empty(theirs) and (part.name != "inference_only" or theirs)
            if is_said and (override or _is_empty(mine)):
                setattr(self, part.name, theirs)

    def as_multi_rl_module_spec(self) -> MultiRLModuleSpec:
        """Return a multi-module spec that holds only this one, by the default id."""
        from .multi_spec import MultiRLModuleSpec

        return MultiRLModuleSpec(
            rl_module_specs={DEFAULT_MODULE_ID: self}, load_state_path=self.load_state_path
        )


def _is_empty(value: Any) -> bool:
    return value is None or value == {}


def _name(cls: Any) -> str | None:
    return None if cls is None else ".".join(saved_name(cls))


def _named(path: Any, slot: Slot, names: Names) -> Any:
    return names.find(class_path(path), slot) if isinstance(path, NAMES) else path
