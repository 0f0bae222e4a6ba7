"""What a learner holds: modules, their settings and optimisers; how they come, go and are saved."""

from __future__ import annotations

import abc
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from typing_extensions import override

from ...core.data.checked import count
from ...core.data.damage import at
from ...core.errors import ConfigError
from ...core.rllib_utils.container_values import LambdaDefaultDict
from ..metrics import names
from ..metrics.metrics_logger import MetricsLogger
from ..modules.multi_rl_module import MultiRLModule, UnknownModuleError
from ..modules.multi_spec import MultiRLModuleSpec
from ..modules.rl_module import RLModule
from ..saving.checkpointable import Checkpointable, Components

if TYPE_CHECKING:
    from ..config.algorithm_config import AlgorithmConfig

Selection = Sequence[str] | Callable[..., bool] | None


class NotBuiltError(ConfigError):
    """A learner was used before `build()`."""


@dataclass(frozen=True)
class _Kept:
    """What is kept beside each module; `read` and `take` are None where it is not saved."""

    values: dict[str, Any]
    read: Callable[[Any], Any] | None
    take: Callable[[Any, Any], Any] | None


class ModuleHolder(Checkpointable):
    """The part of a learner that has modules; what it does with them is `Learner`'s.

    Args:
        config: The algorithm's settings.
        module_spec: What the modules are built from: one spec or several by id.
        module: Modules that are there already, instead of a spec.
    """

    framework: ClassVar[str | None] = None

    def __init__(
        self, *, config: AlgorithmConfig, module_spec: Any = None, module: Any = None
    ) -> None:
        if (module_spec is None) == (module is None):
            raise ConfigError(f"give {type(self).__name__} exactly one of module_spec and module")
        self.config = config.copy(copy_frozen=False)
        self.metrics: Any = MetricsLogger()
        self._module_spec = module_spec
        self._module_obj = module
        self._module: Any = None
        self._learner_connector: Any = None
        self._device: Any = None
        self._is_built = False
        self._weights_seq_no = 0
        self._module_configs: dict[str, Any] = {}
        self.order_seed: Any = None
        self._peers: Any = None
        self._steps_trained: dict[str, list[tuple[int, int]]] = {}
        self._env_steps_trained = 0
        self._kept: dict[str, _Kept] = {}

    # What it is made of

    @property
    def module(self) -> Any:
        """The modules by id."""
        return self._module

    @property
    def learner_connector(self) -> Any:
        """The pipeline from episodes to train batches."""
        return self._learner_connector

    @property
    def weights_seq_no(self) -> int:
        """How many updates there were."""
        return self._weights_seq_no

    @property
    def device(self) -> Any:
        """Where modules and batches are."""
        return self._device

    @property
    def distributed(self) -> bool:
        """Whether it is one of several."""
        return self._peers is not None

    def join(self, peers: Any) -> None:
        """Become one of several learners that take each gradient step together."""
        self._peers = peers

    def build(self) -> None:
        """Make the modules, the pipeline and the optimisers; a subclass calls this one first."""
        seed = getattr(self.config, "seed", None)
        self.order_seed = np.random.SeedSequence(seed).entropy
        self._seed(seed)
        self._module = self._make_module()
        if self._module_spec is not None:
            load_starting_weights(self._module, self._module_spec)
        self._learner_connector = self.config.build_learner_connector(
            input_observation_space=None, input_action_space=None, device=self._device
        )
        self._is_built = True
        self.configure_optimizers()

    def _check_is_built(self, error: bool = True) -> bool:
        if error and not self._is_built:
            raise NotBuiltError(
                f"{type(self).__name__} is not built",
                hint="Learner.build() must be called before anything else.",
            )
        return self._is_built

    @abc.abstractmethod
    def _seed(self, seed: int | None) -> None:
        """Make what is random repeatable."""

    @abc.abstractmethod
    def _make_module(self) -> MultiRLModule:
        """Build the modules where they are needed."""

    @abc.abstractmethod
    def _get_tensor_variable(self, value: Any, dtype: Any = None, trainable: bool = False) -> Any:
        """A number as a variable of the framework."""

    @abc.abstractmethod
    def configure_optimizers_for_module(self, module_id: str, config: Any = None) -> None:
        """Register the optimisers of a module."""

    def configure_optimizers(self) -> None:
        """Register the optimisers of all modules."""
        for module_id in list(self.module.keys()):
            if self.rl_module_is_compatible(self.module[module_id]):
                self.configure_optimizers_for_module(module_id, self._config_of(module_id))

    @abc.abstractmethod
    def rl_module_is_compatible(self, module: Any) -> bool:
        """Whether it can improve such a module."""

    def _config_of(self, module_id: str) -> Any:
        """The settings of a module, with what was overridden for it."""
        if module_id not in self._module_configs:
            self._module_configs[module_id] = self.config.get_config_for_module(module_id)
        return self._module_configs[module_id]

    def keep_by_module(
        self,
        name: str,
        make: Callable[[str], Any],
        read: Callable[[Any], Any] | None = None,
        take: Callable[[Any, Any], Any] | None = None,
    ) -> dict[str, Any]:
        """Keep something beside each module: made when it is asked for, gone with the module.

        Args:
            name: What the state calls it.
            make: Makes it for a module id.
            read: Gives it as plain data; None where it is not saved.
            take: Gives what is to be kept, of what there is and what `read` gave.

        Returns:
            Module id to what is kept.
        """
        self._kept[name] = _Kept(LambdaDefaultDict(make), read, take)
        return self._kept[name].values

    # Modules that come and go

    def add_module(
        self,
        *,
        module_id: str,
        module_spec: Any,
        config_overrides: Mapping[str, Any] | None = None,
        new_should_module_be_updated: Selection = None,
    ) -> MultiRLModuleSpec:
        """Add a module, with optimisers of its own.

        Args:
            module_id: Its id.
            module_spec: What it is built from, whole: `inference_only` says nothing here.
            config_overrides: Settings that differ for it.
            new_should_module_be_updated: Which modules are trained from now on.

        Returns:
            The spec of all modules.

        Raises:
            DuplicateNameError: There is one of that id.
        """
        self._check_is_built()
        full_spec = replace(module_spec, inference_only=False)
        self.module.add_module(module_id, self._placed(full_spec.build()))
        if config_overrides:
            overrides = {
                **(self.config.algorithm_config_overrides_per_module or {}),
                module_id: dict(config_overrides),
            }
            self.config.rl_module(algorithm_config_overrides_per_module=overrides)
        self._set_trained(new_should_module_be_updated)
        self.configure_optimizers_for_module(module_id, self._config_of(module_id))
        return MultiRLModuleSpec.from_module(self.module)

    def remove_module(
        self, module_id: str, *, new_should_module_be_updated: Selection = None
    ) -> MultiRLModuleSpec:
        """Remove a module and its optimisers.

        Args:
            module_id: Its id.
            new_should_module_be_updated: Which modules are trained from now on.

        Returns:
            The spec of the others.

        Raises:
            UnknownModuleError: There is none of that id.
        """
        self._check_is_built()
        if module_id not in self.module:
            raise UnknownModuleError.of(module_id, self.module.keys())
        self.module.remove_module(module_id)
        for kept in self._kept.values():
            kept.values.pop(module_id, None)
        self._set_trained(new_should_module_be_updated)
        return MultiRLModuleSpec.from_module(self.module)

    def _placed(self, module: Any) -> Any:
        return module

    def _set_trained(self, chosen: Selection) -> None:
        self._module_configs.clear()
        if chosen is not None:
            self.config.multi_agent(policies_to_train=chosen)

    # State

    @override
    def get_state(
        self, components: Components = None, *, not_components: Components = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Give weights, optimisers, metrics and counters.

        Args:
            components: Only these of "rl_module", "optimizer" and "metrics_logger".
            not_components: All but these.
            **kwargs: Handed to the modules.
        """
        self._check_is_built()
        state: dict[str, Any] = {names.WEIGHTS_SEQ_NO: self._weights_seq_no}
        if not callable(self.config.policies_to_train):  # a function is the config's to keep
            state["should_module_be_updated"] = _listed(self.config.policies_to_train)
        if self._check_component("rl_module", components, not_components):
            state["rl_module"] = self.module.get_state(
                components=self._get_subcomponents("rl_module", components),
                not_components=self._get_subcomponents("rl_module", not_components),
                **kwargs,
            )
        if self._check_component("optimizer", components, not_components):
            state["optimizer"] = self._get_optimizer_state()
        if self._check_component("metrics_logger", components, not_components):
            state["metrics_logger"] = self.metrics.get_state()
        for name, kept in self._kept.items():
            if kept.read is not None:
                state[name] = {key: kept.read(value) for key, value in kept.values.items()}
        return state

    @override
    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `get_state` gave, the parts that are there."""
        self._check_is_built()
        if "rl_module" in state:
            with at("rl_module"):
                self.module.set_state(state["rl_module"])
        if "optimizer" in state:
            with at("optimizer"):
                self._set_optimizer_state(state["optimizer"])
        if "metrics_logger" in state:
            with at("metrics_logger"):
                self.metrics.set_state(state["metrics_logger"])
        with at(names.WEIGHTS_SEQ_NO):
            self._weights_seq_no = count(state.get(names.WEIGHTS_SEQ_NO, self._weights_seq_no))
        if "should_module_be_updated" in state:
            self._set_trained_from(state["should_module_be_updated"])
        for name, kept in self._kept.items():
            if kept.take is not None:
                with at(name):
                    for key, saved in state.get(name, {}).items():
                        kept.values[key] = kept.take(kept.values[key], saved)

    @at("should_module_be_updated")
    def _set_trained_from(self, names: Any) -> None:
        if names is not None and not all(isinstance(each, str) for each in names):
            raise ValueError("ids of modules were expected")
        self._module_configs.clear()
        self.config.multi_agent(policies_to_train=names)

    @abc.abstractmethod
    def _get_optimizer_state(self) -> dict[str, Any]:
        """The optimisers' state as arrays and numbers."""

    @abc.abstractmethod
    def _set_optimizer_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `_get_optimizer_state` gave."""

    @override
    def get_checkpointable_components(self) -> list[tuple[str, Checkpointable]]:
        """Give the modules: they have a folder of their own."""
        return [("rl_module", self.module)]

    @override
    def get_ctor_args_and_kwargs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (), {
            "config": self.config,
            "module_spec": self._module_spec,
            "module": self._module_obj,
        }

    def shutdown(self) -> None:
        """Let go of everything; a local learner holds nothing."""

    def apply(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function with this learner first."""
        return func(self, *args, **kwargs)


def _listed(names_given: Collection[str] | None) -> list[str] | None:
    return None if names_given is None else sorted(names_given)


def load_starting_weights(module: MultiRLModule, spec: Any) -> None:
    """Take over the weights that specs name in `load_state_path`.

    Args:
        module: The modules by id.
        spec: The spec of one or of all; that of a single module wins over that of all.
    """
    by_module = getattr(spec, "rl_module_specs", None)
    if by_module is None:
        by_module = dict.fromkeys(module.keys(), spec)
    elif spec.load_state_path:
        load_modules(module, spec.load_state_path, spec.modules_to_load)
    for module_id, own in by_module.items():
        if own.load_state_path:
            load_module(module, module_id, own.load_state_path)


def load_modules(module: MultiRLModule, path: str, only: Collection[str] | None = None) -> None:
    """Take over the weights of modules that lie together in one folder.

    Args:
        module: The modules by id.
        path: The folder.
        only: Which of them; None for all that are in both.

    Raises:
        UnknownModuleError: One that is asked for is not in the folder.
    """
    loaded: MultiRLModule = RLModule.from_checkpoint(path).as_multi_rl_module()
    for module_id in only or ():
        if module_id not in loaded:
            raise UnknownModuleError.of(module_id, loaded.keys())
    module.set_state(loaded.get_state(components=only))


def load_module(module: Mapping[str, Any] | MultiRLModule, module_id: str, path: str) -> None:
    """Take over the weights of one module from its folder."""
    module[module_id].restore_from_path(path)
