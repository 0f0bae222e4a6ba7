"""The bounds that DDPG's policies are bent into; no torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Space

Float32 = npt.NDArray[np.float32]


def squash_bounds(action_space: Space[Any]) -> tuple[Float32, Float32] | None:
    """Lower ends and widths of an action space; None where actions are not squashed.

    Any component bounded on both sides switches squashing on for all, as in Ray.
    """
    if not isinstance(action_space, Box):
        return None
    if not np.logical_and(action_space.bounded_above, action_space.bounded_below).any():
        return None
    low, high = np.float32(action_space.low), np.float32(action_space.high)
    return np.array(low), np.array(high - low)
