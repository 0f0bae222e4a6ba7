"""The env runner of one agent in each environment."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any, Final

from gymnasium.spaces import Space
from typing_extensions import override

from ...core.columns import DEFAULT_AGENT_ID, DEFAULT_MODULE_ID, Columns
from ...core.errors import ConfigError
from ..env_to_module.defaults import ORDER
from ..envs.failures import EnvStepError
from ..envs.sub_envs import Transitions
from ..envs.sync_envs import one_by_one
from ..envs.vectorising import make_vector_env
from ..episodes.single_agent import SingleAgentEpisode
from ..metrics.metrics_logger import MetricsLogger
from ..metrics.names import (
    ENV_RESET_TIMER,
    ENV_STEP_TIMER,
    ENV_TO_MODULE_CONNECTOR,
    MODULE_TO_ENV_CONNECTOR,
    RLMODULE_INFERENCE_TIMER,
    SAMPLE_TIMER,
    TIME_BETWEEN_SAMPLING,
    WEIGHTS_SEQ_NO,
)
from .base import EnvRunner
from .observation_watch import expect_finite, warn_if_outside
from .random_actions import RandomActions
from .running_episodes import RunningEpisodes
from .sample_size import SampleSize

ENV: Final = "__env__"
ENV_SINGLE: Final = "__env_single__"


class SingleAgentEnvRunner(EnvRunner):
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
        made = make_vector_env(self.config, self.worker_index, self.num_workers)
        self._stepper, self.env = made.stepper, made.stepper.vector_env
        self.num_envs = self.env.num_envs
        self._num_restarts = self._num_failures = 0
        self._needs_initial_reset = True
        self._is_begun = self._was_random = False
        self._last_sampled: float | None = None
        self._cached_to_module: dict[str, Any] | None = None
        self._draw = RandomActions({None: self.env.action_space}, self._seed)
        self._on_environment_created(made.context)

    @override
    def make_module(self) -> None:
        try:
            spec = self.config.get_rl_module_spec(
                env=self.env, spaces=self.get_spaces(), inference_only=True
            )
        except NotImplementedError:  # An algorithm without a module can act at random.
            self.module = None
            return
        self.module = spec.build()
        if hasattr(self.module, "eval"):  # It acts only: no layer has to be put into its mode.
            self.module.eval()
        if self._device != "cpu":
            self.module.to(self._device)

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

    @override
    def sample(
        self,
        *,
        num_timesteps: int | None = None,
        num_episodes: int | None = None,
        explore: bool | None = None,
        random_actions: bool = False,
        force_reset: bool = False,
        **kwargs: Any,
    ) -> list[SingleAgentEpisode]:
        """Step the environments and return episodes.

        Args:
            num_timesteps: How many steps to make at least. Environments step together, so there
                may be up to `num_envs - 1` more. Episodes that go on are continued by the next
                call, in a chunk of its own with the same id.
            num_episodes: How many episodes to finish, beginning with a reset. Without both
                arguments `rollout_fragment_length` or, with complete episodes, the number of
                environments says how much.
            explore: Whether the module explores; None asks the config.
            random_actions: Whether actions are drawn from the action space instead.
            force_reset: Whether to begin with a reset, dropping episodes that run. Going over from
                random actions to the module's, or back, does so too.
            **kwargs: Of no meaning here.

        Raises:
            SampleSizeError: Both numbers are given.
            ConfigError: There is no environment, or no module.
        """
        size = SampleSize.of(
            self.config, self.worker_index, self.num_envs, num_timesteps, num_episodes
        )
        if self.env is None:
            raise ConfigError(f"{type(self).__name__} has no environment", hint="it was stopped.")
        if self.module is None and not random_actions:
            raise ConfigError(
                f"{type(self).__name__} has no module", hint="sample(random_actions=True)."
            )
        began = perf_counter()
        if self._last_sampled is not None:
            self._counts.add_seconds(TIME_BETWEEN_SAMPLING, began - self._last_sampled)
        should_explore = bool(self.config.explore if explore is None else explore)
        samples = self._sample(size, should_explore, random_actions, force_reset)
        self._on_sample_end(samples)
        self._last_sampled = perf_counter()
        self._counts.add_seconds(SAMPLE_TIMER, self._last_sampled - began)
        return samples

    def _sample(
        self, size: SampleSize, explore: bool, random_actions: bool, force_reset: bool
    ) -> list[SingleAgentEpisode]:
        kinds = {type(piece) for piece in self._env_to_module.connectors}
        is_silent = random_actions and kinds <= _READING_ONLY
        is_all_own = self._has_only_own_pieces()
        hooks = ("on_episode_created", "on_episode_start", "on_episode_step")
        is_watched = not is_all_own or any(map(self._hooks.of, hooks))
        self._metrics_now: MetricsLogger | None = self.metrics
        self._explore = explore
        # An episode has the same columns in each step, and random actions come without outputs.
        is_other_way = random_actions is not self._was_random
        self._was_random = random_actions
        if force_reset or size.is_in_episodes or self._needs_initial_reset or is_other_way:
            self._reset_envs(explore)
        self._running.is_watched = is_watched
        self._needs_initial_reset = size.is_in_episodes
        act = self._act_at_random if random_actions else self._act
        self._num_ended = steps = calls = 0
        self._in_module = in_envs = 0.0
        while size.wants_more(steps, self._num_ended):
            actions, for_env, outputs = act(explore, self.num_env_steps_sampled_lifetime + steps)
            before = perf_counter()
            made = self._stepper.advance(for_env)
            in_envs += perf_counter() - before
            calls += 1
            steps += self._record(made, actions, outputs)
            if not is_silent:
                self._cached_to_module = self._to_module(self._shown, explore)
            self._tell_and_end(size)
            if is_all_own:  # Its timers are taken once in a call.
                self._metrics_now = None
        if is_silent and calls:
            self._cached_to_module = self._to_module(self._shown, explore)
        self._count(steps, calls, in_envs)
        return self._taken(None if size.is_in_episodes else self.config.episode_lookback_horizon)

    def _reset_envs(self, explore: bool) -> None:
        """Begin anew: all environments, episodes and what pieces share."""
        space = self.env.single_observation_space
        running = self._running = RunningEpisodes(
            space,
            self.env.single_action_space,
            self.num_envs,
            keeps_chunks=bool(self._hooks.of("on_episode_end")),
        )
        for index, episode in enumerate(running.episodes):
            self._call_on_episode("on_episode_created", episode, index)
        before = perf_counter()
        observations, infos = self._stepper.reset_all(None if self._is_begun else self._seed)
        self._counts.add_seconds(ENV_RESET_TIMER, perf_counter() - before)
        if not (self._is_begun or self.config.disable_env_checking):
            warn_if_outside(space, observations)
        self._is_begun = True
        for index, (observation, info) in enumerate(zip(observations, infos, strict=True)):
            running.begin(index, observation, info)
        self._shared_data = {}
        self._cached_to_module = self._to_module(running.episodes, explore)
        for index, episode in enumerate(running.episodes):
            self._call_on_episode("on_episode_start", episode, index)

    def _taken(self, lookback: int | None) -> list[SingleAgentEpisode]:
        samples = self._running.take(lookback)
        if self.config.episodes_to_numpy:
            for episode in samples:
                episode.to_numpy()
        if not self.config.disable_env_checking:
            expect_finite(samples, type(self).__name__)
        return samples

    def _count(self, steps: int, calls: int, seconds_in_envs: float) -> None:
        self.num_env_steps_sampled_lifetime += steps
        self._counts.add_steps(steps, {DEFAULT_AGENT_ID: steps}, {DEFAULT_MODULE_ID: steps})
        if calls:
            self._counts.add_seconds(ENV_STEP_TIMER, seconds_in_envs / calls)
        if calls and self._in_module:
            self._counts.add_seconds(RLMODULE_INFERENCE_TIMER, self._in_module / calls)
        restarts = self._stepper.num_restarts
        self._counts.add_restarts(restarts - self._num_restarts)
        self._num_restarts = restarts

    # One step

    def _to_module(self, episodes: list[SingleAgentEpisode], explore: bool) -> Any:
        return self._env_to_module(
            rl_module=self.module,
            episodes=episodes,
            explore=explore,
            shared_data=self._shared_data,
            metrics=self._metrics_now,
            metrics_prefix_key=_TO_MODULE,
        )

    def _act_at_random(self, explore: bool, t: int) -> tuple[Any, Any, dict[str, Any]]:
        actions = self._draw(_ALL)[None]
        return actions, actions, {}

    def _act(self, explore: bool, t: int) -> tuple[Any, Any, dict[str, Any]]:
        """Actions as the module has them, as the environments take them, and all else it gave."""
        module, batch = self.module, self._cached_to_module
        began = perf_counter()
        try:
            outputs = (
                module.forward_exploration(batch, t=t)
                if explore
                else module.forward_inference(batch)
            )
            self._in_module += perf_counter() - began
            columns = self._module_to_env(
                rl_module=module,
                batch=outputs,
                episodes=self._running.episodes,
                explore=explore,
                shared_data=self._shared_data,
                metrics=self._metrics_now,
                metrics_prefix_key=_TO_ENV,
            )
        except Exception:
            expect_finite(self._running.observed(), "the module could not act")
            raise
        actions = columns.pop(Columns.ACTIONS)
        return actions, columns.pop(Columns.ACTIONS_FOR_ENV, actions), columns

    def _record(self, made: Transitions, actions: Any, columns: dict[str, Any]) -> int:
        """Add a step of all environments to their episodes; returns how many steps that were."""
        running = self._running
        rows = list(one_by_one(self.env.action_space, actions))
        outputs = (*columns.values(), [self._weights_seq_no] * self.num_envs)
        steps = running.record(made, rows, (*columns, WEIGHTS_SEQ_NO), outputs)
        if made.finals:  # As everywhere else, pieces see the last observation of an episode.
            self._to_module([running.episodes[index] for index in made.finals], self._explore)
        for index in (*made.finals, *made.failed):
            if not running.pending[index]:
                self._end(index)
            running.begin(index, made.observations[index], made.infos[index])
        self._shown = running.episodes.copy()
        if made.failed:
            self._survive(steps)
        return steps

    def _survive(self, steps: int) -> None:
        """After a failure: a foreign vector is another object now; nothing but failures is told."""
        self.env = self._stepper.vector_env
        self._num_failures = 0 if steps else self._num_failures + 1
        if self._num_failures > self.config.num_consecutive_env_runner_failures_tolerance:
            raise EnvStepError(
                f"the environments of {type(self).__name__} fail in every step",
                found=f"{self._num_failures} failures in a row",
                hint="see fault_tolerance(num_consecutive_env_runner_failures_tolerance=...).",
            )

    def _tell_and_end(self, size: SampleSize) -> None:
        """Call the hooks about the last step, and begin new episodes for those that ended."""
        running, hooks = self._running, self._hooks
        if not (hooks.of("on_episode_start") or hooks.of("on_episode_step")):
            told = iter(running.ended)
        else:
            told = iter(range(self.num_envs))
        for index in told:
            episode = self._shown[index]
            if index in running.begun:
                self._call_on_episode("on_episode_start", episode, index)
                continue
            self._call_on_episode("on_episode_step", episode, index)
            if index in running.ended:
                self._end(index)
                if size.episodes is not None and self._num_ended >= size.episodes:
                    return

    def _end(self, index: int) -> None:
        """Close an episode and have the next one wait for its first observation."""
        running = self._running
        self._call_on_episode(
            "on_episode_end",
            running.episodes[index],
            index,
            prev_episode_chunks=running.chunks[index],
        )
        ended = running.end(index)
        if ended.length:
            self._num_ended += 1
            self._counts.add_ended(ended)
        self._call_on_episode("on_episode_created", running.episodes[index], index)

    def _has_only_own_pieces(self) -> bool:
        """Whether no user's piece could see the metrics or miss a timer."""
        pieces = (*self._env_to_module.connectors, *self._module_to_env.connectors)
        return all(type(piece).__module__.startswith(_OWN) for piece in pieces)


_READING_ONLY: Final = frozenset(ORDER)
"""Pieces that leave episodes as they are."""

_TO_MODULE: Final = (ENV_TO_MODULE_CONNECTOR,)
_TO_ENV: Final = (MODULE_TO_ENV_CONNECTOR,)

_ALL: Final = (None,)
"""All environments together: their actions are drawn as one."""

_OWN: Final = __package__.rpartition(".")[0]
