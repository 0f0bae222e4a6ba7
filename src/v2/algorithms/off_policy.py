"""Learning from what was lived through, again and again: what DQN and SAC share.

training_step()
sample                    a fragment of each environment
buffer.add                episodes in columns
buffer.sample, update     as often as `training_intensity` asks, once enough was sampled
buffer.update_priorities  by the errors of what was just learnt from
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from typing_extensions import Self, override

from ...core.columns import ALL_MODULES
from ...core.data.damage import at
from ...core.errors import ConfigError
from ...core.text.near_names import did_you_mean
from ..config.algorithm_config import AlgorithmConfig
from ..config.rules import AT_LEAST_0, AT_LEAST_1, FLAG, POSITIVE, SETTINGS, SHARE, Rule
from ..config.section import Setting
from ..connectors.common.add_observations import AddObservationsFromEpisodesToBatch
from ..connectors.learner.add_columns import AddNextObservationsFromEpisodesToTrainBatch
from ..connectors.learner.learner_connector_pipeline import LearnerConnectorPipeline
from ..connectors.stateful_modules import is_stateful, max_seq_len
from ..episodes.episode_columns import EpisodeColumns
from ..metrics import names
from ..modules.model_config import as_settings
from ..replay.episode_replay_buffer import EpisodeReplayBuffer
from ..replay.multi_agent_episode_buffer import (
    MultiAgentEpisodeReplayBuffer,
    MultiAgentPrioritizedEpisodeReplayBuffer,
)
from ..replay.prioritized_episode_buffer import PrioritizedEpisodeReplayBuffer
from ..saving import class_slots as slots
from ..saving.checkpointable import Components
from .algorithm import Algorithm
from .iteration import ResultDict

BUFFERS: Final[Mapping[str, type[Any]]] = {
    kind.__name__: kind
    for kind in (
        EpisodeReplayBuffer,
        PrioritizedEpisodeReplayBuffer,
        MultiAgentEpisodeReplayBuffer,
        MultiAgentPrioritizedEpisodeReplayBuffer,
    )
}
"""Buffers by the names that `replay_buffer_config` has for them."""

_TAKING_COLUMNS: Final = (EpisodeReplayBuffer, PrioritizedEpisodeReplayBuffer)
_BY_PRIORITY: Final = (PrioritizedEpisodeReplayBuffer, MultiAgentPrioritizedEpisodeReplayBuffer)
_BUFFER: Final = "local_replay_buffer"
_NO_COPIES: Final = object()


def _is_n_step(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return len(value) == 2 and all(map(AT_LEAST_1.test, value)) and value[0] <= value[1]
    return AT_LEAST_1.test(value)


N_STEP: Final = Rule(
    _is_n_step,
    "an integer of 1 or more, or two of them in order",
    "int | tuple[int, int] | list[int]",
)

REPLAY_SETTINGS: Final[dict[str, Setting]] = {
    "replay_buffer_config": Setting(
        {"type": "EpisodeReplayBuffer", "capacity": 1_000_000},
        SETTINGS,
        "The buffer's type and what it takes; adds to what is there, unless the type is another.",
        slot=slots.REPLAY_BUFFER,
    ),
    "store_buffer_in_checkpoints": Setting(False, FLAG, "Whether what it holds is saved."),
    "num_steps_sampled_before_learning_starts": Setting(
        1000, AT_LEAST_0, "Steps before the first update."
    ),
    "target_network_update_freq": Setting(
        500, AT_LEAST_0, "After how many sampled steps the copies of networks move."
    ),
    "tau": Setting(1.0, SHARE, "How far they move: 1 makes them equal."),
    "n_step": Setting(
        1, N_STEP, "How many steps become one; `(least, end)` draws a number below `end`."
    ),
    "training_intensity": Setting(
        None, POSITIVE, "Steps learnt from per step sampled; None for one update a sample."
    ),
}
"""What every algorithm that learns so takes by `training`; defaults differ."""


class OffPolicyConfig(AlgorithmConfig[Algorithm]):
    """The settings of what learns from a replay buffer."""

    @override
    def apply(self, method: str, given: Mapping[str, Any]) -> Self:
        new = given.get("replay_buffer_config")
        if isinstance(new, Mapping):
            old = self.replay_buffer_config
            kind = type_name(new.get("type", old.get("type")))
            kept = old if kind == type_name(old.get("type")) else {}
            given = {**given, "replay_buffer_config": {**kept, **new, "type": kind}}
        return super().apply(method, given)

    @override
    def get_rollout_fragment_length(self, worker_index: int = 0) -> int:
        if self.rollout_fragment_length == "auto":
            return max(self.n_step) if isinstance(self.n_step, (tuple, list)) else int(self.n_step)
        return super().get_rollout_fragment_length(worker_index)

    @override
    def _add_learner_pieces(self, pipeline: LearnerConnectorPipeline) -> None:
        super()._add_learner_pieces(pipeline)
        pipeline.insert_after(
            AddObservationsFromEpisodesToBatch, AddNextObservationsFromEpisodesToTrainBatch()
        )

    @override
    def validate(self) -> None:
        super().validate()
        if not self._validate_config:
            return
        least = max(self.n_step) if isinstance(self.n_step, (tuple, list)) else self.n_step
        length = self.rollout_fragment_length
        if not self.in_evaluation and length != "auto" and length < least:
            raise ConfigError(
                f"rollout_fragment_length ({length}) is smaller than n_step ({least})",
                hint=f"config.env_runners(rollout_fragment_length={least}).",
            )
        kind = buffer_class(self.replay_buffer_config)
        if kind in BUFFERS.values():
            is_for_several = issubclass(kind, MultiAgentEpisodeReplayBuffer)
            if is_for_several != self.is_multi_agent:
                name = kind.__name__.removeprefix("MultiAgent")
                name = f"MultiAgent{name}" if self.is_multi_agent else name
                raise ConfigError(
                    "the replay buffer is for the episodes of "
                    + ("several agents" if is_for_several else "one agent"),
                    hint=f"config.training(replay_buffer_config={{'type': {name!r}, ...}}).",
                )
        settings = as_settings(self.model_config)
        if not settings.get("use_lstm"):
            return
        if issubclass(kind, _BY_PRIORITY):
            raise ConfigError(
                "modules with a state learn from sequences, which a buffer with priorities does "
                "not draw",
                hint="config.training(replay_buffer_config={'type': 'EpisodeReplayBuffer'}).",
            )


def type_name(kind: Any) -> Any:
    """The type of a buffer as settings hold it: of ours and RLlib's the name, else the class."""
    if isinstance(kind, str):
        return kind.rpartition(".")[2]
    name = getattr(kind, "__name__", None)
    return name if BUFFERS.get(str(name)) is kind else kind


