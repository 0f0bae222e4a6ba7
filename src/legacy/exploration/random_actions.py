"""Uniformly random actions for a whole batch at once, from an explicit generator."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Space

from ...core.errors import SpaceError
from ...core.types import Array
from ..distributions.action_leaves import leaf_spaces, nest_leaves


def random_actions(space: Space[Any], batch_size: int, rng: np.random.Generator) -> Any:
    """One random action a row, nested like the space.

    Bounded components are uniform, half-bounded ones exponential, unbounded ones normal, as
    Gymnasium samples them. Integers leave as int32 and reals as float32, like a policy's.
    """
    return nest_leaves(space, [_leaf(leaf, batch_size, rng) for leaf in leaf_spaces(space)])


def _leaf(space: Space[Any], batch_size: int, rng: np.random.Generator) -> Array:
    if isinstance(space, Discrete):
        return np.asarray(rng.integers(0, space.n, batch_size) + space.start, np.int32)
    if isinstance(space, MultiDiscrete):
        nvec = np.asarray(space.nvec)
        drawn = rng.integers(0, nvec, (batch_size, *nvec.shape)) + getattr(space, "start", 0)
        return np.asarray(drawn, np.int32)
    if isinstance(space, MultiBinary):
        return rng.integers(0, 2, (batch_size, *(space.shape or ())), np.int8)
    if isinstance(space, Box):
        return _box(space, batch_size, rng)
    if type(space).__name__ == "Simplex":
        drawn = rng.standard_exponential((batch_size, *(space.shape or ())))
        return np.asarray(drawn / drawn.sum(axis=-1, keepdims=True), np.float32)
    raise SpaceError(
        "random actions cannot be drawn from this space",
        expected="Discrete, MultiDiscrete, MultiBinary, Box, Simplex, or a Dict or Tuple of them",
        found=str(space),
    )


def _box(space: Box, batch_size: int, rng: np.random.Generator) -> Array:
    shape = (batch_size, *space.shape)
    if np.issubdtype(space.dtype or np.float32, np.integer):
        lowest, highest = space.low.astype(np.int64), space.high.astype(np.int64)
        drawn = rng.integers(lowest, highest, shape, np.int64, endpoint=True)
        return np.asarray(drawn, np.int32 if space.dtype == np.int64 else space.dtype)
    low, high = space.low.astype(np.float64), space.high.astype(np.float64)
    above, below = np.isfinite(low), np.isfinite(high)
    floor, ceiling = np.where(above, low, 0.0), np.where(below, high, 0.0)
    even = rng.uniform(floor, np.maximum(ceiling, floor), shape)
    free = np.where(
        above,
        floor + rng.standard_exponential(shape),
        np.where(below, ceiling - rng.standard_exponential(shape), rng.standard_normal(shape)),
    )
    return np.where(above & below, even, free).astype(np.float32)
