"""A count, a mean and a sum of squared deviations in float64: pure formulas.

`running_stat` keeps them for a stream, and writes and reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from ..types import Array

SMALL_NUMBER: Final = 1e-6
"""Added to every deviation, so that a constant feature does not divide by zero."""

_FLOAT64: Final = np.dtype(np.float64)
_SMALL: Final = np.array(SMALL_NUMBER)  # numpy takes it in faster than a number
_LARGE: Final = 1 << 14
_BLOCK: Final = 8


@dataclass(frozen=True)
class VarianceRule:
    """How an RLlib release computed a variance.

    Attributes:
        lone: The variance of fewer than two pushes: the mean squared, or zero.
        dtype: What the variance is rounded to.
    """

    lone: Literal["mean_squared", "zero"]
    dtype: np.dtype[Any]


LEGACY_VARIANCE: Final = VarianceRule("mean_squared", np.dtype(np.float64))
"""Old stack up to Ray 2.7: seen to the bit in the recordings."""

LEGACY_FLOAT32_VARIANCE: Final = VarianceRule("mean_squared", np.dtype(np.float32))
"""Old stack of Ray 2.10 and 2.40, whose recordings match to the bit only with float32."""

V2_VARIANCE: Final = VarianceRule("zero", np.dtype(np.float32))
"""Both stacks of Ray 2.60."""


class Moments(NamedTuple):
    """Number of arrays, their mean, and the sum of squared deviations from it."""

    pushes: int
    mean: Array
    sum_sq: Array

    @classmethod
    def zero(cls, shape: Sequence[int] = ()) -> Moments:
        """Moments of no values."""
        return cls(0, np.zeros(shape), np.zeros(shape))

    @classmethod
    def of_rows(cls, rows: Array) -> Moments:
        """The moments of all rows of an array `(n, *shape)`."""
        if not len(rows):
            return cls.zero(rows.shape[1:])
        rows = np.asarray(rows, np.float64)
        mean = np.asarray(rows.mean(axis=0))
        return cls(len(rows), mean, np.asarray(np.square(rows - mean).sum(axis=0)))

    def pushed(self, value: Array) -> Moments:
        """With one more array."""
        count = self.pushes + 1
        if count == 1:
            return Moments(1, np.array(value, np.float64), self.sum_sq)
        n = float(count)  # numpy takes a float in faster than an int
        delta = value - self.mean
        mean = self.mean + delta / n
        # The old stack's product; Ray 2.60 writes delta * (value - mean), equal up to rounding.
        sum_sq = delta * delta
        sum_sq *= (n - 1.0) / n
        sum_sq += self.sum_sq
        return Moments(count, np.asarray(mean), np.asarray(sum_sq))

    @classmethod
    def of_all(cls, streams: Sequence[Moments]) -> Moments:
        """The moments of several streams together; merging one after the other up to rounding."""
        filled = [each for each in streams if each.pushes]
        if len(filled) < 2:
            return filled[0] if filled else streams[0]
        counts = np.array([each.pushes for each in filled], np.float64)
        means = np.array([each.mean for each in filled])
        tall = counts.reshape((-1,) + (1,) * (means.ndim - 1))
        pushes = sum(each.pushes for each in filled)
        mean = np.asarray((means * tall).sum(axis=0) / pushes)
        within = np.array([each.sum_sq for each in filled]).sum(axis=0)
        between = (np.square(means - mean) * tall).sum(axis=0)
        return cls(pushes, mean, np.asarray(within + between))

    def merged(self, other: Moments) -> Moments:
        """Of both streams together."""
        if not other.pushes:
            return self
        if not self.pushes:
            return other
        count = self.pushes + other.pushes
        mean = (self.pushes * self.mean + other.pushes * other.mean) / count
        between = np.square(self.mean - other.mean) * self.pushes * other.pushes / count
        return Moments(count, np.asarray(mean), np.asarray(self.sum_sq + other.sum_sq + between))

    def running(self, rows: Array) -> RunningMoments:
        """The moments after each of several pushes, without a loop over them."""
        rows = np.array(rows, np.float64, order="C")
        tall = self.pushes + np.arange(1.0, len(rows) + 1.0).reshape((-1,) + (1,) * (rows.ndim - 1))
        if not len(rows):
            return RunningMoments(tall, rows, rows, self)
        before = tall - 1.0
        # In place throughout: many rows are more than what stays in the cache.
        centre = self.mean if self.pushes else rows[0].copy()
        rows -= centre
        means = _sums_up_to_each(rows, np.empty_like(rows))
        means /= tall
        mean = np.asarray(means[-1] + centre)
        np.subtract(rows[1:], means[:-1], out=rows[1:])  # from the mean before it
        deviations = rows * (before / tall)
        # No term is negative, so nothing cancels; the first push of all has weight 0.
        rows *= deviations
        rows[0] += self.sum_sq
        sums = _sums_up_to_each(rows, means)
        last = Moments(self.pushes + len(rows), mean, np.array(sums[-1]))
        return RunningMoments(tall, deviations, sums, last)

    def variance(self, rule: VarianceRule = LEGACY_VARIANCE) -> Array:
        """The variance, as `rule` has it."""
        if self.pushes > 1:
            variance = self.sum_sq / (self.pushes - 1.0)
        else:
            is_squared = rule.lone == "mean_squared"
            variance = np.square(self.mean) if is_squared else np.zeros_like(self.mean)
        variance = np.asarray(variance)
        return variance if variance.dtype == rule.dtype else variance.astype(rule.dtype)

    def denominator(self, rule: VarianceRule = LEGACY_VARIANCE) -> Any:
        """The divisor of a filter of these statistics: the deviation and a small number."""
        deviation = np.sqrt(self.variance(rule))
        return deviation + (_SMALL if deviation.dtype is _FLOAT64 else SMALL_NUMBER)


class RunningMoments(NamedTuple):
    """The moments after each of several pushes.

    Attributes:
        counts: Number of arrays, `(n, 1, ...)` for rows of shape `(n, *shape)`.
        deviations: Each row minus the mean including it, `(n, *shape)`.
        sum_sq: Sums of squared deviations, `(n, *shape)`.
        last: The final moments.
    """

    counts: Array
    deviations: Array
    sum_sq: Array
    last: Moments


def _sums_up_to_each(rows: Array, out: Array) -> Array:
    """Running sums along the first axis of a contiguous float64 array, put into `out`."""
    if rows.ndim > 1 and rows.size > _LARGE and len(rows) >= 2 * _BLOCK:
        # Along columns of many rows the cache is no help: blocks of rows side by side, then theirs.
        whole = len(rows) // _BLOCK * _BLOCK
        blocks = rows[:whole].reshape(-1, _BLOCK, *rows.shape[1:])
        sums = out[:whole].reshape(blocks.shape)
        sums[:, 0] = blocks[:, 0]
        for place in range(1, _BLOCK):
            np.add(sums[:, place - 1], blocks[:, place], out=sums[:, place])
        sums[1:] += np.add.accumulate(sums[:-1, -1], axis=0)[:, None]
        for place in range(whole, len(rows)):
            np.add(out[place - 1], rows[place], out=out[place])
        return out
    if rows.ndim > 1 and rows.shape[-1] % 2 == 0:
        # Each sum waits for the one before it; a complex one is two, and takes no longer.
        np.add.accumulate(rows.view(np.complex128), axis=0, out=out.view(np.complex128))
        return out
    return np.add.accumulate(rows, axis=0, out=out)
