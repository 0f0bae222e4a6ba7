"""The two environments of RLlib's examples that scripts import most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from gymnasium.envs.classic_control import CartPoleEnv
from gymnasium.spaces import Box

from ...v2 import make_multi_agent

MultiAgentCartPole: Final = make_multi_agent("CartPole-v1")


class StatelessCartPole(CartPoleEnv):
    """CartPole without its velocities.

    Args:
        config: Ignored.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        full_space: Any = self.observation_space
        low, high = full_space.low[[0, 2]], full_space.high[[0, 2]]
        self.observation_space = Box(low, high, dtype=np.float32)

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Start an episode."""
        obs, infos = super().reset(**options)
        return obs[[0, 2]], infos

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Push the cart."""
        step: Any = super().step(action)  # type: ignore[no-untyped-call]  # gymnasium has no types
        obs, *rest = step
        return (obs[[0, 2]], *rest)
