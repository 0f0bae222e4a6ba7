"""The learners of an algorithm behind one interface: the one here, and those beside.

Where learners work in other processes, the one here does what has to be done once: it runs the
learner pipeline, over all episodes, and holds what is saved. So advantages are normalised over the
whole batch, rows are put into the same orders however many share them, and a checkpoint does not
tell how many there were.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from ...core.data.damage import at
from ...core.errors import ConfigError
from ..metrics.names import COMPONENT_LEARNER, COMPONENT_RL_MODULE, TD_ERROR_KEY
from ..modules.multi_spec import MultiRLModuleSpec
from ..saving.checkpointable import Checkpointable, Components
from .learner import Learner
from .minibatches import Epochs, row_count
from .module_holder import Selection, load_module, load_modules

if TYPE_CHECKING:
    from ..config.algorithm_config import AlgorithmConfig
    from .extra_learners import ExtraLearners

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CallResult:
    """What a function gave on one learner."""

    value: Any
    ok: bool = True

    def get(self) -> Any:
        """Give the value."""
        return self.value


class LearnerGroup(Checkpointable):
    """Holds the learner of this process, and those of others.

    Args:
        config: The algorithm's settings; `config.num_learners` says how many learn beside.
        module_spec: What the modules are built from.
        placement_group: Only None: Ray places learners by what each asks for.

    Raises:
        ConfigError: A placement group is given, or processes cannot be begun on this system.
    """

    def __init__(
        self, *, config: AlgorithmConfig, module_spec: Any = None, placement_group: Any = None
    ) -> None:
        if placement_group is not None:
            raise ConfigError(
                "placement_group", expected="None: Ray places learners by what settings say"
            )
        self.config = config
        self._module_spec = module_spec
        self._learner: Learner = config.learner_class(config=config, module_spec=module_spec)
        self._learner.build()
        self._others: ExtraLearners | None = None
        self._is_behind = self._is_module_behind = False
        if config.num_learners:
            self._others = self._begun(config, module_spec)

    def _begun(self, config: AlgorithmConfig, module_spec: Any) -> ExtraLearners:
        """Begin the other learners, equal to the one here: where Ray runs, its actors."""
        import torch

        from .extra_learners import LearnerProcesses, RayLearners, has_room, running_ray
        from .hardware import processor_count
        from .learner_worker import LearnerPlan

        count = config.num_learners
        ray, resources = running_ray(), config.learner_resources
        if ray is not None and not has_room(ray, resources, count):
            _log.warning(
                "Ray has no room for %d learners with %s each: they are processes beside this one. "
                "config.learners(num_cpus_per_learner=...) says what each asks for.",
                count,
                resources,
            )
            ray = None
        if ray is None and sys.platform == "win32":
            raise ConfigError(
                "learners in other processes do not run on Windows without Ray",
                expected="num_learners=0",
                found=f"num_learners={count}",
            )
        share = config.num_cpus_per_learner
        threads = int(resources["CPU"]) if ray is not None else processor_count() // count
        threads = threads if share == "auto" else int(share)
        is_seen = ray is not None or torch.cuda.device_count() >= count
        has_own_device = config.num_gpus_per_learner >= 1 and is_seen

        def plan(address: str) -> LearnerPlan:
            return LearnerPlan(
                learner_class=config.learner_class,
                config=config.copy(copy_frozen=False),
                module_spec=module_spec,
                state=self._learner.get_state(),
                order_seed=self._learner.order_seed,
                count=count,
                address=address,
                has_own_device=has_own_device,
                threads=max(1, threads),
            )

        if ray is not None:
            return RayLearners(plan, count, ray, resources)
        return LearnerProcesses(plan, count)

    @property
    def is_local(self) -> bool:
        """Whether the learner is in this process."""
        return self._others is None

    @property
    def is_remote(self) -> bool:
        """Whether learners are in other processes."""
        return self._others is not None

    def __len__(self) -> int:
        """How many learners are in other processes."""
        return 0 if self._others is None else int(self.config.num_learners)

    def __bool__(self) -> bool:
        return True

    @property
    def counting_learner(self) -> Learner | None:
        """The learner, where what it counts may stay with it until somebody asks for it."""
        if self._others is not None or type(self._learner).update is not Learner.update:
            return None
        return self._learner

    def update(self, **given: Any) -> list[Any]:
        """Update the learners.

        Args:
            **given: As of `Learner.update`. Learners share the rows of each minibatch, which has
                `minibatch_size` for each of them.

        Returns:
            The results, over all rows, as a list of one.

        Raises:
            LostLearnerError: A learner's process has died; the group has ended.
        """
        if self._others is None:
            return [self._learner.update(**given)]
        return [self._updated(self._others, **given)]

    def _updated(
        self,
        others: ExtraLearners,
        batch: Any = None,
        batches: Sequence[Any] | None = None,
        episodes: Sequence[Any] | None = None,
        timesteps: Mapping[Any, Any] | None = None,
        num_total_minibatches: int = 0,
        num_epochs: int = 1,
        minibatch_size: int | None = None,
        shuffle_batch_per_epoch: bool = False,
    ) -> Any:
        import torch

        if self._is_module_behind:
            self._catch_up()
        learner: Any = self._learner
        size = None if minibatch_size is None else minibatch_size * len(self)
        epochs = Epochs.asked(num_epochs, size, shuffle_batch_per_epoch, num_total_minibatches)
        train_batch = learner.train_batch_of(batch, batches, episodes)
        answers = others.ask(
            "improve", epochs, dict(timesteps or {}), torch.get_rng_state(), batch=train_batch
        )
        _, random_state, modules = answers[0]
        learner.take_improved(modules, is_changed=bool(train_batch.columns))
        torch.set_rng_state(random_state)
        self._is_behind = True
        results = [result for result, *_ in answers]
        _join_errors(
            results, {key: row_count(columns) for key, columns in train_batch.columns.items()}
        )
        learner.metrics.aggregate(results)
        return learner.metrics.reduce()

    def _catch_up(self) -> None:
        """Take over what the others have learnt: all of it, but for metrics, which come anyway."""
        if self._others is not None and (self._is_behind or self._is_module_behind):
            self._learner.set_state(self._others.ask("call", _state_of, {}, learners=[0])[0])
            self._is_behind = self._is_module_behind = False

    def _hand_out(self) -> None:
        """Give the others what the learner here has now."""
        if self._others is not None:
            state = self._learner.get_state(not_components=_METRICS)
            self._others.ask("call", _take_state, {"state": state})
            self._is_behind = self._is_module_behind = False

    def add_module(
        self,
        *,
        module_id: str,
        module_spec: Any,
        config_overrides: Mapping[str, Any] | None = None,
        new_should_module_be_updated: Selection = None,
    ) -> MultiRLModuleSpec:
        """Add a module; see `Learner.add_module`."""
        return self._changed(
            "add_module",
            module_id=module_id,
            module_spec=module_spec,
            config_overrides=config_overrides,
            new_should_module_be_updated=new_should_module_be_updated,
        )

    def remove_module(
        self, module_id: str, *, new_should_module_be_updated: Selection = None
    ) -> MultiRLModuleSpec:
        """Remove a module; see `Learner.remove_module`."""
        return self._changed(
            "remove_module",
            module_id=module_id,
            new_should_module_be_updated=new_should_module_be_updated,
        )

    def _changed(self, method: str, **given: Any) -> MultiRLModuleSpec:
        """Add or remove a module everywhere, and let all be equal."""
        self._catch_up()
        spec: MultiRLModuleSpec = _change(self._learner, method, given)
        if self._others is not None:
            self._others.ask("call", _change, {"method": method, "given": given})
            self._hand_out()
        return spec

    def foreach_learner(self, func: Callable[..., Any], **kwargs: Any) -> list[CallResult]:
        """Call a function with each learner, where it is.

        Args:
            func: Called as `func(learner, **kwargs)`; it travels by cloudpickle.
            **kwargs: Handed on.
        """
        if self._others is None:
            return [CallResult(func(self._learner, **kwargs))]
        self._is_behind = self._is_module_behind = True
        return [CallResult(value) for value in self._others.ask("call", func, kwargs)]

    def get_weights(self, module_ids: Collection[str] | None = None) -> dict[str, Any]:
        """Give the weights of the modules by id.

        Args:
            module_ids: Only these; None for all.
        """
        if self._is_module_behind:
            self._catch_up()
        state: dict[str, Any] = self._learner.module.get_state(components=module_ids)
        return state

    def set_weights(self, weights: Mapping[str, Any]) -> None:
        """Take weights over, by module id."""
        self._catch_up()
        self._learner.module.set_state(weights)
        self._hand_out()

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
        self._catch_up()
        module = self._learner.module
        if multi_rl_module_ckpt_dir is not None:
            load_modules(module, multi_rl_module_ckpt_dir, modules_to_load)
        for module_id, path in (rl_module_ckpt_dirs or {}).items():
            load_module(module, module_id, path)
        self._hand_out()

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
        are_weights = inside is not None and all(
            each.split("/")[0] == COMPONENT_RL_MODULE for each in inside
        )
        if self._is_module_behind or not are_weights:
            self._catch_up()
        state = self._learner.get_state(inside, not_components=left_out, **kwargs)
        return {COMPONENT_LEARNER: state}

    @override
    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `get_state` gave."""
        self._catch_up()
        if COMPONENT_LEARNER in state:
            with at(COMPONENT_LEARNER):
                self._learner.set_state(state[COMPONENT_LEARNER])
        elif COMPONENT_RL_MODULE in state:
            self._learner.set_state(state)
        self._hand_out()

    @override
    def _state_to_save(self) -> Mapping[str, Any]:
        return self.get_state()

    @override
    def _restored(self, component: str | None) -> None:
        self._hand_out()  # The folder of the learner was read into the one here.

    @override
    def get_checkpointable_components(self) -> list[tuple[str, Checkpointable]]:
        """Give the learner: it has a folder of its own."""
        return [(COMPONENT_LEARNER, self._learner)]

    @override
    def get_ctor_args_and_kwargs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (), {"config": self.config, "module_spec": self._module_spec}

    def shutdown(self) -> None:
        """End the learners in other processes, and let go of the one here."""
        if self._others is not None:
            self._others.stop()
        self._learner.shutdown()


_METRICS = "metrics_logger"


def _state_of(learner: Any) -> Any:
    return learner.get_state(not_components=_METRICS)


def _take_state(learner: Any, state: Mapping[str, Any]) -> None:
    learner.set_state(state)


def _change(learner: Any, method: str, given: Mapping[str, Any]) -> Any:
    change = learner.add_module if method == "add_module" else learner.remove_module
    return change(**given)


def _join_errors(results: Sequence[Any], rows: Mapping[str, int]) -> None:
    """Put the errors of rows into their order: minibatch by minibatch, learner by learner."""
    for module_id, count in rows.items():
        errors_of = [
            result[module_id][TD_ERROR_KEY]
            for result in results
            if TD_ERROR_KEY in result[module_id]
        ]
        if not errors_of:
            continue
        joined = errors_of[0].like()
        for errors in zip(*(each.values() for each in errors_of), strict=True):
            for each in errors[:count]:  # With fewer rows than learners, the others stand in.
                joined.push(each)
        for result in results:
            del result[module_id][TD_ERROR_KEY]
        results[0][module_id][TD_ERROR_KEY] = joined
