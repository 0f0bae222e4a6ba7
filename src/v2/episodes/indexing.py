"""Time steps as users write them, turned into positions in the data.

Position 0 is the first item there is, look-back included; step 0 is the first item after the
look-back. A negative step counts from the end and may reach into the look-back; with
`neg_index_as_lookback` it counts from the start of the episode backwards instead, so that -1 is the
last look-back item.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from .errors import EpisodeIndexError

Indices: TypeAlias = int | slice | Sequence[int] | None
Steps: TypeAlias = slice


def position_of(step: int, length: int, lookback: int, neg_index_as_lookback: bool) -> int:
    """The position of one step; below 0 or beyond the data if there is no such step.

    Args:
        step: What the user wrote.
        length: Items after the look-back.
        lookback: Items of look-back.
        neg_index_as_lookback: Whether -1 is the last look-back item.
    """
    if step >= 0 or neg_index_as_lookback:
        return lookback + step
    return lookback + length + step


def positions_of(
    steps: slice, length: int, lookback: int, neg_index_as_lookback: bool
) -> tuple[int, int, int]:
    """First position, end and stride of a slice of steps, not yet limited to the data.

    A missing bound is the look-back's end or the data's end: look-back is only read when asked for.
    """
    stride = 1 if steps.step is None else as_step(steps.step)
    if stride == 0:
        raise EpisodeIndexError("a slice needs a step other than 0", found=str(steps))
    total = lookback + length
    start, stop = (lookback, total) if stride > 0 else (total - 1, lookback - 1)
    if steps.start is not None:
        start = position_of(as_step(steps.start), length, lookback, neg_index_as_lookback)
    if steps.stop is not None:
        stop = position_of(as_step(steps.stop), length, lookback, neg_index_as_lookback)
    return start, stop, stride


def clipped(start: int, stop: int, stride: int, total: int) -> range:
    """The positions of a slice that exist, by the rules of Python's lists."""
    if stride > 0:
        return range(max(start, 0), min(stop, total), stride)
    return range(min(start, total - 1), max(stop, -1), stride)


def is_single(indices: Indices) -> bool:
    """Whether `indices` is one step: an int, of Python or of numpy."""
    return isinstance(indices, (int, np.integer))


def as_step(index: Any) -> int:
    """One step as an int.

    Raises:
        EpisodeIndexError: It is no integer.
    """
    if isinstance(index, (int, np.integer)):
        return int(index)
    raise EpisodeIndexError(
        "a time step is no integer",
        expected="an int, a list of ints, a slice or None",
        found=repr(index),
    )


def out_of_range(what: str, step: object, length: int, lookback: int) -> EpisodeIndexError:
    """The error for a step that does not exist."""
    return EpisodeIndexError(
        f"{what} {step} is out of range",
        expected=f"a step of {length} (and {lookback} of look-back)",
        hint="pass `fill` to get a value for steps that do not exist.",
    )
