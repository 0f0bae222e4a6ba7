"""Several modules before they are built."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from gymnasium.spaces import Space
from typing_extensions import Self, override

from ...core.errors import ConfigError
from ...core.trust import Names, find
from ...core.trust.arguments import Records, live_arguments
from ...core.vault.decode.standins import class_path, mapping_of
from ..saving.class_names import saved_name
from ..saving.class_slots import MODULE
from .spec import RLModuleSpec, SpecData, space_data, space_of

if TYPE_CHECKING:
    from .multi_rl_module import MultiRLModule
    from .rl_module import RLModule


def _multi_rl_module() -> Any:
    from .multi_rl_module import MultiRLModule

    return MultiRLModule


@dataclass
class MultiRLModuleSpec(SpecData):
    """Specification of a multi-module: one spec per module id.

    Args:
        multi_rl_module_class: The class of the multi-module.
        observation_space: For a custom class with its own space.
        action_space: For a custom class with its own space.
        inference_only: Whether all modules are for inference only; None uses their own settings.
        model_config: Settings of a custom class.
        rl_module_specs: The specs by module id.
        load_state_path: A checkpoint from which a learner loads the weights.
        modules_to_load: Ids of the modules it takes from there; None for all.
        module_specs: The older name of `rl_module_specs`.
    """

    multi_rl_module_class: Any = field(default_factory=_multi_rl_module)
    observation_space: Space[Any] | None = None
    action_space: Space[Any] | None = None
    inference_only: bool | None = None
    model_config: Any = None
    rl_module_specs: dict[str, RLModuleSpec] = field(default_factory=dict)
    load_state_path: str | None = None
    modules_to_load: set[str] | None = None
    module_specs: InitVar[Any] = None

    def __post_init__(self, module_specs: Any) -> None:
        if module_specs is not None:
            self.rl_module_specs = module_specs
        if not isinstance(self.rl_module_specs, Mapping):
            raise ConfigError(
                "MultiRLModuleSpec(rl_module_specs=...)",
                expected="a dict of module id to RLModuleSpec",
                found=type(self.rl_module_specs).__name__,
                hint="pass one RLModuleSpec for all modules to config.rl_module() directly.",
            )
        if self.inference_only is None:
            specs = self.rl_module_specs.values()
            self.inference_only = bool(specs) and all(spec.inference_only for spec in specs)

    def build(self, module_id: str | None = None) -> RLModule:
        """Make the multi-module, or just one of its modules.

        Raises:
            ConfigError: A spec is incomplete; the message names the module.
        """
        if not self.rl_module_specs:
            raise ConfigError(
                "there is nothing to build: rl_module_specs is empty",
                expected="a dict of module id to RLModuleSpec",
            )
        if module_id is not None:
            return self[module_id].build()
        module: RLModule = self.multi_rl_module_class(
            observation_space=self.observation_space,
            action_space=self.action_space,
            inference_only=self.inference_only,
            model_config=self.model_config,
            rl_module_specs=self.rl_module_specs,
        )
        return module

    def add_modules(self, module_specs: Mapping[str, RLModuleSpec], override: bool = True) -> None:
        """Add specs; an existing one is replaced, or updated without `override`."""
        for module_id, spec in module_specs.items():
            if override or module_id not in self.rl_module_specs:
                self.rl_module_specs[module_id] = spec
            else:
                self.rl_module_specs[module_id].update(spec)

    def remove_modules(self, module_ids: str | Collection[str]) -> None:
        """Remove specs; ids that are not there are passed over."""
        for module_id in [module_ids] if isinstance(module_ids, str) else list(module_ids):
            self.rl_module_specs.pop(module_id, None)

    @classmethod
    def from_module(cls, module: MultiRLModule) -> MultiRLModuleSpec:
        """Describe an existing multi-module."""
        return cls(
            multi_rl_module_class=type(module),
            observation_space=module.observation_space,
            action_space=module.action_space,
            inference_only=module.inference_only,
            model_config=module.model_config or None,
            rl_module_specs={
                module_id: RLModuleSpec.from_module(part) for module_id, part in module.items()
            },
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: classes by name, spaces as RLlib's dicts."""
        return {
            "multi_rl_module_class": ".".join(saved_name(self.multi_rl_module_class)),
            "observation_space": space_data(self.observation_space),
            "action_space": space_data(self.action_space),
            "inference_only": self.inference_only,
            "model_config": self.model_config,
            "rl_module_specs": {key: spec.to_dict() for key, spec in self.rl_module_specs.items()},
        }

    @classmethod
    @override
    def in_file(cls, d: Mapping[str, Any], names: Names) -> Self:
        base = _multi_rl_module()
        module_class = find(class_path(d.get("multi_rl_module_class")), MODULE, names.trust)
        specs = mapping_of(d.get("rl_module_specs") or d.get("module_specs"))
        return cls(
            multi_rl_module_class=module_class
            if module_class and issubclass(module_class, base)
            else base,
            observation_space=space_of(live_arguments(d.get("observation_space"), names)),
            action_space=space_of(live_arguments(d.get("action_space"), names)),
            inference_only=d.get("inference_only"),
            model_config=live_arguments(d.get("model_config"), names),
            rl_module_specs={
                key: RLModuleSpec.in_file(mapping_of(spec), names) for key, spec in specs.items()
            },
        )

    def update(self, other: MultiRLModuleSpec | RLModuleSpec, override: bool = False) -> None:
        """Update from other specs, or from one spec for all modules.

        Args:
            other: Specs by id, or one spec that applies to each of ours.
            override: For specs by id, whether they replace ours; otherwise, their fields replace
                ours. For one spec, whether its fields replace ours; otherwise, they only fill empty
                ones.
        """
        if isinstance(other, RLModuleSpec):
            for spec in self.rl_module_specs.values():
                spec.update(other, override=override)
            return
        if not isinstance(other, MultiRLModuleSpec):
            raise ConfigError(
                "update()", expected="another spec of modules", found=type(other).__name__
            )
        self.add_modules(other.rl_module_specs, override=override)

    def as_multi_rl_module_spec(self) -> MultiRLModuleSpec:
        """Return itself."""
        return self

    def __contains__(self, module_id: object) -> bool:
        return module_id in self.rl_module_specs

    def __getitem__(self, module_id: str) -> RLModuleSpec:
        from .multi_rl_module import UnknownModuleError

        if module_id not in self.rl_module_specs:
            raise UnknownModuleError.of(module_id, self.rl_module_specs)
        return self.rl_module_specs[module_id]

    def __len__(self) -> int:
        return len(self.rl_module_specs)

    def __bool__(self) -> bool:
        return True


RECORDS: Final[Records] = {
    "MultiAgentRLModuleSpec": MultiRLModuleSpec.in_file,
    "MultiRLModuleSpec": MultiRLModuleSpec.in_file,
    "RLModuleSpec": RLModuleSpec.in_file,
    "SingleAgentRLModuleSpec": RLModuleSpec.in_file,
}
"""Functions that restore specs from pickled attributes, by class name."""
