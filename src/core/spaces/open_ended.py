"""Bounds at the end of float32, which mean none."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from gymnasium import spaces

_END: Final = float(np.finfo(np.float32).max)


def open_ended(space: Any) -> Any:
    """A space with infinite bounds in place of those at the end of float32, as in gymnasium 1.0.

    gym's CartPole ends at 3.4e38 where gymnasium 1.0's is infinite: nothing changed.

    Example:
        >>> open_ended(spaces.Box(np.float32([-_END, 0]), np.float32([_END, 1])))
        Box([-inf   0.], [inf  1.], (2,), float32)
    """
    if isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.floating):
        low = np.where(space.low <= -_END, -np.inf, space.low)
        high = np.where(space.high >= _END, np.inf, space.high)
        if (low == space.low).all() and (high == space.high).all():
            return space
        return spaces.Box(low.astype(space.dtype), high.astype(space.dtype), dtype=space.dtype)
    if type(space) not in (spaces.Dict, spaces.Tuple):
        return space
    is_dict = isinstance(space, spaces.Dict)
    before = [*space.spaces.values()] if is_dict else space.spaces
    parts = [open_ended(part) for part in before]
    if all(one is other for one, other in zip(parts, before, strict=True)):
        return space
    return spaces.Dict([*zip(space.spaces, parts, strict=True)]) if is_dict else spaces.Tuple(parts)
