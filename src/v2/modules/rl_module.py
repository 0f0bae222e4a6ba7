"""The base of every module: a network with three forward passes, a state and a checkpoint.

A subclass builds its layers in `setup` and computes in `_forward`, or in `_forward_inference`,
`_forward_exploration` and `_forward_train` where they differ. `torch_rl_module` adds torch,
`multi_rl_module` holds several modules by id, `spec` describes one before it is built.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from gymnasium.spaces import Space
from typing_extensions import Self, override

from ...core.columns import DEFAULT_MODULE_ID
from ...core.data.budget import one_load
from ...core.errors import PieceError
from ...core.importing.torch_needed import torch_needed
from ...core.limits.asking import room_of_the_load
from ...core.trust import Trust, Words
from ...core.vault.file_names import MODULE_STATE
from ...core.vault.save_manifest import of_one_save
from ..saving.checkpointable import Checkpointable, Components, _check_local

if TYPE_CHECKING:
    from ..distributions.base import Distribution
    from .multi_rl_module import MultiRLModule


@dataclass
class RLModuleConfig:
    """The constructor arguments of a module in one object, which RLlib calls its `config`.

    Args:
        observation_space: What it takes.
        action_space: What it gives.
        inference_only: Whether parts that only learning needs are left out.
        learner_only: Whether it lives on learners only.
        model_config_dict: Its settings.
        catalog_class: Builds its networks.

    Example:
        >>> RLModuleConfig(model_config_dict={"hiddens": [8]}).model_config_dict
        {'hiddens': [8]}
    """

    observation_space: Space[Any] | None = None
    action_space: Space[Any] | None = None
    inference_only: bool | None = False
    learner_only: bool | None = False
    model_config_dict: Any = None
    catalog_class: Any = None

    def get_catalog(self) -> Any:
        """Make a catalog for these spaces and settings; None where there is no class of one."""
        if self.catalog_class is None:
            return None
        return self.catalog_class(
            observation_space=self.observation_space,
            action_space=self.action_space,
            model_config_dict=self.model_config_dict,
        )


class _ConfigOfModule:
    """`module.config`: created on first access, and replaced by a module's own attribute."""

    def __get__(self, module: Any, owner: type[Any]) -> Any:
        if module is None:
            return self
        return RLModuleConfig(
            observation_space=module.observation_space,
            action_space=module.action_space,
            inference_only=module.inference_only,
            learner_only=module.learner_only,
            model_config_dict=module.model_config,
            catalog_class=module._catalog_class,
        )


class InferenceOnlyError(PieceError, RuntimeError):
    """A module that only acts was asked to learn."""


