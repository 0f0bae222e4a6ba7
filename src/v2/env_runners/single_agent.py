"""The env runner of one agent in each environment."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any, Final

from gymnasium.spaces import Space
from typing_extensions import override

from ...core.columns import DEFAULT_AGENT_ID, DEFAULT_MODULE_ID, Columns
from ..connectors.module_to_env.listify_data_for_vector_env import listed
from ..envs.vector_stepper import Transitions, VectorStepper, one_by_one
from ..envs.vectorising import make_vector_env
from ..episodes.episode_columns import EpisodeColumns
from ..episodes.single_agent import SingleAgentEpisode
from ..metrics.names import (
    WEIGHTS_SEQ_NO,
)
from .late_steps import LOOKBACK
from .observation_watch import expect_finite_columns, warn_if_outside
from .random_actions import RandomActions
from .row_acting import ALL_TOGETHER, RandomRows, RowActing
from .row_sampling import RowSampling
from .running_episodes import RunningEpisodes
from .sample_size import SampleSize
from .step_block import StepBlock

ENV: Final = "__env__"
ENV_SINGLE: Final = "__env_single__"


class SingleAgentEnvRunner(RowSampling):
    """Steps a vector of single-agent environments with one module.

    See `EnvRunner` for its arguments. Environments come from `config.environment(...)`, as many as
    `num_envs_per_env_runner` says, in this process or each in one of its own
    (`gym_env_vectorize_mode`).

    Example:
        >>> from rlconnect.v2 import PPOConfig
        >>> runner = SingleAgentEnvRunner(config=PPOConfig().environment("CartPole-v1"))
        >>> sum(len(episode) for episode in runner.sample(num_timesteps=10))
        10
    """

    running: RunningEpisodes
    _draw: RandomActions
    _last_shown: list[SingleAgentEpisode]
    _is_past_episodes = False
    """Whether this call is to give columns, if nobody has to see episodes."""
    _columns: EpisodeColumns | None = None
    """What this call gives then."""

    # Making

    @override
    def make_env(self) -> None:
        self.stop()
        created = make_vector_env(self.config, self.worker_index, self.num_workers)
        self.stepper, self.env = created.stepper, created.stepper.vector_env
        self._begin_with_envs()
        self._on_environment_created(created.context)

    @override
    def _stepper_of(self, env: Any) -> Any:
        return VectorStepper(lambda: self.env)

    @override
    def _begin_with_envs(self) -> None:
        super()._begin_with_envs()
        self._draw = RandomActions({None: self.env.action_space}, self._seed)

    @override
    def _module_spec(self) -> Any:
        return self.config.get_rl_module_spec(
            env=self.env, spaces=self.get_spaces(), inference_only=True
        )

    @override
    def get_spaces(self) -> dict[str, tuple[Space[Any], Space[Any]]]:
        if self.env is None:
            return self.spaces
        single = self.env.single_observation_space, self.env.single_action_space
        return {
            ENV: (self.env.observation_space, self.env.action_space),
            ENV_SINGLE: single,
            DEFAULT_MODULE_ID: (self._env_to_module.observation_space, single[1]),
        }

    @override
    def _own_weights(self, weights: Mapping[str, Any]) -> Mapping[str, Any]:
        inner: Mapping[str, Any] = weights.get(DEFAULT_MODULE_ID, weights)
        return inner

    # Sampling

    def sample_columns(self) -> EpisodeColumns | list[SingleAgentEpisode]:
        """Do as `sample()`, giving columns instead where nobody has to see episodes."""
        horizon = self.config.episode_lookback_horizon
        self._is_past_episodes = horizon <= LOOKBACK and not self._hooks.of("on_sample_end")
        try:
            samples = self.sample()
            return samples if self._columns is None else self._columns
        finally:
            self._is_past_episodes, self._columns = False, None

    @override
    def _row_acting(self, random_actions: bool) -> RowActing | None:
        if random_actions:
            return RandomRows(self._draw)
        return RowActing.of(
            self._env_to_module, self._module_to_env, self.module, self._taken_apart
        )

    @override
    def _record_alone(
        self, rows: RowActing, kept: Any, transitions: Transitions, size: SampleSize
    ) -> bool:
        self._hand_out(rows, is_final=False)
        actions, columns = kept
        self._record_whole(transitions, actions, listed(columns), size)
        return False

    @override
    def _hand_out(self, rows: RowActing, *, is_final: bool) -> None:
        block, number = rows.block, (WEIGHTS_SEQ_NO, self._weights_seq_no)
        if self._is_past_episodes and is_final and block.steps == self._steps:
            horizon = self.config.episode_lookback_horizon
            ended, ids, self._columns = self.running.take_block(block, number, horizon)
        else:
            is_final = is_final and not (self._is_silent or self._is_mixed)
            ended, self._last_shown = self.running.add_block(block, number, is_final=is_final)
            ids = [each.id_ for each in self._last_shown]
        rows.block = StepBlock(None, ())
        self._count_ended(ended)
        self._shared_data["memorized_map_structure"] = ids

    @override
    def _shown(self) -> list[SingleAgentEpisode]:
        return self._last_shown

    @override
    def _end_call(self, lookback: int | None, size: SampleSize) -> list[SingleAgentEpisode]:
        steps = self._steps
        self._count(steps, {DEFAULT_AGENT_ID: steps}, {DEFAULT_MODULE_ID: steps}, self._in_envs)
        if self._columns is None:
            return self._finished(self.running.take(lookback))
        if not self.config.disable_env_checking:
            expect_finite_columns(self._columns, type(self).__name__)
        return []

    @override
    def new_running(self) -> RunningEpisodes:
        return RunningEpisodes(
            self.env.single_observation_space,
            self.env.single_action_space,
            self.num_envs,
            keeps_chunks=bool(self._hooks.of("on_episode_end")),
        )

    @override
    def _look_at_reset(self, observations: Any, is_checked: bool) -> None:
        if is_checked:
            space = self.env.single_observation_space
            warn_if_outside({None: space}, ({None: each} for each in observations))
        self._seen = observations

    # One step

    @override
    def _advance(self, actions: Any, *, copies: bool = True) -> Transitions:
        before = perf_counter()
        transitions: Transitions = self.stepper.advance(actions)
        self._in_envs.append(perf_counter() - before)
        self._seen = transitions.observations
        if self.teaching is not None:
            self.teaching.follow(transitions)
        return transitions

    @override
    def _taken_apart(self, columns: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
        actions = columns.pop(Columns.ACTIONS)
        if self.teaching is not None:
            columns.update(self.teaching.columns(self._seen))
        return actions, columns.pop(Columns.ACTIONS_FOR_ENV, actions), columns

    @override
    def _act_at_random(self) -> tuple[Any, Any, dict[str, Any]]:
        actions = self._draw(ALL_TOGETHER)[None]
        return actions, actions, {}

    @override
    def _record(
        self, transitions: Transitions, actions: Any, columns: dict[str, Any]
    ) -> tuple[int, int]:
        running = self.running
        rows = list(one_by_one(self.env.action_space, actions))
        outputs = (*columns.values(), [self._weights_seq_no] * self.num_envs)
        steps = running.record(transitions, rows, (*columns, WEIGHTS_SEQ_NO), outputs)
        if transitions.finals:  # As everywhere else, pieces see the last observation of an episode.
            self._to_module(
                [running.episodes[index] for index in transitions.finals], self._explore
            )
        for index in (*transitions.finals, *transitions.failed):
            if not running.pending[index]:
                self._end(index)
            running.begin(index, transitions.observations[index], transitions.infos[index])
        self._last_shown = running.episodes.copy()
        if transitions.failed:
            self.env = self.stepper.vector_env  # A foreign vector is another object now.
            self._survive(steps)
        return steps, steps

    @override
    def _end_step(self, size: SampleSize) -> None:
        """Call the hooks about the last step, and begin new episodes for those that ended."""
        running, hooks = self.running, self._hooks
        if not (hooks.of("on_episode_start") or hooks.of("on_episode_step")):
            indices = iter(running.ended)
        else:
            indices = iter(range(self.num_envs))
        for index in indices:
            episode = self._last_shown[index]
            if index in running.begun:
                self._call_on_episode("on_episode_start", episode, index)
                continue
            self._call_on_episode("on_episode_step", episode, index)
            if index in running.ended:
                self._end(index)
                if size.episodes is not None and self._num_ended >= size.episodes:
                    return
