"""Steps gymnasium's vector environments and splits their results by environment."""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import wait
from typing import Any, Final, NamedTuple, TypeAlias

import gymnasium as gym
import numpy as np
from gymnasium.vector.utils import iterate

from ...core.errors import ConfigError
from .failures import EnvProcessError, not_a_reward, step_error, told
from .restarting_env import REPORT, RESETS_IN_SAME_STEP, Report
from .rows import RowReader, outside_of_space

_FINAL: Final = (("final_obs", "final_info"), ("final_observation", "final_info"))
_GRACE: Final = 5.0
"""Seconds to wait for the end of a process whose pipe has been closed."""

Seeds: TypeAlias = int | list[int | None] | None
"""One for the first environment, which the others count on from, or one for each."""


class Transitions(NamedTuple):
    """One step of all environments, an item each; flat observations are the rows of an array.

    An environment whose episode ended in the step before was only reset: its observation is the
    first of a new episode. `finals` holds the last observation and infos of episodes that ended
    where the vector resets in the very same step. `failed` holds what went wrong with environments
    that raised or hung: no step was made there, and their episode is over. In both cases the
    observation is the first of the next episode.
    """

    observations: Any
    rewards: list[float]
    terminateds: list[bool]
    truncateds: list[bool]
    infos: list[dict[str, Any]]
    finals: dict[int, tuple[Any, dict[str, Any]]]
    failed: dict[int, str]


