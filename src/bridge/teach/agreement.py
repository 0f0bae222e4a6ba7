"""How often two policies would do the same, by the inputs of their distributions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Box, Discrete

from ...core.columns import Columns
from ...core.data.teachers import TEACHER_INPUTS
from ...core.types import Array

_NEAR: Final = 0.05
"""Numbers of actions agree when they are no further apart, as a share of [-1, 1]."""


def agreement(episodes: Sequence[Any]) -> float:
    """The share of steps in which the best actions of student and teacher are the same.

    Args:
        episodes: Of one agent or of several.
    """
    columns = (Columns.ACTION_DIST_INPUTS, TEACHER_INPUTS)
    same = []
    for episode in episodes:
        for one in getattr(episode, "agent_episodes", {None: episode}).values():
            if len(one):
                mine, theirs = (
                    np.asarray(one.get_extra_model_outputs(column)) for column in columns
                )
                same.append(_same_action(mine, theirs, one.action_space))
    return float(np.concatenate(same).mean())


def _same_action(mine: Array, theirs: Array, space: Any) -> Array:
    """Row by row; inputs are choices one behind the other, or means and then deviations."""
    if isinstance(space, Box):
        half = mine.shape[-1] // 2
        apart = np.abs(np.clip(mine[:, :half], -1, 1) - np.clip(theirs[:, :half], -1, 1))
        return np.asarray((apart <= 2 * _NEAR).all(-1))
    sizes = [space.n] if isinstance(space, Discrete) else np.ravel(space.nvec)
    same = np.ones(len(mine), bool)
    for start, stop in pairwise(np.cumsum([0, *sizes])):
        same &= mine[:, start:stop].argmax(-1) == theirs[:, start:stop].argmax(-1)
    return same
