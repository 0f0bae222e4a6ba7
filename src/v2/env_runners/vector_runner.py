"""What runners of one agent and of many share: a call of `sample()`, and the way to the module."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from time import perf_counter
from typing import Any, Final

import numpy as np
from typing_extensions import override

from ...core.columns import Columns
from ...core.errors import ConfigError
from ..connectors.env_to_module.env_to_module_pipeline import ORDER
from ..connectors.stateful_modules import is_multi
from ..envs.failures import EnvStepError
from ..metrics.metrics_logger import MetricsLogger
from ..metrics.names import (
    ENV_RESET_TIMER,
    ENV_STEP_TIMER,
    ENV_TO_MODULE_CONNECTOR,
    MODULE_TO_ENV_CONNECTOR,
    RLMODULE_INFERENCE_TIMER,
    SAMPLE_TIMER,
    TIME_BETWEEN_SAMPLING,
)
from .base import EnvRunner
from .observation_watch import expect_finite
from .sample_size import SampleSize
from .teaching import Teaching

_READING_ONLY: Final = frozenset(ORDER)
"""Pieces that leave episodes as they are."""

_TO_MODULE: Final = (ENV_TO_MODULE_CONNECTOR,)
_TO_ENV: Final = (MODULE_TO_ENV_CONNECTOR,)

_OWN: Final = __package__.rpartition(".")[0]


class VectorEnvRunner(EnvRunner):
    """Steps a vector of environments, each with a running episode.

    A subclass makes the environments and episodes, and says what a step is (`_sample`).
    """

    running: Any
    stepper: Any
    teaching: Teaching | None = None

    @override
    def _take_up_env(self) -> None:
        stepper = getattr(self, "stepper", None)
        if self.env is not None and (stepper is None or stepper.vector_env is not self.env):
            self.stepper = self._stepper_of(self.env)
            self._begin_with_envs()

    @abc.abstractmethod
    def _stepper_of(self, env: Any) -> Any:
        """What steps a vector that somebody else has made."""

    @override
    def make_module(self) -> None:
        try:
            spec = self._module_spec()
        except NotImplementedError:  # An algorithm without a module can act at random.
            self.module = None
            return
        self.module = spec.build()
        for module in self.module.values() if is_multi(self.module) else (self.module,):
            if hasattr(module, "eval"):  # It acts only: no layer has to be put into its mode.
                module.eval()
            if self.device != "cpu":
                module.to(self.device)

    @abc.abstractmethod
    def _module_spec(self) -> Any:
        """The spec of the module that acts."""

    def _begin_with_envs(self) -> None:
        """Begin anew with environments that have just been made."""
        self.num_envs = self.env.num_envs
        self._num_restarts = self._num_failures = self._num_ended = 0
        self._needs_initial_reset = True
        self.is_begun = self._was_random = self._is_mixed = False
        self._explored: bool | None = None
        self._cached_to_module: dict[str, Any] | None = None
        self._metrics_now: MetricsLogger | None = None
        self._is_timed = False
        self._last_sampled: float | None = None
        self._in_module: list[float] = []
        self.teaching = Teaching.of(self.config, self.env)

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
    ) -> list[Any]:
        """Step the environments and return episodes.

        Args:
            num_timesteps: How many steps to make at least. Environments step together, so there
                may be some more. Episodes that go on are continued by the next call, in a chunk of
                its own with the same id.
            num_episodes: How many episodes to finish, beginning with a reset. Without both
                arguments `rollout_fragment_length` or, with complete episodes, the number of
                environments says how much.
            explore: Whether the module explores; None asks the config.
            random_actions: Whether actions are drawn from the action spaces instead.
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
        self._sampled_with = self._weights_seq_no
        should_explore = bool(self.config.explore if explore is None else explore)
        # An episode has the same columns in each step, and random actions come without outputs.
        is_other_way = random_actions is not self._was_random
        self._was_random = random_actions
        # Pieces of the library's own are timed once between two reports.
        is_to_time = not (self._is_timed and self._has_only_own_pieces())
        self._metrics_now = self.metrics if is_to_time else None
        self._is_timed = True
        if force_reset or size.is_in_episodes or self._needs_initial_reset or is_other_way:
            self._reset_envs_and_episodes(should_explore)
        self._is_mixed = self._is_mixed or self._explored not in (None, should_explore)
        self._explored = should_explore
        self._needs_initial_reset = size.is_in_episodes
        self._num_ended = 0
        self._in_module.clear()
        try:
            samples = self._sample(size, should_explore, random_actions)
        except BaseException:  # Environments and episodes may not be at the same step any more.
            self._needs_initial_reset = True
            raise
        self._on_sample_end(samples)
        self._last_sampled = perf_counter()
        self._counts.add_seconds(SAMPLE_TIMER, self._last_sampled - began)
        return samples

    @override
    def get_metrics(self) -> Any:
        self._is_timed = False
        return super().get_metrics()

    @abc.abstractmethod
    def new_running(self) -> Any:
        """Episodes that wait for their first observation, one for each environment."""

    def _reset_envs_and_episodes(self, explore: bool) -> None:
        """Begin anew: all environments, episodes and what pieces share."""
        self.running = self.new_running()
        self._is_mixed, self._explored = False, None
        self._shared_data = {}
        self._reset_envs(self.running.episodes, self._shared_data, explore)

    def _reset_envs(
        self, episodes: Sequence[Any], shared_data: dict[str, Any], explore: bool
    ) -> None:
        """Reset all environments, and give the episodes their first observations."""
        for index, episode in enumerate(episodes):
            self._call_on_episode("on_episode_created", episode, index)
        before = perf_counter()
        observations, infos = self.stepper.reset_all(None if self.is_begun else self._seed)
        self._counts.add_seconds(ENV_RESET_TIMER, perf_counter() - before)
        self._look_at_reset(observations, not (self.is_begun or self.config.disable_env_checking))
        self.is_begun = True
        if self.teaching is not None:
            self.teaching.begin()
        for index, (observation, info) in enumerate(zip(observations, infos, strict=True)):
            self.running.begin(index, observation, info)
        self._cached_to_module = self._to_module(episodes, explore)
        for index, episode in enumerate(episodes):
            self._call_on_episode("on_episode_start", episode, index)

    @abc.abstractmethod
    def _look_at_reset(self, observations: Any, is_checked: bool) -> None:
        """See what a reset gave."""

    @property
    def _ongoing_episodes(self) -> list[Any]:
        """The running episodes, under RLlib's name."""
        episodes: list[Any] = self.running.episodes
        return episodes

    @property
    def _ongoing_episodes_for_metrics(self) -> dict[str, list[Any]]:
        """What earlier calls returned of running episodes, as far as `on_episode_end` needs it."""
        running = self.running
        pairs = zip(running.episodes, running.chunks, strict=True)
        return {episode.id_: list(chunks) for episode, chunks in pairs if chunks}

    @abc.abstractmethod
    def _sample(self, size: SampleSize, explore: bool, random_actions: bool) -> list[Any]:
        """Step until it is enough, and give the episodes."""

    def _to_module(self, episodes: Sequence[Any], explore: bool) -> Any:
        """What the module gets for the last observations of some episodes."""
        return self._env_to_module(
            rl_module=self.module,
            episodes=episodes,
            explore=explore,
            shared_data=self._shared_data,
            metrics=self._metrics_now,
            metrics_prefix_key=_TO_MODULE,
        )

    def _forward(
        self, batch: Any, explore: bool, t: int, forward: Callable[..., Any] | None = None
    ) -> Any:
        """Call the module; `forward` is the pass for many steps, where somebody has it at hand."""
        if forward is None:
            forward = self.module.forward_exploration if explore else self.module.forward_inference
        began = perf_counter()
        outputs = forward(batch, t=t) if explore else forward(batch)
        self._in_module.append(perf_counter() - began)
        return outputs

    def _to_env(self, outputs: Any, explore: bool) -> dict[str, Any]:
        """What module-to-env makes of a module's outputs."""
        columns: dict[str, Any] = self._module_to_env(
            rl_module=self.module,
            batch=outputs,
            episodes=self.running.episodes,
            explore=explore,
            shared_data=self._shared_data,
            metrics=self._metrics_now,
            metrics_prefix_key=_TO_ENV,
        )
        return columns

    def _end(self, index: int) -> None:
        """Close an episode and have the next one wait for its first observation."""
        running = self.running
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

    def _survive(self, steps: int) -> None:
        """Go on after a failure, unless there is nothing else.

        Raises:
            EnvStepError: Environments fail again and again.
        """
        self._num_failures = 0 if steps else self._num_failures + 1
        if self._num_failures > self.config.num_consecutive_env_runner_failures_tolerance:
            raise EnvStepError(
                f"the environments of {type(self).__name__} fail in every step",
                found=f"{self._num_failures} failures in a row",
                hint="see fault_tolerance(num_consecutive_env_runner_failures_tolerance=...).",
            )

    def _count(
        self,
        steps: int,
        by_agent: Mapping[Any, int],
        by_module: Mapping[Any, int],
        seconds: Sequence[float],
    ) -> None:
        """Count a call's steps, and the seconds that environments took for each."""
        self.num_env_steps_sampled_lifetime += steps
        self._counts.add_steps(steps, by_agent, by_module)
        for timer, times in (
            (ENV_STEP_TIMER, seconds),
            (RLMODULE_INFERENCE_TIMER, self._in_module),
        ):
            if times:
                self._counts.add_seconds(timer, sum(times) / len(times))
        restarts: int = self.stepper.num_restarts
        self._counts.add_restarts(restarts - self._num_restarts)
        self._num_restarts = restarts

    def _finished(self, samples: list[Any]) -> list[Any]:
        """Episodes to be returned: with log-probabilities that stack, as arrays, and checked.

        Raises:
            NonFiniteError: An observation is not finite.
        """
        for episode in samples:
            singles = self._singles(episode)
            if self._is_mixed:
                fit_log_probs(singles.values())
            if self.config.episodes_to_numpy:
                episode.to_numpy()
            if not self.config.disable_env_checking:
                for whose, single in singles.items():
                    expect_finite([single], type(self).__name__ + whose)
        return samples

    def _singles(self, episode: Any) -> dict[str, Any]:
        """The episode of each agent, by what is added to the runner's name to tell whose it is."""
        return {"": episode}

    def _reads_only(self) -> bool:
        """Whether env-to-module only reads, so that it may wait until somebody needs its batch."""
        return {type(piece) for piece in self._env_to_module.connectors} <= _READING_ONLY

    def _has_only_own_pieces(self) -> bool:
        """Whether no user's piece could see the metrics or miss a timer."""
        pieces = (*self._env_to_module.connectors, *self._module_to_env.connectors)
        return all(_is_own(type(piece).__module__) for piece in pieces)