class VectorStepper:
    """Steps any `gymnasium.vector.VectorEnv` and splits what it returns.

    Gymnasium 1.x says in its metadata whether an environment whose episode ends is reset in the
    same step or in the next one; before, it was the same step always. Environments in a
    `RestartingEnv` restart one by one; if something else fails, as a process that dies or hangs,
    the whole vector is created anew.

    Args:
        make: Creates the vector environment.
        is_restarting: Whether to create it anew when it fails; otherwise that is an error.
        timeout: Seconds that a step or reset of an `AsyncVectorEnv` may take; None for any time.
        has_memory: Whether its environments are in a `RestartingEnv`, which a checkpoint can store.

    Attributes:
        vector_env: The vector environment.
        num_restarts: Number of recreated environments.

    Example:
        >>> vector = gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1")] * 2)
        >>> stepper = VectorStepper(lambda: vector)
        >>> observations, infos = stepper.reset_all(seed=0)
        >>> len(observations), stepper.advance(np.array([0, 1])).rewards
        (2, [1.0, 1.0])
    """

    def __init__(
        self,
        make: Callable[[], Any],
        *,
        is_restarting: bool = False,
        timeout: float | None = None,
        has_memory: bool = False,
    ) -> None:
        self._has_memory = has_memory
        self._make, self._is_restarting, self._timeout = make, is_restarting, timeout
        self.vector_env = make()
        self.num_envs: int = self.vector_env.num_envs
        self.num_restarts = 0
        self._read = RowReader(self.vector_env.single_observation_space)
        self.is_same_step = _resets_in_same_step(self.vector_env)
        self._is_closed = self._is_begun = False

    def reset_all(
        self, seed: Seeds = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, list[dict[str, Any]]]:
        """Reset all environments.

        Args:
            seed: For the first one; the others get the numbers that follow.
            options: Handed on.

        Returns:
            The observations and the infos, one by one.
        """
        self._is_begun = True
        if self._is_closed:
            self.vector_env, self._is_closed = self._make(), False
        try:
            observations, infos = self._reset(seed, options)
        except Exception as error:
            self._recover("reset()", error)
            observations, infos = self._reset(None, options)
        if self._has_memory:
            split = self._reported(infos[REPORT], {}, [], [])
        else:
            split = split_infos(infos, self.num_envs)
        return self._rows(observations), split

    def _reset(self, seed: Seeds, options: dict[str, Any] | None) -> tuple[Any, Any]:
        vector = self.vector_env
        if self._timeout is None:
            observations, infos = vector.reset(seed=seed, options=options)
        else:
            vector.reset_async(seed=seed, options=options)
            observations, infos = vector.reset_wait(timeout=self._timeout)
        return observations, infos

    def advance(self, actions: Any) -> Transitions:
        """Step all environments; those whose episode has ended are reset.

        Args:
            actions: One for each environment, as the vector's action space has them.
        """
        vector = self.vector_env
        try:
            if self._timeout is None:
                returned = vector.step(actions)
            else:
                vector.step_async(actions)
                returned = vector.step_wait(timeout=self._timeout)
        except Exception as error:
            return self._restarted(error)
        observations, rewards, terminateds, truncateds, infos = returned
        terminateds, truncateds = [*map(bool, terminateds)], [*map(bool, truncateds)]
        finals: dict[int, tuple[Any, dict[str, Any]]] = {}
        failed: dict[int, str] = {}
        if self._has_memory:
            split = self._reported(infos[REPORT], failed, terminateds, truncateds)
        else:
            split = split_infos(infos, self.num_envs)
            if self.is_same_step:
                for index in np.flatnonzero(np.logical_or(terminateds, truncateds)).tolist():
                    finals[index] = self._final(split[index])
        rows, earned = self._rows(observations), [*map(float, rewards)]
        return Transitions(rows, earned, terminateds, truncateds, split, finals, failed)

    def _reported(
        self,
        reports: Sequence[Report],
        failed: dict[int, str],
        terminateds: list[bool],
        truncateds: list[bool],
    ) -> list[dict[str, Any]]:
        """Return the infos of a `RestartingEnv` each; add failures and flags that it reports.

        Raises:
            EnvStepError: An environment failed for good.
            SpaceError: An observation does not fit its space.
        """
        infos = []
        for index, report in enumerate(reports):
            infos.append(report.info)
            if len(vars(report)) == 1:
                continue
            self.num_restarts += report.restarts
            if report.mismatch is not None:
                raise outside_of_space(index, report.mismatch)
            if report.not_a_reward is not None:
                raise not_a_reward(index, report.not_a_reward)
            if report.fatal is not None:
                raise step_error(index, report.fatal, report.failure or "") from report.error
            if report.failure is not None:
                failed[index] = report.failure
            if report.ends is not None:
                terminateds[index], truncateds[index] = report.ends
        return infos

    def _restarted(self, error: Exception) -> Transitions:
        """Continue with a new vector: all episodes of the old one are lost."""
        failure = self._recover("step()", error)
        rows, infos = self.reset_all()
        count = self.num_envs
        none = [False] * count
        failed = dict.fromkeys(range(count), failure)
        return Transitions(rows, [0.0] * count, none, none, infos, {}, failed)

    def _recover(self, method: str, error: Exception) -> str:
        """Recreate the vector; return the error as text.

        Raises:
            EnvStepError: It is not to be restarted.
        """
        vector = self.vector_env
        processes = getattr(vector, "processes", ())
        index, error = self._explained(error)
        for process in processes:
            process.kill()
            process.join()
        if processes:
            vector.closed = self._is_closed = True
        if not self._is_restarting:
            raise step_error(index, method, told(error)) from error
        if not processes:
            with contextlib.suppress(Exception):  # It has failed already.
                vector.close()
        self.vector_env, self._is_closed = self._make(), False
        self.num_restarts += self.num_envs
        return told(error)

    def _explained(self, error: Exception) -> tuple[int, Exception]:
        """Find the environment that failed, and the reason if its process ended or hangs."""
        vector = self.vector_env
        if isinstance(error, multiprocessing.TimeoutError):
            late = (i for i, pipe in enumerate(vector.parent_pipes) if not pipe.poll(0))
            return next(late, 0), EnvProcessError(f"no response within {self._timeout} seconds")
        if isinstance(error, (EOFError, ConnectionError)):
            wait([process.sentinel for process in vector.processes], _GRACE)
            for index, process in enumerate(vector.processes):
                if process.exitcode is not None:
                    return index, EnvProcessError(
                        "its process has ended", found=f"exit code {process.exitcode}"
                    )
        return 0, error

    def memory(self) -> dict[str, Any] | None:
        """Return the states of all environments as data; None if one cannot be stored."""
        if not self._has_memory:
            return None
        memories = self.vector_env.call("memory")
        return None if None in memories else {"envs": list(memories)}

    def remember(self, memory: Mapping[str, Any]) -> bool:
        """Restore what `memory` returned; return False if all environments have to be reset."""
        memories = memory["envs"]
        if not self._has_memory or len(memories) != self.num_envs or "ended" in memory:
            return False  # "ended" was there when vectors were our own.
        if self._is_begun:
            self.vector_env.reset()  # The vector forgets which episodes have ended.
        self._is_begun = True
        return all(self.vector_env.call("remember", memories))

    def _rows(self, observations: Any) -> Any:
        if isinstance(observations, np.ndarray):
            return self._read(observations)  # type: ignore[arg-type]  # as many rows
        return self._read(list(iterate(self.vector_env.observation_space, observations)))

    def _final(self, info: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Take the last observation and infos of an episode out of the infos of its end."""
        for observation, infos in _FINAL:
            if observation in info:
                last = info.pop(observation)
                return self._read([last])[0], info.pop(infos, None) or {}
        raise ConfigError(
            "a vector environment that resets in the same step gave no last observation",
            expected="infos['final_obs'] (before gymnasium 1.1: 'final_observation')",
            found=f"infos {sorted(map(str, info))}",
        )


def split_infos(infos: Any, num_envs: int) -> list[dict[str, Any]]:
    """Each environment's infos from the arrays of a vector environment.

    Args:
        infos: By name, an item for each environment, and under `_name` who has one.
        num_envs: How many there are.

    Example:
        >>> split_infos({"a": [1, 2], "_a": [True, False]}, 2)
        [{'a': 1}, {}]
    """
    if isinstance(infos, (list, tuple)):
        return [dict(info) for info in infos]
    split: list[dict[str, Any]] = [{} for _ in range(num_envs)]
    for name, values in infos.items():
        if isinstance(name, str) and name.startswith("_") and name[1:] in infos:
            continue
        owners = infos.get(f"_{name}", [True] * num_envs)
        for index, value in enumerate(_items(values, num_envs)):
            if owners[index]:
                split[index][name] = value
    return split


def _items(values: Any, num_envs: int) -> Sequence[Any]:
    if isinstance(values, dict):
        return split_infos(values, num_envs)
    return values  # type: ignore[no-any-return]  # an array or a list, by gymnasium's promise


def _resets_in_same_step(env: Any) -> bool:
    mode = (getattr(env, "metadata", None) or {}).get("autoreset_mode")
    if mode is None:
        return RESETS_IN_SAME_STEP
    name = str(getattr(mode, "value", mode)).replace("_", "").lower()
    if name == "disabled":
        raise ConfigError(
            "the vector environment does not reset environments whose episode ends",
            expected="autoreset_mode NEXT_STEP or SAME_STEP",
            found=str(mode),
        )
    return name == "samestep"


def one_by_one(space: gym.Space[Any], actions: Any) -> Any:
    """Each environment's action."""
    if isinstance(actions, np.ndarray):
        return list(actions)
    if isinstance(actions, (list, tuple)) and not isinstance(space, gym.spaces.Tuple):
        return actions
    return iterate(space, actions)
