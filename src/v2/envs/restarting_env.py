"""An environment for gymnasium's vectors that can be restarted and stored in a checkpoint."""

from __future__ import annotations

import contextlib
import logging
import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import gymnasium as gym
import numpy as np
from gymnasium.vector.utils import concatenate, create_empty_array
from typing_extensions import override

from ...core.spaces.fit import explain_mismatch
from ...core.text.visible import visible
from .env_memory import memory_of, remember
from .failures import told
from .generator_states import generator_of, generator_state

_log: Final = logging.getLogger(__name__)
_ATTEMPTS: Final = 3

RESETS_IN_SAME_STEP: Final = gym.__version__.startswith("0.")
"""Whether vectors reset in the step that ends an episode: before gymnasium 1.0, unlike in RLlib."""

EnvMaker: TypeAlias = Callable[[], gym.Env[Any, Any]]

REPORT: Final = "rlconnect_report"
"""The only key of the infos that `RestartingEnv` returns."""


class Report:
    """The infos of one step, unchanged by the vector, and what went wrong in it.

    Attributes:
        info: The infos of the environment.
        failure: The exception of a step that was not made, as text; its episode is over.
        restarts: How often the environment was recreated.
        fatal: The method that failed for good, if the environment is not to be restarted.
        error: The exception, if `fatal` is set and it can be pickled.
        mismatch: Why the observation does not fit the space.
        not_a_reward: The reward as text, if it is not a number.
        ends: Whether the episode was terminated or truncated, if the vector must not know it.
    """

    failure: str | None = None
    restarts = 0
    fatal: str | None = None
    error: BaseException | None = None
    mismatch: str | None = None
    not_a_reward: str | None = None
    ends: tuple[bool, bool] | None = None

    def __init__(self, info: dict[str, Any]) -> None:
        self.info = info

    def __getstate__(self) -> dict[str, Any]:
        state = dict(vars(self))
        if self.error is not None:
            try:
                pickle.loads(pickle.dumps(self.error))
            except Exception:
                del state["error"]
        return state


class RestartingEnv(gym.Wrapper[Any, Any, Any, Any]):
    """Catches exceptions of an environment, recreates it and starts a new episode.

    A failed step returns the first observation of the next episode, no reward and no flags.

    Args:
        make: Creates the environment.
        index: Its place in the vector.
        is_restarting: Whether to recreate it; otherwise the report contains the exception.
    """

    def __init__(self, make: EnvMaker, index: int = 0, *, is_restarting: bool = False) -> None:
        super().__init__(make())
        self._make, self._index, self._is_restarting = make, index, is_restarting
        self._is_over = False
        self._seeds: np.random.Generator | None = None

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        if seed is not None:
            self._seeds = np.random.default_rng(seed)
        report = Report({})
        return self._reset(report, seed, options), {REPORT: report}

    @override
    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        if self._is_over:  # The vector does not know it: it is old, or was just restored.
            observation, info = self.reset()
            return observation, 0.0, False, False, info
        try:
            observation, reward, terminated, truncated, info = self.env.step(action)
        except Exception as error:
            report = Report({})
            report.failure = told(error)
            if not self._restart(report, "step()", error):
                return self.observation_space.sample(), 0.0, False, False, {REPORT: report}
            observation = self._reset(report, self._fresh_seed(), None)
            return observation, 0.0, False, False, {REPORT: report}
        report = Report(info)
        self._is_over = bool(terminated or truncated)
        try:
            reward = float(reward)
        except (TypeError, ValueError):
            report.not_a_reward, reward = visible(repr(reward), 100), 0.0
        if RESETS_IN_SAME_STEP:
            report.ends = bool(terminated), bool(truncated)
            terminated = truncated = False
        return observation, reward, terminated, truncated, {REPORT: report}

    def _reset(self, report: Report, seed: int | None, options: dict[str, Any] | None) -> Any:
        self._is_over = False
        for _ in range(_ATTEMPTS):
            try:
                observation, info = self.env.reset(seed=seed, options=options)
            except Exception as error:
                failure = error
                if not self._restart(report, "reset()", error):
                    return self.observation_space.sample()
                seed = self._fresh_seed()
            else:
                report.info = info
                return self._fitting(report, observation)
        report.fatal, report.error = f"{_ATTEMPTS} calls of reset()", failure
        report.failure = told(failure)
        return self.observation_space.sample()

    def _fitting(self, report: Report, observation: Any) -> Any:
        """Return an observation if a vector can store it; otherwise report the reason."""
        space: Any = self.observation_space
        try:
            empty: Any = create_empty_array(space, 1)
            concatenate(space, [observation], empty)
        except Exception as error:
            report.mismatch = explain_mismatch(space, observation) or told(error)
            return space.sample()
        return observation

    def _restart(self, report: Report, method: str, error: Exception) -> bool:
        """Recreate the environment; return False if restarts are disabled."""
        if not self._is_restarting:
            report.fatal, report.error, report.failure = method, error, told(error)
            return False
        _log.warning("An environment failed in %s and is restarted: %s", method, told(error))
        report.restarts += 1
        with contextlib.suppress(Exception):  # It has failed already.
            self.env.close()
        self.env = self._make()
        return True

    def _fresh_seed(self) -> int | None:
        """Return a seed for the first reset of a new environment."""
        return None if self._seeds is None else int(self._seeds.integers(2**31))

    def memory(self) -> dict[str, Any] | None:
        """Return the state of the environment as data; None if it cannot be stored."""
        env = memory_of(self.env)
        if env is None:
            return None
        seeds = None if self._seeds is None else generator_state(self._seeds)
        return {"ended": self._is_over, "seeds": seeds, "env": env}

    def remember(self, memories: Sequence[Mapping[str, Any]]) -> bool:
        """Restore what `memory` returned of each environment of a vector.

        Returns:
            Whether the state was restored; False if the environment has another structure.
        """
        memory = memories[self._index]
        if not remember(self.env, memory["env"]):
            return False
        self._is_over = bool(memory["ended"])
        self._seeds = None if memory["seeds"] is None else generator_of(memory["seeds"])
        return True
