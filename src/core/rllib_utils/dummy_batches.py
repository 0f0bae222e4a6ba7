"""Batches that only have the right form: to build a network with, or to test one."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from gymnasium import spaces

from ..errors import SpaceError
from ..spaces.walk import flat_dim, map_leaves
from ..types import Array, Nest


def get_dummy_batch_for_space(
    space: spaces.Space[Any],
    batch_size: int = 32,
    *,
    fill_value: float | Literal["random"] = 0.0,
    time_size: int | None = None,
    time_major: bool = False,
    one_hot_discrete: bool = False,
) -> Nest:
    """A batch in the form of a space, full of one value, or of "random" values of the space.

    A `batch_size` of 0 gives one item without a batch axis; `time_size` steps lie on an axis of
    their own, behind the batch axis or before it. Integers of Discrete spaces may become one-hot
    rows.

    Example:
        >>> get_dummy_batch_for_space(spaces.Discrete(3), 2, one_hot_discrete=True).shape
        (2, 3)
    """
    axes = [size for size in (batch_size, time_size) if size]
    leading = tuple(reversed(axes) if time_major else axes)

    def filled(leaf: Any) -> Array:
        if one_hot_discrete and isinstance(leaf, (spaces.Discrete, spaces.MultiDiscrete)):
            leaf = spaces.Box(0.0, 1.0, (flat_dim(leaf),), np.float32)
        if fill_value == "random":
            items = [leaf.sample() for _ in range(math.prod(leading))]
            return np.asarray(items, leaf.dtype).reshape(*leading, *np.shape(items[0]))
        if leaf.shape is None or leaf.dtype is None:
            raise SpaceError(
                "values of this space make no array",
                expected="a space with a shape",
                found=str(leaf),
            )
        return np.full((*leading, *leaf.shape), fill_value, leaf.dtype)

    return map_leaves(filled, space)
