"""Several environments stepped together in this process: restarts, seeds and state."""

from __future__ import annotations

import abc
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import gymnasium as gym
import numpy as np

from .env_memory import memory_of, remember
from .failures import EnvStepError, step_error, told
from .generator_states import generator_of, generator_state
from .restarting_env import EnvMaker
from .vector_stepper import Seeds

_log: Final = logging.getLogger(__name__)
_ATTEMPTS: Final = 3


class SubEnvs(abc.ABC):
    """Environments that are reset in the step after an episode's end, and made anew if they fail.

    A mixin for `gymnasium.vector.VectorEnv`. `advance` is the step of env runners, which gives
    infos and observations one by one.
    """

    num_envs: int
    single_observation_space: gym.Space[Any]
    observation_space: gym.Space[Any]
    action_space: gym.Space[Any]
    envs: Any
    closed = False  # gymnasium 0.29 sets these two where its own constructor runs
    viewer: Any = None

    def _set_up(self, makers: Sequence[EnvMaker], *, is_restarting: bool) -> None:
        self._makers = list(makers)
        self._is_restarting = is_restarting
        self._ended = [False] * len(self._makers)
        self._failed: dict[int, str] = {}
        self._seeds: np.random.Generator | None = None
        self.num_restarts = 0

    @property
    def vector_env(self) -> Any:
        """What gymnasium calls the vector environment: this."""
        return self

    @abc.abstractmethod
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

    @abc.abstractmethod
    def advance(self, actions: Any) -> Any:
        """Step all environments; those whose episode has ended are reset.

        Args:
            actions: One for each environment, as the vector's action space has them.
        """

    # In the middle of episodes

    def memory(self) -> dict[str, Any] | None:
        """Give where all environments are, as data; None where that cannot be told."""
        env_states = self._memories()
        if None in env_states:
            return None
        seeds = None if self._seeds is None else generator_state(self._seeds)
        return {"ended": list(self._ended), "seeds": seeds, "envs": env_states}

    def remember(self, memory: Mapping[str, Any]) -> bool:
        """Bring all environments to where others were; False where all have to be reset."""
        if len(memory["envs"]) != len(self._makers) or not self._remember(memory["envs"]):
            return False
        self._ended = list(memory["ended"])
        self._failed = {}
        self._seeds = None if memory["seeds"] is None else generator_of(memory["seeds"])
        return True

    def _memories(self) -> list[Any]:
        return [memory_of(env) for env in self.envs]

    def _remember(self, memories: Sequence[Any]) -> bool:
        return all(map(remember, self.envs, memories))

    # Failures

    def _replace(self, index: int, what: str, error: BaseException) -> None:
        """Make a failed environment anew, or raise."""
        if not self._is_restarting:
            raise step_error(index, what, told(error)) from error
        _log.warning("Environment %d failed in %s and is made anew: %s", index, what, told(error))
        self._failed[index] = told(error)
        self.num_restarts += 1
        self._make_anew(index)

    def _make_anew(self, index: int) -> None:
        """Replace one environment by a new one."""
        with contextlib.suppress(Exception):  # It has failed already.
            self.envs[index].close()
        self.envs[index] = self._makers[index]()

    def _reset_one(
        self, index: int, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        returned: tuple[Any, dict[str, Any]] = self.envs[index].reset(seed=seed, options=options)
        return returned

    def _fresh_seed(self) -> int | None:
        """A seed for the first reset of an environment made anew."""
        return None if self._seeds is None else int(self._seeds.integers(2**31))

    def _try_resets(self, index: int, reset: Callable[..., Any], **given: Any) -> Any:
        """Reset one environment, several times if it fails."""
        for _ in range(_ATTEMPTS):
            try:
                return reset(index, **given)
            except EnvStepError:
                raise
            except Exception as error:
                failure = error
                self._replace(index, "reset()", error)
                given["seed"] = self._fresh_seed()
        raise step_error(index, f"{_ATTEMPTS} calls of reset()", told(failure)) from failure

    def _begin(self, seed: Seeds) -> list[int | None]:
        """Forget what was, and give each environment's seed."""
        self._ended = [False] * len(self._makers)
        self._failed = {}
        if seed is None:
            return [None] * len(self._makers)
        if isinstance(seed, (list, tuple)):
            return list(seed)
        self._seeds = np.random.default_rng(seed)
        return [seed + index for index in range(len(self._makers))]
