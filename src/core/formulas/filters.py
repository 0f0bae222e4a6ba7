"""Observations minus a running mean, divided by a running deviation, clipped.

The formula is `centred`. `FrozenFilter` carries its numbers where statistics no longer move (a pure
function, for the compiled path too); `filter_running` moves them row by row, as a filter in
training does for one environment after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import array_namespace as xp
from ..arrays.moments import LEGACY_VARIANCE, SMALL_NUMBER, Moments, RunningMoments, VarianceRule
from ..types import Array
from .running_stat import RunningStat


@dataclass(frozen=True, slots=True, eq=False)
class FrozenFilter:
    """A filter whose statistics no longer change.

    `mean` is subtracted, `denominator` divided by, `clip` bounds both sides; None, or a clip of 0,
    leaves a part out.
    """

    mean: Any
    denominator: Any
    clip: float | None

    @classmethod
    def of(
        cls,
        stat: RunningStat | Moments,
        *,
        rule: VarianceRule = LEGACY_VARIANCE,
        demean: bool = True,
        destd: bool = True,
        clip: float | None = 10.0,
    ) -> FrozenFilter:
        """Return the filter with the current statistics."""
        return cls(stat.mean if demean else None, stat.denominator(rule) if destd else None, clip)

    def on(self, device: Any) -> FrozenFilter:
        """The same filter with its numbers as tensors on `device`."""
        mean, denominator = (
            None if part is None else xp.on_device(part, device)
            for part in (self.mean, self.denominator)
        )
        return FrozenFilter(mean, denominator, self.clip)

    def __call__(self, x: Any) -> Any:
        """`x` filtered; leading axes are free."""
        return centred(x, self.mean, self.denominator, self.clip)


def filter_running(
    stat: RunningStat,
    rows: npt.ArrayLike,
    *,
    rule: VarianceRule = LEGACY_VARIANCE,
    demean: bool = True,
    destd: bool = True,
    clip: float | None = 10.0,
) -> Array:
    """Push rows one after the other, each filtered by the statistics up to itself.

    The statistics are moved past all rows, `(n, *shape)`, in their order. What comes out has the
    dtype of `rows`; it is what a loop of pushes gives, up to rounding.
    """
    values = np.asarray(rows)
    if len(values) == 1:  # A lone row costs as much as its few operations.
        stat.push(values[0])
        denominator = stat.denominator(rule) if destd else None
        return np.asarray(centred(values, stat.mean if demean else None, denominator, clip))
    running = stat.push_running(values)
    denominator = np.sqrt(_variances(running, values, rule)) + SMALL_NUMBER if destd else None
    return _scaled(running.deviations if demean else values, denominator, clip, values)


def _variances(running: RunningMoments, rows: Array, rule: VarianceRule) -> Array:
    variances = running.sum_sq / np.maximum(running.counts - 1.0, 1.0)
    if len(rows) and running.last.pushes == len(rows):  # Nothing was seen before the first.
        is_squared = rule.lone == "mean_squared"
        variances[0] = np.square(np.float64(rows[0])) if is_squared else 0.0
    return variances.astype(rule.dtype, copy=False)


@cache
def _bounds(clip: float) -> tuple[Array, Array]:
    """Both bounds as arrays: numpy takes them in faster than Python's numbers."""
    return np.array(-clip), np.array(clip)


def centred(x: Any, mean: Any, denominator: Any, clip: float | None) -> Any:
    """`(x - mean) / denominator`, clipped, in the dtype of `x`; None leaves a part out."""
    if isinstance(x, np.ndarray) and x.ndim:
        # The same as below, without checking the type of each number.
        return _scaled(x if mean is None else x - mean, denominator, clip, x)
    value = xp.as_array(x)
    # Torch broadcasts a tensor without axes to one with axes, numpy uses the wider dtype.
    out = xp.cast(value, np.float64) if xp.is_tensor(value) else value
    if mean is not None:
        out = out - xp.constant(mean, value)
    if denominator is not None:
        out = out / xp.constant(denominator, value)
    if clip:
        out = xp.clip(out, -clip, clip)
    out = xp.cast_like(out if xp.is_tensor(out) else np.asarray(out), value)
    return out if value.ndim or xp.is_tensor(value) else out[()]


def _scaled(out: Array, denominator: Any, clip: float | None, x: Array) -> Array:
    """`out / denominator`, clipped, in the dtype of `x`; float64 is changed in place."""
    # Only where that neither changes what was given nor rounds differently.
    target = out if out is not x and out.dtype == np.float64 else None
    if denominator is not None:
        out = np.divide(out, denominator, target)
    if clip:
        low, high = _bounds(clip)
        out = out.clip(low, high, target)
    return out if out.dtype == x.dtype else out.astype(x.dtype)
