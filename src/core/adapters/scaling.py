"""Other units, other bounds, another dtype; for observations, actions and rewards alike."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from gymnasium import spaces

from .. import array_namespace as xp
from ..errors import PieceError
from ..types import Array
from .laid import PerFeature
from .step import Bound, Formula, Numbers, Step, box_between, step


@step("scale")
class Scale(Step):
    """Multiply, then add.

    Args:
        factor: A number, or one for each element of the last axis.
        offset: Likewise.

    Example:
        >>> bound = Scale(100.0).bind(spaces.Box(-1, 1, (2,)))
        >>> bound.space.high
        array([100., 100.], dtype=float32)
    """

    factor: Numbers = 1.0
    offset: Numbers = 0.0

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """Scale the bounds too; integers become float32."""
        box = self._box(space)
        dtype = box.dtype if box.dtype.kind == "f" else np.dtype(np.float32)
        factor, offset = (np.asarray(each, dtype) for each in (self.factor, self.offset))
        for each in (factor, offset):
            if each.ndim > 1 or (each.ndim and (not box.shape or each.shape[0] != box.shape[-1])):
                raise self.mismatch(f"a last axis of {each.shape[0]}", space)
        with np.errstate(invalid="ignore", over="ignore"):
            ends = [end.astype(dtype) * factor + offset for end in (box.low, box.high)]
        ends = [np.where(np.isnan(end), offset, end) for end in ends]  # 0 times infinity
        out = box_between(np.minimum(*ends), np.maximum(*ends))
        if box.dtype.kind != "f":
            return _bound(out, _counts_scaled, (factor, offset))
        if not offset.any():
            return _bound(out, operator.mul, (factor,), (1.0,))
        return _bound(out, _scaled_and_moved, (factor, offset), (1.0, 0.0))


@step("rescale")
class Rescale(Step):
    """Stretch from one pair of bounds to another.

    Args:
        low: The new lower bound, a number or one for each element.
        high: The new upper bound.
        from_low: The old lower bound; the space's if None.
        from_high: The old upper bound; the space's if None.

    Example:
        >>> bound = Rescale(0.0, 1.0).bind(spaces.Box(-2, 2, (1,)))
        >>> bound.formula(np.array([1.0], np.float32), *bound.constants)
        array([0.75], dtype=float32)
    """

    low: Numbers
    high: Numbers
    from_low: Numbers = None
    from_high: Numbers = None

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """Compute factor and offset of the stretch in float64."""
        box = self._box(space)
        old = [
            np.broadcast_to(np.asarray(end if setting is None else setting, np.float64), box.shape)
            for end, setting in ((box.low, self.from_low), (box.high, self.from_high))
        ]
        if not np.isfinite(old).all() or np.any(old[0] >= old[1]):
            raise self.mismatch(
                "finite bounds, lower below upper", space, "give from_low and from_high."
            )
        ends = (self.low, self.high)
        new = [np.broadcast_to(np.asarray(end, np.float64), box.shape) for end in ends]
        factor = (new[1] - new[0]) / (old[1] - old[0])
        offset = new[0] - old[0] * factor
        dtype = box.dtype if box.dtype.kind == "f" else np.dtype(np.float32)
        out = box_between(new[0], new[1], dtype)
        constants = factor.astype(dtype), offset.astype(dtype)
        if box.dtype.kind != "f":
            return _bound(out, _counts_scaled, constants)
        return _bound(out, _scaled_and_moved, constants, (1.0, 0.0))


@step("clip")
class Clip(Step):
    """Hold values between two bounds.

    Args:
        low: The lowest value, a number or one for each element; the space's if None.
        high: The highest value; the space's if None.
    """

    low: Numbers = None
    high: Numbers = None

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """Narrow the bounds of the space."""
        box = self._box(space)
        low, high = (
            np.asarray(end if setting is None else setting, box.dtype)
            for end, setting in ((box.low, self.low), (box.high, self.high))
        )
        out = box_between(np.clip(box.low, low, high), np.clip(box.high, low, high))
        return _bound(out, xp.clip, (low, high))


@step("cast")
class Cast(Step):
    """Another dtype; floats become integers by cutting off, as numpy does.

    Args:
        dtype: In numpy's words: "float32", "uint8", ...
    """

    dtype: str

    def __post_init__(self) -> None:
        try:
            name = np.dtype(self.dtype).name
        except TypeError:
            raise PieceError(
                f"Cast knows no dtype {self.dtype!r}", expected="a numpy dtype such as 'float32'"
            ) from None
        object.__setattr__(self, "dtype", name)

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """Cast the bounds too."""
        box = self._box(space)
        dtype = np.dtype(self.dtype)
        ends = [box.low, box.high]
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            ends = [np.clip(np.asarray(end, np.float64), limits.min, limits.max) for end in ends]
        out = box_between(ends[0], ends[1], dtype)
        return Bound(out, lambda value: xp.cast(value, dtype))


def _bound(
    out: spaces.Box,
    formula: Formula,
    constants: tuple[Array, ...],
    neutral: tuple[float, ...] = (),
) -> Bound:
    """An elementwise step; over arrays it goes by whole batches where its constants are rows."""
    is_by_feature = any(each.ndim for each in constants)
    arrays = PerFeature(formula, constants, neutral) if is_by_feature else None
    return Bound(out, formula, constants, arrays=arrays)


def _scaled_and_moved(value: Any, factor: Any, offset: Any) -> Any:
    return value * factor + offset


def _counts_scaled(value: Any, factor: Any, offset: Any) -> Any:
    return xp.cast_like(value, factor) * factor + offset
