"""Batches that only have the right form: to build a network with, or to test one."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from gymnasium import spaces

from ..errors import SpaceError
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
    """A batch in the form of a space, full of one value.

    Args:
        space: What one item looks like; Dict and Tuple give a nest.
        batch_size: How many items; 0 for one item without a batch axis.
        fill_value: What every number is, or "random" for values of the space.
        time_size: Steps per item, on an axis of their own.
        time_major: Put that axis before the batch axis.
        one_hot_discrete: Whether integers of Discrete and MultiDiscrete spaces become one-hot
            rows.

    Example:
        >>> get_dummy_batch_for_space(spaces.Discrete(3), 2, one_hot_discrete=True).shape
        (2, 3)
    """
    settings: dict[str, Any] = {
        "fill_value": fill_value,
        "time_size": time_size,
        "time_major": time_major,
        "one_hot_discrete": one_hot_discrete,
    }
    if isinstance(space, spaces.Dict):
        return {
            key: get_dummy_batch_for_space(child, batch_size, **settings)
            for key, child in space.spaces.items()
        }
    if isinstance(space, spaces.Tuple):
        return tuple(
            get_dummy_batch_for_space(child, batch_size, **settings) for child in space.spaces
        )
    if one_hot_discrete and isinstance(space, (spaces.Discrete, spaces.MultiDiscrete)):
        sizes = [space.n] if isinstance(space, spaces.Discrete) else space.nvec.reshape(-1)
        space = spaces.Box(0.0, 1.0, (int(np.sum(sizes)),), np.float32)
    return _filled(space, _leading(batch_size, time_size, time_major), fill_value)


def _leading(batch_size: int, time_size: int | None, time_major: bool) -> tuple[int, ...]:
    axes = [size for size in (batch_size, time_size) if size]
    return tuple(reversed(axes) if time_major else axes)


def _filled(space: spaces.Space[Any], lead: tuple[int, ...], fill_value: Any) -> Array:
    if fill_value == "random":
        items = [space.sample() for _ in range(int(np.prod(lead)))]
        return np.asarray(items, space.dtype).reshape(*lead, *np.shape(items[0]))
    if space.shape is None or space.dtype is None:
        raise SpaceError(
            "values of this space make no array", expected="a space with a shape", found=str(space)
        )
    return np.full((*lead, *space.shape), fill_value, space.dtype)