@lru_cache(maxsize=256)
def _is_own(module: str) -> bool:
    return module.startswith(_OWN)


def fit_log_probs(episodes: Iterable[Any]) -> None:
    """Let the log-probabilities of each episode stack: some of its steps were explored, some not.

    An exploring module gives one number a step, a greedy one of Box actions a 0 for each part.
    Items of the other way, which come before, are given the shape of the later ones; what they add
    up to stays.

    Args:
        episodes: Of single agents; changed in place.
    """
    for episode in episodes:
        column = episode.extra_model_outputs.get(Columns.ACTION_LOGP)
        if column is None or column.finalized or not isinstance(column.data, list):
            continue
        shape = np.shape(column.data[-1]) if column.data else ()
        for index, item in enumerate(column.data):
            if np.shape(item) != shape:
                column.data[index] = shared_out(item, shape)


def shared_out(value: Any, shape: tuple[int, ...]) -> Any:
    """What a log-probability adds up to, in equal shares.

    Example:
        >>> shared_out(-3.0, (2,)), float(shared_out(np.array([-1.0, -2.0]), ()))
        (array([-1.5, -1.5], dtype=float32), -3.0)
    """
    share = np.float32(np.sum(value) / max(1, int(np.prod(shape))))
    return np.full(shape, share) if shape else share