def buffer_class(settings: Mapping[str, Any]) -> Any:
    """The class of the buffer that settings ask for.

    Raises:
        ConfigError: There is no such class, or it holds no episodes.
    """
    kind = settings.get("type")
    if isinstance(kind, type) and hasattr(kind, "sample"):
        return kind
    found = BUFFERS.get(str(kind))
    if found is None:
        raise ConfigError(
            "config.training(replay_buffer_config=...) asks for a buffer that does not hold "
            "episodes of the new stack",
            expected=f"type: one of {', '.join(BUFFERS)}, or a class",
            found=repr(kind),
            hint=did_you_mean(str(kind), BUFFERS),
        )
    return found


class OffPolicy(Algorithm):
    """Samples a little, keeps it, and learns from what it has kept.

    Attributes:
        local_replay_buffer: What holds the episodes.
    """

    local_replay_buffer: Any
    _copies: Any = None
    _goes_in_columns = False

    @override
    def setup(self, config: Any) -> None:
        super().setup(config)
        given = {name: own for name, own in config.replay_buffer_config.items() if name != "type"}
        made = buffer_class(config.replay_buffer_config)
        if made in BUFFERS.values():
            given.setdefault("seed", config.seed)
        smoothing = config.metrics_num_episodes_for_smoothing
        given.setdefault("metrics_num_episodes_for_smoothing", smoothing)
        self.local_replay_buffer = made(**given)
        length, *_ = self.learner_group.foreach_learner(_sequence_length)
        self._sequence_length: int = length.get()

    @override
    def training_step(self) -> None:
        """Sample, keep, and learn from what was kept."""
        config = self.config
        samples, updates = samples_and_updates(config)
        for _ in range(samples):
            sampler = self.sampler
            sampled = sampler.columns() if self._goes_in_columns else sampler.episodes()
            with self.metrics.log_time((names.TIMERS, names.REPLAY_BUFFER_ADD_DATA_TIMER)):
                buffer = self.local_replay_buffer
                is_columns = isinstance(sampled, EpisodeColumns)
                (buffer.add_columns if is_columns else buffer.add)(sampled)
        if self._steps_by_setting() < config.num_steps_sampled_before_learning_starts:
            return
        learnt: set[str] = set()
        for _ in range(updates):
            with self.metrics.log_time((names.TIMERS, names.REPLAY_BUFFER_SAMPLE_TIMER)):
                drawn = self._draw()
            learnt |= self._learn(drawn)
        with self.metrics.log_time((names.TIMERS, names.SYNCH_WORKER_WEIGHTS_TIMER)):
            self._give_weights(learnt)

    @override
    def _train_enough(self) -> int:
        self._copies = None
        takes_columns = type(self.local_replay_buffer) in _TAKING_COLUMNS
        self._goes_in_columns = takes_columns and self.sampler.gives_columns
        return super()._train_enough()

    def _give_weights(self, learnt: set[str]) -> None:
        """Give the runners what was learnt; to the one in this process without a detour."""
        learner = self.learner_group.counting_learner
        if learner is not None and self._copies is None:
            self._copies = self._group.copies_of(learner.module) or _NO_COPIES
        if learner is None or self._copies is _NO_COPIES:
            self._group.sync_weights(
                from_worker_or_learner_group=self.learner_group,
                policies=learnt,
                inference_only=True,
            )
        else:
            self.env_runner.copy_weights(self._copies, learner.weights_seq_no)

    def _draw(self) -> Any:
        """Draw what an update learns from."""
        config = self.config
        return self.local_replay_buffer.sample(
            num_items=config.total_train_batch_size,
            n_step=config.n_step,
            batch_length_T=self._sequence_length,
            lookback=int(self._sequence_length > 0),
            min_batch_length_T=getattr(config, "burn_in_len", 0),
            gamma=config.gamma,
            beta=config.replay_buffer_config.get("beta"),
            sample_episodes=True,
        )

    def _steps_by_setting(self) -> int:
        """How many steps were sampled, of environments or of agents."""
        if not self.config.is_multi_agent or self.config.count_steps_by != "agent_steps":
            return self._sampled()
        key = (names.ENV_RUNNER_RESULTS, names.NUM_AGENT_STEPS_SAMPLED_LIFETIME)
        return int(sum(self.metrics.peek(key, default={}).values()))

    @property
    @override
    def not_told(self) -> tuple[str, ...]:
        return (names.TD_ERROR_KEY,) if self._takes_errors else ()

    @property
    def _takes_errors(self) -> bool:
        return hasattr(self.local_replay_buffer, "update_priorities")

    @override
    def _look_at(self, learner_results: list[Any]) -> None:
        """Take the errors of all that was learnt from, and make priorities of them."""
        errors: dict[str, list[Any]] = {}
        for result in learner_results:
            for module_id, own in result.items():
                if module_id != ALL_MODULES and names.TD_ERROR_KEY in own:
                    errors.setdefault(module_id, []).extend(own.pop(names.TD_ERROR_KEY).values())
        if not any(errors.values()) or not self._takes_errors:
            return
        with self.metrics.log_time((names.TIMERS, names.REPLAY_BUFFER_UPDATE_PRIOS_TIMER)):
            for module_id, parts in errors.items():
                joined = np.concatenate([_as_array(part).reshape(-1) for part in parts])
                self.local_replay_buffer.update_priorities(joined, module_id)

    @override
    def _compiled(self, calls: int, evaluated: ResultDict | None) -> ResultDict:
        give = getattr(self.local_replay_buffer, "get_metrics", None)
        if give is not None:
            self.metrics.aggregate([give()], key=names.REPLAY_BUFFER_RESULTS)
        return super()._compiled(calls, evaluated)

    # State

    @override
    def get_state(
        self, components: Components = None, *, not_components: Components = None, **kwargs: Any
    ) -> dict[str, Any]:
        state = super().get_state(components, not_components=not_components, **kwargs)
        if self.config.store_buffer_in_checkpoints:
            state[_BUFFER] = self.local_replay_buffer.get_state()
        return state

    @override
    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state(state)
        is_asked = self.config.store_buffer_in_checkpoints
        if is_asked and _BUFFER in state:
            with at(_BUFFER):
                self.local_replay_buffer.set_state(state[_BUFFER])
        elif is_asked != (_BUFFER in state) and "training_iteration" in state:
            has, does = ("has no", "is set") if is_asked else ("has a", "is not set")
            warnings.warn(
                f"the checkpoint {has} replay buffer, and store_buffer_in_checkpoints {does}: the "
                "run goes on with an empty one.",
                UserWarning,
                stacklevel=3,
            )


def samples_and_updates(config: Any) -> tuple[int, int]:
    """How many samples and how many updates make one training step.

    Example:
        >>> from rlconnect.v2 import DQNConfig
        >>> samples_and_updates(DQNConfig().training(training_intensity=96.0))
        (1, 3)
    """
    if not config.training_intensity:
        return 1, 1
    per_sample = (
        config.get_rollout_fragment_length()
        * config.num_envs_per_env_runner
        * max(config.num_env_runners, 1)
    )
    updates = config.training_intensity * per_sample / config.total_train_batch_size
    return (round(1 / updates), 1) if updates < 1 else (1, round(updates))


def _sequence_length(learner: Any) -> int:
    """How long sequences are that modules with a state learn from; 0 where none has one."""
    for module in learner.module.values():
        if is_stateful(module):
            return max_seq_len(module, learner)
    return 0


def _as_array(values: Any) -> Any:
    return np.asarray(values.cpu() if hasattr(values, "cpu") else values)
