"""Features of a flat observation: pick, drop, reorder, insert."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from .. import array_namespace as xp
from ..errors import PieceError
from ..runtime.cache import LastFew
from ..types import Array
from .laid import Selection
from .step import Bound, Step, box_between, step


@step("select_features")
class SelectFeatures(Step):
    """Keep the features at some positions of the last axis, in that order.

    Args:
        indices: Positions to keep; negative ones count from the end.

    Example:
        >>> bound = SelectFeatures([2, 0]).bind(spaces.Box(-1, 1, (3,)))
        >>> bound.formula(np.array([1.0, 2.0, 3.0]), *bound.constants)
        array([3., 1.])
    """

    indices: Sequence[int]

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """Look the positions up in the last axis."""
        box = self._features(space)
        return _selection(box, positions(self, self.indices, box.shape[-1]))


@step("drop_features")
class DropFeatures(Step):
    """Leave out the features at some positions of the last axis; the others keep their order.

    Args:
        indices: Positions to leave out; negative ones count from the end.

    Example:
        >>> DropFeatures([0]).bind(spaces.Box(-1, 1, (3,))).space.shape
        (2,)
    """

    indices: Sequence[int]

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """Find the positions that stay."""
        box = self._features(space)
        size = box.shape[-1]
        dropped = set(positions(self, self.indices, size).tolist())
        places = np.array([each for each in range(size) if each not in dropped], np.intp)
        return _selection(box, places)


@step("insert_features")
class InsertFeatures(Step):
    """Put features with fixed values where the policy expects them.

    Args:
        positions: Where they are in the result, in rising order.
        values: What they hold: a sensor's mean, say, or 0.

    Example:
        >>> bound = InsertFeatures([1], [9.0]).bind(spaces.Box(-10, 10, (2,)))
        >>> bound.formula(np.array([1.0, 2.0]), *bound.constants)
        array([1., 9., 2.])
    """

    positions: Sequence[int]
    values: Sequence[float]

    def __post_init__(self) -> None:
        super().__post_init__()
        positions, values = tuple(self.positions), tuple(self.values)
        if len(values) == 1:
            values *= len(positions)
        if len(positions) != len(values) or list(positions) != sorted(set(positions)):
            raise PieceError(
                "InsertFeatures needs one value for each position",
                expected="positions in rising order, as many values",
                found=f"positions {positions}, values {values}",
            )
        object.__setattr__(self, "values", values)

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """Lay out the longer vector."""
        box = self._vector(space)
        size = box.shape[0] + len(self.positions)
        if self.positions and self.positions[-1] >= size:
            raise PieceError(
                f"InsertFeatures has no position {self.positions[-1]}",
                expected=f"positions below {size}",
            )
        values = np.array(self.values, box.dtype)
        # Which of [features..., values...] stands where in the result.
        source = np.zeros(size, np.intp)
        is_new = np.zeros(size, bool)
        is_new[list(self.positions)] = True
        source[is_new] = box.shape[0] + np.arange(len(self.positions))
        source[~is_new] = np.arange(box.shape[0])
        low, high = (np.concatenate([end, values])[source] for end in (box.low, box.high))
        out = box_between(low, high)
        if is_new[box.shape[0] :].all():
            return Bound(out, appended, (values,), arrays=_appending(values))
        return Bound(out, _inserted, (values, source))


def _selection(box: spaces.Box, indices: Array) -> Bound:
    out = box_between(box.low[..., indices], box.high[..., indices])
    start = int(indices[0]) if len(indices) else 0
    stop = start + len(indices)
    if np.array_equal(indices, np.arange(start, stop)):
        return Bound(out, Selection(start, stop, box.shape[-1]))
    return Bound(out, _selected, (indices,))


def _selected(value: Any, indices: Any) -> Any:
    return value[..., indices] if xp.is_tensor(value) else np.take(value, indices, axis=-1)


def appended(value: Any, values: Any) -> Any:
    """Values behind those on the last axis, in their dtype."""
    if xp.is_tensor(value):
        row = values.to(value.dtype).expand((*value.shape[:-1], values.shape[0]))
        return xp.concatenate([value, row], -1)
    return _appending(values)(value)


def _appending(values: Array) -> Callable[[Any], Any]:
    """The same over arrays: rows that hold the values already are copied, then filled."""

    def layout(key: Any) -> tuple[Array, Any]:
        (*leading, size), dtype = key
        rows = np.empty((*leading, size + len(values)), dtype)
        rows[..., size:] = values
        return rows, (..., slice(size))

    last_few = LastFew(layout)

    def call(value: Array) -> Array:
        ready, place = last_few[value.shape, value.dtype]
        rows: Array = ready.copy()
        rows[place] = value
        return rows

    return call


def _inserted(value: Any, values: Any, source: Any) -> Any:
    return _selected(appended(value, values), source)


def positions(owner: Step, indices: Sequence[int], size: int) -> Array:
    """Positions of the last axis as an index, negative ones counted from the end."""
    for each in indices:
        if not -size <= each < size:
            raise PieceError(
                f"{type(owner).__name__} asks for feature {each}",
                expected=f"-{size} <= index < {size}",
                hint=f"the observation has {size} features.",
            )
    return np.array([each % size for each in indices], np.intp)
