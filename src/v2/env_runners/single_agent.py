"""The env runner of one agent in each environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Space
from typing_extensions import override

from ...core.columns import DEFAULT_AGENT_ID, DEFAULT_MODULE_ID
from ..envs.foreign_envs import ForeignEnvs
from ..envs.sub_envs import Transitions
from ..envs.sync_envs import one_by_one
from ..envs.vectorising import make_vector_env
from ..episodes.episode_columns import EpisodeColumns
from ..episodes.single_agent import SingleAgentEpisode
from ..metrics.names import (
    WEIGHTS_SEQ_NO,
)
from .late_steps import LOOKBACK
from .observation_watch import expect_finite, expect_finite_columns, warn_if_outside
from .random_actions import RandomActions
from .row_sampling import ALL_TOGETHER, RowSampling
from .running_episodes import RunningEpisodes
from .sample_size import SampleSize

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
        return ForeignEnvs(lambda: self.env)

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
    def _sample(
        self, size: SampleSize, explore: bool, random_actions: bool
    ) -> list[SingleAgentEpisode]:
        is_silent = random_actions and self._reads_only()
        is_all_own = self._has_only_own_pieces()
        self.running.is_watched = not is_all_own or any(map(self._hooks.of, _WATCHING))
        self._explore = explore
        act = self._act_at_random if random_actions else self._act
        steps = 0
        seconds: list[float] = []
        self._in_envs = seconds
        rows = self._row_acting(random_actions)
        may_go_in_rows = (rows or is_silent) and self._is_unseen()
        while size.wants_more(steps, self._num_ended):
            # The first step goes the usual way: it takes the timers of all pieces.
            if may_go_in_rows and self._metrics_now is None and type(self._seen) is np.ndarray:
                may_go_in_rows = False
                more, odd = self._sample_rows(rows, size, steps)
                steps += more
                if odd is None:
                    continue
                transitions, actions, outputs = odd
            else:
                actions, for_env, outputs = act(
                    explore, self.num_env_steps_sampled_lifetime + steps
                )
                transitions = self._advance(for_env)
            steps += self._record(transitions, actions, outputs)
            if not is_silent:
                self._cached_to_module = self._to_module(self._shown, explore)
            self._tell_and_end(size)
            if is_all_own:  # Its timers are taken once in a call.
                self._metrics_now = None
        if is_silent and seconds:
            self._cached_to_module = self._to_module(self._shown, explore)
        self._count(steps, {DEFAULT_AGENT_ID: steps}, {DEFAULT_MODULE_ID: steps}, seconds)
        return self._taken(None if size.is_in_episodes else self.config.episode_lookback_horizon)

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
            warn_if_outside(self.env.single_observation_space, observations)
        self._seen = observations
        if self.teaching is not None:
            self.teaching.begin()

    def _taken(self, lookback: int | None) -> list[SingleAgentEpisode]:
        if self._columns is None:
            return self._finished(self.running.take(lookback))
        if not self.config.disable_env_checking:
            expect_finite_columns(self._columns, type(self).__name__)
        return []

    # One step

    def _act_at_random(self, explore: bool, t: int) -> tuple[Any, Any, dict[str, Any]]:
        actions = self._draw(ALL_TOGETHER)[None]
        return actions, actions, {}

    def _act(self, explore: bool, t: int) -> tuple[Any, Any, dict[str, Any]]:
        """Actions as the module has them, as the environments take them, and all else it gave."""
        try:
            return self._taken_apart(self._from_module(self._cached_to_module, explore, t))
        except Exception:
            expect_finite(self.running.observed(), "the module could not act")
            raise

    def _record(self, transitions: Transitions, actions: Any, columns: dict[str, Any]) -> int:
        """Add a step of all environments to their episodes; returns how many steps that were."""
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
        self._shown = running.episodes.copy()
        if transitions.failed:
            self.env = self.stepper.vector_env  # A foreign vector is another object now.
            self._survive(steps)
        return steps

    def _tell_and_end(self, size: SampleSize) -> None:
        """Call the hooks about the last step, and begin new episodes for those that ended."""
        running, hooks = self.running, self._hooks
        if not (hooks.of("on_episode_start") or hooks.of("on_episode_step")):
            indices = iter(running.ended)
        else:
            indices = iter(range(self.num_envs))
        for index in indices:
            episode = self._shown[index]
            if index in running.begun:
                self._call_on_episode("on_episode_start", episode, index)
                continue
            self._call_on_episode("on_episode_step", episode, index)
            if index in running.ended:
                self._end(index)
                if size.episodes is not None and self._num_ended >= size.episodes:
                    return


_WATCHING: Final = ("on_episode_created", "on_episode_start", "on_episode_step")
"""Hooks that see running episodes."""
