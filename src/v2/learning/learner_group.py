"""The learners of an algorithm behind one interface: here the one in this process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from ...core.data.damage import at
from ...core.errors import ConfigError
from ..metrics.names import COMPONENT_LEARNER, COMPONENT_RL_MODULE
from ..modules.multi_spec import MultiRLModuleSpec
from ..saving.checkpointable import Checkpointable, Components
from .learner import Learner
from .module_holder import Selection
from .starting_weights import load_module, load_modules

if TYPE_CHECKING:
    from ..config.algorithm_config import AlgorithmConfig


@dataclass(frozen=True)
class CallResult:
    """What a function gave on one learner."""

    value: Any
    ok: bool = True

    def get(self) -> Any:
        """Give the value."""
        return self.value


class LearnerGroup(Checkpointable):
    """Holds the learner of this process.

    Args:
        config: The algorithm's settings; `config.learner_class` is what it builds.
        module_spec: What the modules are built from.
        placement_group: Only None: learners in other processes are not there.

    Raises:
        ConfigError: `config.num_learners` asks for learners in other processes.
    """

    def __init__(
        self, *, config: AlgorithmConfig, module_spec: Any = None, placement_group: Any = None
    ) -> None:
        if config.num_learners or placement_group is not None:
            raise ConfigError(
                "learners in other processes are not there",
                expected="num_learners=0: the learner runs in this process",
                found=f"num_learners={config.num_learners}",
                hint="config.learners(num_learners=0).",
            )
        self.config = config
        self._module_spec = module_spec
        self._learner: Learner = config.learner_class(config=config, module_spec=module_spec)
        self._learner.build()

    @property
    def is_local(self) -> bool:
        """Whether the learner is in this process; always."""
        return True

    @property
    def is_remote(self) -> bool:
        """Whether learners are in other processes; never."""
        return False

    def __len__(self) -> int:
        """How many learners are in other processes."""
        return 0

    def __bool__(self) -> bool:
        return True

    @property
    def counting_learner(self) -> Learner | None:
        """The learner, where what it counts may stay with it until somebody asks for it."""
        return self._learner if type(self._learner).update is Learner.update else None

    def update(self, **given: Any) -> list[Any]:
        """Update the learner.

        Args:
            **given: As of `Learner.update`.

        Returns:
            The results of each learner.
        """
        return [self._learner.update(**given)]

    def add_module(
        self,
        *,
        module_id: str,
        module_spec: Any,
        config_overrides: Mapping[str, Any] | None = None,
        new_should_module_be_updated: Selection = None,
    ) -> MultiRLModuleSpec:
        """Add a module; see `Learner.add_module`."""
        return self._learner.add_module(
            module_id=module_id,
            module_spec=module_spec,
            config_overrides=config_overrides,
            new_should_module_be_updated=new_should_module_be_updated,
        )

    def remove_module(
        self, module_id: str, *, new_should_module_be_updated: Selection = None
    ) -> MultiRLModuleSpec:
        """Remove a module; see `Learner.remove_module`."""
        return self._learner.remove_module(
            module_id, new_should_module_be_updated=new_should_module_be_updated
        )

    def foreach_learner(self, func: Callable[..., Any], **kwargs: Any) -> list[CallResult]:
        """Call a function with each learner.

        Args:
            func: Called as `func(learner, **kwargs)`.
            **kwargs: Handed on.
        """
        return [CallResult(func(self._learner, **kwargs))]

    def get_weights(self, module_ids: Collection[str] | None = None) -> dict[str, Any]:
        """Give the weights of the modules by id.

        Args:
            module_ids: Only these; None for all.
        """
        state: dict[str, Any] = self._learner.module.get_state(components=module_ids)
        return state

    def set_weights(self, weights: Mapping[str, Any]) -> None:
        """Take weights over, by module id."""
        self._learner.module.set_state(weights)

    def load_module_state(
        self,
        *,
        multi_rl_module_ckpt_dir: str | None = None,
        modules_to_load: Collection[str] | None = None,
        rl_module_ckpt_dirs: Mapping[str, str] | None = None,
    ) -> None:
        """Take the weights of modules from checkpoints.

        Args:
            multi_rl_module_ckpt_dir: A folder of modules by id.
            modules_to_load: Which of those; None for all that are there.
            rl_module_ckpt_dirs: Module id to a module's own folder; these win.
        """
        module = self._learner.module
        if multi_rl_module_ckpt_dir is not None:
            load_modules(module, multi_rl_module_ckpt_dir, modules_to_load)
        for module_id, path in (rl_module_ckpt_dirs or {}).items():
            load_module(module, module_id, path)

    # State

    @override
    def get_state(
        self, components: Components = None, *, not_components: Components = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Give the learner's state under "learner"."""
        if not self._check_component(COMPONENT_LEARNER, components, not_components):
            return {}
        inside = self._get_subcomponents(COMPONENT_LEARNER, components)
        left_out = self._get_subcomponents(COMPONENT_LEARNER, not_components)
        state = self._learner.get_state(inside, not_components=left_out, **kwargs)
        return {COMPONENT_LEARNER: state}

    @override
    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `get_state` gave."""
        if COMPONENT_LEARNER in state:
            with at(COMPONENT_LEARNER):
                self._learner.set_state(state[COMPONENT_LEARNER])
        elif COMPONENT_RL_MODULE in state:
            self._learner.set_state(state)

    @override
    def get_checkpointable_components(self) -> list[tuple[str, Checkpointable]]:
        """Give the learner: it has a folder of its own."""
        return [(COMPONENT_LEARNER, self._learner)]

    @override
    def get_ctor_args_and_kwargs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (), {"config": self.config, "module_spec": self._module_spec}

    def shutdown(self) -> None:
        """Let go of the learner."""
        self._learner.shutdown()
