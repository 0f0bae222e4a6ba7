"""Environments stepped one after the other in this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector.utils import iterate
from typing_extensions import override

from .failures import as_floats
from .sub_envs import EnvMaker, Seeds, SubEnvs, Transitions


class SyncEnvs(SubEnvs, gym.vector.SyncVectorEnv):
    """A `SyncVectorEnv` that survives environments that raise, and costs less for each step.

    Args:
        makers: Make one environment each.
        is_restarting: Whether an environment that raises is made anew; else it is an error.

    Example:
        >>> envs = SyncEnvs([lambda: gym.make("CartPole-v1")] * 2)
        >>> observations, infos = envs.reset_all(seed=0)
        >>> len(observations), envs.advance([0, 1]).rewards
        (2, [1.0, 1.0])
    """

    def __init__(self, makers: Sequence[EnvMaker], *, is_restarting: bool = False) -> None:
        gym.vector.SyncVectorEnv.__init__(self, makers)
        self._set_up(makers, is_restarting=is_restarting)

    @override
    def reset_all(
        self, seed: Seeds = None, options: dict[str, Any] | None = None
    ) -> tuple[list[Any], list[dict[str, Any]]]:
        resets = [
            self._try_resets(index, self._reset_one, seed=env_seed, options=options)
            for index, env_seed in enumerate(self._begin(seed))
        ]
        observations, infos = zip(*resets, strict=True)
        return self._read(observations), list(infos)

    @override
    def advance(self, actions: Any) -> Transitions:
        failed: dict[int, str] = {}
        self._failed = failed
        ended = self._ended
        observations: list[Any] = []
        rewards: list[Any] = []
        terminateds: list[bool] = []
        truncateds: list[bool] = []
        infos: list[dict[str, Any]] = []
        each = zip(self.envs, one_by_one(self.action_space, actions), strict=False)
        for index, (env, action) in enumerate(each):
            earned: Any = 0.0
            terminated = truncated = False
            if ended[index]:
                observation, info = self._try_resets(index, self._reset_one)
                failed.pop(index, None)  # No episode was lost.
            else:
                try:
                    observation, earned, terminated, truncated, info = env.step(action)
                except Exception as error:
                    self._replace(index, "step()", error)
                    seed = self._fresh_seed()
                    observation, info = self._try_resets(index, self._reset_one, seed=seed)
            observations.append(observation)
            rewards.append(earned)
            terminateds.append(bool(terminated))
            truncateds.append(bool(truncated))
            infos.append(info)
            ended[index] = terminateds[index] or truncateds[index]
        rows = self._read(observations)
        return Transitions(rows, as_floats(rewards), terminateds, truncateds, infos, {}, failed)

    reset = SubEnvs.reset
    step = SubEnvs.step


def one_by_one(space: gym.Space[Any], actions: Any) -> Any:
    """Each environment's action."""
    if isinstance(actions, np.ndarray):
        return list(actions)
    if isinstance(actions, (list, tuple)) and not isinstance(space, gym.spaces.Tuple):
        return actions
    return iterate(space, actions)
