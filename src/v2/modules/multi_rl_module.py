"""Several modules by id, called and saved together."""

from __future__ import annotations

from collections.abc import (
    Callable,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    ValuesView,
)
from dataclasses import replace
from typing import Any

from gymnasium.spaces import Space
from typing_extensions import Self, override

from ...core.data.damage import at
from ...core.errors import ConfigError, DuplicateNameError, UnknownNameError
from ..saving.checkpointable import Checkpointable, Components
from .rl_module import RLModule
from .spec import RLModuleSpec


class UnknownModuleError(UnknownNameError, KeyError):
    """There is no module of that id."""

    @classmethod
    def of(cls, module_id: object, module_ids: Iterable[object]) -> Self:
        """Name the id and those that are there."""
        ids = ", ".join(repr(name) for name in module_ids) or "none at all"
        return cls(f"there is no module {module_id!r}", expected=f"one of {ids}")


class MultiRLModule(RLModule):
    """Modules by id; a dict of them in most respects.

    A forward pass calls each module whose id the batch holds, with that part of the batch.

    Args:
        observation_space: For a subclass that has one.
        action_space: For a subclass that has one.
        inference_only: Whether all modules are; None asks the specs.
        learner_only: Whether it lives on learners only.
        model_config: Settings for a subclass.
        rl_module_specs: Module id to spec.
        catalog_class: For a subclass that has one.
    """

    def __init__(
        self,
        *,
        observation_space: Space[Any] | None = None,
        action_space: Space[Any] | None = None,
        inference_only: bool | None = None,
        learner_only: bool | None = None,
        model_config: Any = None,
        rl_module_specs: Mapping[str, RLModuleSpec] | None = None,
        catalog_class: Any = None,
    ) -> None:
        specs = rl_module_specs or {}
        for module_id, spec in specs.items():
            if not isinstance(spec, RLModuleSpec):
                raise ConfigError(
                    f"the spec of module {module_id!r}",
                    expected="an RLModuleSpec",
                    found=type(spec).__name__,
                )
        if inference_only is None:
            inference_only = bool(specs) and all(spec.inference_only for spec in specs.values())
        if inference_only:
            specs = {key: replace(spec, inference_only=True) for key, spec in specs.items()}
        self.rl_module_specs: dict[str, RLModuleSpec] = dict(specs)
        self._rl_modules: dict[str, RLModule] = {}
        super().__init__(
            observation_space=observation_space,
            action_space=action_space,
            inference_only=inference_only,
            learner_only=learner_only,
            model_config=model_config,
            catalog_class=catalog_class,
        )

    @override
    def setup(self) -> None:
        for module_id, spec in self.rl_module_specs.items():
            try:
                self._rl_modules[module_id] = spec.build()
            except ConfigError as error:
                error.message = f"module {module_id!r}: {error.message}"
                raise
        frameworks = {module.framework for module in self._rl_modules.values()}
        if len(frameworks) == 1:
            self.framework = frameworks.pop()

    @override
    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return self._each("_forward", batch, kwargs)

    @override
    def _forward_inference(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return self._each("forward_inference", batch, kwargs)

    @override
    def _forward_exploration(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return self._each("forward_exploration", batch, kwargs)

    @override
    def _forward_train(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return self._each("forward_train", batch, kwargs)

    @override
    def steady_pass(self, explore: bool) -> Callable[..., dict[str, Any]]:
        if _passes(type(self)) != _passes(MultiRLModule):  # One of them may do something else.
            return super().steady_pass(explore)
        passes = {key: module.steady_pass(explore) for key, module in self._rl_modules.items()}
        return lambda batch, **kwargs: {
            key: passes[key](part, **kwargs) for key, part in batch.items() if key in passes
        }

    def _each(
        self, method: str, batch: Mapping[str, Any], kwargs: Mapping[str, Any]
    ) -> dict[str, Any]:
        return {
            module_id: getattr(self._rl_modules[module_id], method)(part, **kwargs)
            for module_id, part in batch.items()
            if module_id in self._rl_modules
        }

    @override
    def get_initial_state(self) -> dict[str, Any]:
        """Return the modules' own states by id, empty ones too."""
        return {key: module.get_initial_state() for key, module in self._rl_modules.items()}

    @override
    def is_stateful(self) -> bool:
        return any(module.is_stateful() for module in self._rl_modules.values())

    # A dict of modules

    def add_module(self, module_id: str, module: RLModule, *, override: bool = False) -> None:
        """Add a module; only with `override` may it take the place of another.

        Raises:
            DuplicateNameError: There is one of that id.
        """
        if not isinstance(module, RLModule):
            raise ConfigError(
                f"module {module_id!r}", expected="an RLModule", found=type(module).__name__
            )
        if module_id in self._rl_modules and not override:
            raise DuplicateNameError(
                f"there is a module {module_id!r} already",
                hint="use override=True to replace it, or remove_module() first.",
            )
        self._rl_modules[module_id] = module
        self.rl_module_specs[module_id] = RLModuleSpec.from_module(module)
        if len(self._rl_modules) == 1:
            self.framework = module.framework

    def remove_module(self, module_id: str, *, raise_err_if_not_found: bool = True) -> None:
        """Remove a module.

        Raises:
            UnknownModuleError: There is none of that id, and `raise_err_if_not_found`.
        """
        if raise_err_if_not_found:
            self._check_module_exists(module_id)
        self._rl_modules.pop(module_id, None)
        self.rl_module_specs.pop(module_id, None)

    def foreach_module(
        self, func: Callable[..., Any], *, return_dict: bool = False, **kwargs: Any
    ) -> Any:
        """Call `func(module_id, module, **kwargs)` for each; give a list of results or a dict."""
        results = {
            module_id: func(module_id, module.unwrapped(), **kwargs)
            for module_id, module in list(self._rl_modules.items())
        }
        return results if return_dict else list(results.values())

    def get(self, module_id: str, default: Any = None) -> Any:
        """Return a module, or the default where there is none of that id."""
        return self._rl_modules.get(module_id, default)

    def items(self) -> ItemsView[str, RLModule]:
        """Return the ids and modules."""
        return self._rl_modules.items()

    def keys(self) -> KeysView[str]:
        """Return the ids."""
        return self._rl_modules.keys()

    def values(self) -> ValuesView[RLModule]:
        """Return the modules."""
        return self._rl_modules.values()

    def __getitem__(self, module_id: str) -> RLModule:
        self._check_module_exists(module_id)
        return self._rl_modules[module_id]

    def __contains__(self, module_id: object) -> bool:
        return module_id in self._rl_modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._rl_modules)

    def __len__(self) -> int:
        return len(self._rl_modules)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        inside = ", ".join(f"{key!r}: {type(m).__name__}" for key, m in self._rl_modules.items())
        return f"{type(self).__name__}({{{inside}}})"

    def _check_module_exists(self, module_id: object) -> None:
        if module_id not in self._rl_modules:
            raise UnknownModuleError.of(module_id, self._rl_modules)

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
        """Return the weights by module id, only of `components`, or without `not_components`."""
        return {
            module_id: module.get_state(
                components=self._get_subcomponents(module_id, components),
                not_components=self._get_subcomponents(module_id, not_components),
                inference_only=inference_only,
                **kwargs,
            )
            for module_id, module in self._rl_modules.items()
            if self._check_component(module_id, components, not_components)
        }

    @override
    def set_state(self, state: Mapping[str, Any]) -> None:
        for module_id, module_state in state.items():
            if module_id in self._rl_modules:
                with at(module_id):
                    self._rl_modules[module_id].set_state(module_state)

    @override
    def get_checkpointable_components(self) -> list[tuple[str, Checkpointable]]:
        return list(self._rl_modules.items())

    @override
    def get_ctor_args_and_kwargs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        _, arguments = super().get_ctor_args_and_kwargs()
        del arguments["catalog_class"]
        arguments["model_config"] = self.model_config or None
        return (), {**arguments, "rl_module_specs": dict(self.rl_module_specs)}

    @override
    def as_multi_rl_module(self) -> MultiRLModule:
        return self

    @override
    def unwrapped(self) -> MultiRLModule:
        return self


def _passes(kind: type[MultiRLModule]) -> tuple[Any, ...]:
    """Return the methods that a forward pass for inference calls."""
    exploring = kind.forward_exploration, kind._forward_exploration
    return *exploring, kind.forward_inference, kind._forward_inference, kind._each