class RLModule(Checkpointable):
    """A network of one policy.

    Args:
        observation_space: What it takes, after the connectors.
        action_space: What it gives, before the connectors.
        inference_only: Whether parts that only learning needs may be left out.
        learner_only: Whether it lives on learners only.
        model_config: Settings, a dict or a `DefaultModelConfig`.
        catalog_class: Builds its networks; a module may do without.

    Example:
        >>> class Constant(RLModule):
        ...     def _forward(self, batch, **kwargs):
        ...         return {"actions": [self.model_config["action"]] * len(batch["obs"])}
        >>> Constant(model_config={"action": 3}).forward_inference({"obs": [0.5, 0.6]})
        {'actions': [3, 3]}
    """

    framework: str | None = None
    STATE_FILE_NAME: ClassVar[str] = MODULE_STATE
    _default_catalog: ClassVar[Any] = None
    config: Any = _ConfigOfModule()
    """The arguments it was made with, as older releases hand them out."""

    def __init__(
        self,
        *,
        observation_space: Space[Any] | None = None,
        action_space: Space[Any] | None = None,
        inference_only: bool | None = None,
        learner_only: bool | None = False,
        model_config: Any = None,
        catalog_class: Any = None,
    ) -> None:
        self.observation_space: Any = observation_space
        self.action_space: Any = action_space
        self.inference_only = inference_only
        self.learner_only = learner_only
        self.model_config: Any = {} if model_config is None else model_config
        self.action_dist_cls: Any = None
        self.catalog: Any = None
        # A module may define its own networks for spaces that no catalog supports: the error waits
        # until somebody asks for the catalog.
        self._catalog_ctor_error: Exception | None = None
        self._catalog_class = catalog_class = catalog_class or self._default_catalog
        self._is_stateful: bool | None = None
        self._is_setup = False
        with room_of_the_load():
            if catalog_class is not None:
                self._make_catalog(catalog_class)
            self.setup()
        self._is_setup = True

    def _make_catalog(self, catalog_class: Any) -> None:
        try:
            self.catalog = catalog_class(
                observation_space=self.observation_space,
                action_space=self.action_space,
                model_config_dict=self.model_config,
            )
            self.action_dist_cls = self.catalog.get_action_dist_cls(framework=self.framework)
        except Exception as error:
            self.catalog, self._catalog_ctor_error = None, error

    def setup(self) -> None:
        """Build the layers; spaces, settings and the catalog are there."""

    def _needed_catalog(self) -> Any:
        """The catalog, or why there is none."""
        if self.catalog is not None:
            return self.catalog
        if self._catalog_ctor_error is not None:
            raise self._catalog_ctor_error
        raise PieceError(f"{type(self).__name__} needs a catalog_class to build its networks")

    # Acting and learning

    def forward_inference(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Compute what the best actions follow from."""
        return self._forward_inference(batch, **kwargs)

    def forward_exploration(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Compute what exploring actions follow from; `t` is the number of steps sampled."""
        return self._forward_exploration(batch, **kwargs)

    def forward_train(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Compute what a loss needs.

        Raises:
            InferenceOnlyError: The module has left out what learning needs.
        """
        if self.inference_only:
            raise InferenceOnlyError(
                "forward_train() was called on an inference_only module",
                found=type(self).__name__,
                hint="build it with inference_only=False.",
            )
        return self._forward_train(batch, **kwargs)

    def bare_pass(self, explore: bool) -> Callable[..., dict[str, Any]]:
        """Return the pass that acts as its author wrote it, for who minds modes and gradients."""
        return self._forward_exploration if explore else self._forward_inference

    def steady_pass(self, explore: bool) -> Callable[..., dict[str, Any]]:
        """Return a forward pass for many steps, during which the mode of layers is not changed."""
        return self.forward_exploration if explore else self.forward_inference

    @classmethod
    def explores_apart(cls) -> bool:
        """Return True if exploration and inference use different forward passes."""
        passes = cls._forward_exploration, cls._forward_inference
        return passes != (RLModule._forward_exploration, RLModule._forward_inference)

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Compute the outputs, where all three passes are the same."""
        return {}

    def _forward_inference(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return self._forward(batch, **kwargs)

    def _forward_exploration(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return self._forward(batch, **kwargs)

    def _forward_train(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return self._forward(batch, **kwargs)

    def get_inference_action_dist_cls(self) -> type[Distribution]:
        """Name the distribution that the forward pass of that kind gives the inputs of."""
        raise NotImplementedError(f"{type(self).__name__} names no distribution.")

    get_exploration_action_dist_cls = get_train_action_dist_cls = get_inference_action_dist_cls

    # Recurrent state

    def get_initial_state(self) -> dict[str, Any]:
        """Return the initial state of an episode, without a batch axis; {} if stateless."""
        return {}

    def is_stateful(self) -> bool:
        """True if it carries a state from step to step."""
        if self._is_stateful is None:
            initial = self.get_initial_state()
            if not isinstance(initial, dict):
                raise PieceError(
                    f"{type(self).__name__}.get_initial_state()",
                    expected="a dict",
                    found=type(initial).__name__,
                )
            self._is_stateful = bool(initial)
        return self._is_stateful

    # State and checkpoints

    @override
    def get_state(
        self,
        components: Components = None,
        *,
        not_components: Components = None,
        inference_only: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        return {}

    @override
    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take weights over; the base has none."""

    @override
    def get_ctor_args_and_kwargs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (), {
            "observation_space": self.observation_space,
            "action_space": self.action_space,
            "inference_only": self.inference_only,
            "learner_only": self.learner_only,
            "model_config": self.model_config,
            "catalog_class": None if self.catalog is None else type(self.catalog),
        }

    @classmethod
    @override
    @of_one_save
    def from_checkpoint(
        cls,
        path: str | os.PathLike[str],
        filesystem: Any = None,
        *,
        trust: Words = None,
        module_classes: Mapping[str, Any] | None = None,
        model: Any = None,
        strict: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Build the module that a folder holds, without running a byte of it.

        Args:
            path: A module's or multi-module's folder, or a checkpoint that contains one.
            filesystem: Only None: local files.
            trust: Your own classes that the checkpoint names: modules, catalogs. A list of them,
                or a mapping of the dotted names in the file.
            module_classes: Another spelling of `trust`.
            model: The network as data, where the module's class is not here: a dict, a
                `rlconnect.core.nets.Network`, or the path of a TOML file; see
                `docs/custom-networks.md`.
            strict: Whether every weight must be there and fit; otherwise what fits is taken.
            **kwargs: Constructor arguments to use in place of the saved ones.

        Raises:
            UnknownClassError: It is of a class rlconnect does not have; the error carries what
                could be read, weights included.
            CheckpointError: Nothing there can be read.
        """
        with torch_needed("the module in this checkpoint"):
            from .loading import load_module

        _check_local(filesystem)
        words = Trust.of(trust) | Trust.of(module_classes)
        with one_load():
            return load_module(cls, path, words, strict=strict, described=model, overrides=kwargs)

    def as_multi_rl_module(self) -> MultiRLModule:
        """Return a multi-module that holds only this one, by the default id."""
        from .multi_rl_module import MultiRLModule

        multi = MultiRLModule()
        multi.add_module(DEFAULT_MODULE_ID, self)
        return multi

    def input_specs_inference(self) -> Any:
        """Say which columns a pass takes or gives: nothing, unless a subclass does."""

    input_specs_exploration = input_specs_train = input_specs_inference
    output_specs_inference = output_specs_exploration = output_specs_train = input_specs_inference

    def unwrapped(self) -> RLModule:
        """Return the unwrapped module."""
        return self
