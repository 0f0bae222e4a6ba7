"""Actions drawn at random, many of an agent's at a time."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Final

import gymnasium as gym
import numpy as np
from gymnasium.vector.utils import batch_space, iterate

_BLOCK: Final = 128


class RandomActions:
    """Draws actions of agents from their spaces, in blocks: one draw for many steps.

    Example:
        >>> draw = RandomActions({"a": gym.spaces.Discrete(3)}, seed=0)
        >>> all(0 <= draw(["a"])["a"] < 3 for _ in range(9))
        True
    """

    def __init__(self, spaces: Mapping[Hashable, gym.Space[Any]], seed: int | None = None) -> None:
        self._blocks = {agent: batch_space(space, _BLOCK) for agent, space in spaces.items()}
        self._drawn: dict[Hashable, list[Any]] = {agent: [] for agent in spaces}
        if seed is not None:
            seeds = np.random.SeedSequence(seed).generate_state(len(self._blocks))
            for block, own in zip(self._blocks.values(), seeds, strict=True):
                block.seed(int(own))

    def __call__(self, agents: Iterable[Hashable]) -> dict[Hashable, Any]:
        """Draw an action for each of these agents."""
        drawn = self._drawn
        actions = {}
        for agent in agents:
            waiting = drawn[agent]
            if not waiting:
                block = self._blocks[agent]
                waiting.extend(iterate(block, block.sample()))
            actions[agent] = waiting.pop()
        return actions
