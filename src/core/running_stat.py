"""Mean and variance of a stream of arrays, which push, merge and travel in checkpoints.

`Moments` is the pure formula: a count, a mean and a sum of squared deviations, in float64.
`RunningStat` is the thing that changes: moments of everything, and, where several workers are to
be merged, moments of what came since the last merge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .errors import CorruptCheckpointError, SpaceError
from .ray_arrays import decode_ray_array, encode_ray_array
from .types import Array

Layout = Literal["legacy", "v2"]


@dataclass(frozen=True)
class VarianceRule:
    """What RLlib of a time took for a variance.

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
    """How many arrays were seen, their mean, and the sum of squared deviations from it."""

    pushes: int
    mean: Array
    sum_sq: Array

    @classmethod
    def zero(cls, shape: Sequence[int] = ()) -> Moments:
        """Nothing seen yet."""
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
        seen = [each for each in streams if each.pushes]
        if len(seen) < 2:
            return seen[0] if seen else streams[0]
        counts = np.array([each.pushes for each in seen], np.float64)
        means = np.array([each.mean for each in seen])
        tall = counts.reshape((-1,) + (1,) * (means.ndim - 1))
        pushes = sum(each.pushes for each in seen)
        mean = np.asarray((means * tall).sum(axis=0) / pushes)
        within = np.array([each.sum_sq for each in seen]).sum(axis=0)
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
        """The moments after each of several pushes, without a loop over them.

        Args:
            rows: Of shape `(n, *shape)`, pushed in this order.
        """
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


class RunningMoments(NamedTuple):
    """The moments after each of several pushes.

    Attributes:
        counts: How many were seen, `(n, 1, ...)` beside rows of shape `(n, *shape)`.
        deviations: Each row minus the mean that counts it, `(n, *shape)`.
        sum_sq: Sums of squared deviations, `(n, *shape)`.
        last: The moments after all.
    """

    counts: Array
    deviations: Array
    sum_sq: Array
    last: Moments


class RunningStat:
    """Mean and variance of arrays of one shape, pushed one by one or in rows.

    Args:
        shape: Of one array.
        tracks_delta: Whether what is pushed from now on is counted apart too, so that several
            workers can be merged without counting anything twice.

    Attributes:
        total: Moments of everything.
        delta: Moments since the start or the last `start_delta`; None if not tracked.

    Example:
        >>> stat = RunningStat(())
        >>> stat.push_batch(np.array([1.0, 2.0, 3.0]))
        >>> float(stat.mean), float(stat.var)
        (2.0, 1.0)
    """

    def __init__(self, shape: Sequence[int] = (), *, tracks_delta: bool = False) -> None:
        self.total = Moments.zero(tuple(shape))
        # As long as both have seen the same they are one object, and counted once.
        self.delta = self.total if tracks_delta else None
        # The moments that were last written down, and their state.
        self._written: tuple[Moments, Moments | None, dict[str, Any]] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one array."""
        return self.total.mean.shape

    @property
    def num_pushes(self) -> int:
        """How many arrays were pushed."""
        return self.total.pushes

    @property
    def n(self) -> int:
        """How many arrays were pushed."""
        return self.total.pushes

    @property
    def mean(self) -> Array:
        """Of everything pushed; zeros before the first push."""
        return self.total.mean

    @property
    def var(self) -> Array:
        """Of everything pushed; the mean squared below two pushes, as in the old stack."""
        return self.total.variance()

    @property
    def std(self) -> Array:
        """Square root of `var`."""
        return np.asarray(np.sqrt(self.var))

    def push(self, x: npt.ArrayLike) -> None:
        """Count one more array.

        Raises:
            SpaceError: It has another shape.
        """
        value = x if isinstance(x, np.ndarray) else np.asarray(x)
        before = self.total
        if value.shape != before.mean.shape:
            self._check(value.shape)
        self.total = before.pushed(value)
        if self.delta is before:
            self.delta = self.total
        elif self.delta is not None:
            self.delta = self.delta.pushed(value)

    def push_batch(self, rows: npt.ArrayLike) -> None:
        """Count every row of an array `(n, *shape)`; equal to pushing them up to rounding."""
        values = np.asarray(rows)
        self._check(values.shape[1:])
        moments = Moments.of_rows(values)
        self.total = self.total.merged(moments)
        if self.delta is not None:
            self.delta = self.delta.merged(moments)

    def push_running(self, rows: npt.ArrayLike) -> RunningMoments:
        """Count every row, and give the moments after each."""
        values = np.asarray(rows)
        self._check(values.shape[1:])
        before = self.total
        running = before.running(values)
        self.total = running.last
        if self.delta is before:
            self.delta = self.total
        elif self.delta is not None:
            self.delta = self.delta.merged(Moments.of_rows(values))
        return running

    def update(self, other: RunningStat) -> None:
        """Count everything that `other` has counted."""
        self.merge(other.total)

    def merge(self, moments: Moments) -> None:
        """Count everything that `moments` stand for."""
        self._check(moments.mean.shape)
        before = self.total
        self.total = before.merged(moments)
        if self.delta is not None:
            self.delta = self.total if self.delta is before else self.delta.merged(moments)

    def start_delta(self) -> None:
        """Forget what came since the last time, and count apart from here on."""
        self.delta = Moments.zero(self.shape)

    def copy(self) -> RunningStat:
        """An independent twin: moments are replaced, never changed."""
        twin = RunningStat(self.shape)
        twin.total, twin.delta = self.total, self.delta
        return twin

    def to_state(self, layout: Layout = "legacy") -> dict[str, Any]:
        """The state as RLlib writes it: numbers, and arrays as text.

        Args:
            layout: "legacy" has three entries, "v2" six (both stacks of Ray 2.60).
        """
        if layout == "legacy":
            return {
                "num_pushes": self.total.pushes,
                "mean_array": encode_ray_array(self.total.mean),
                "std_array": encode_ray_array(self.total.sum_sq),  # RLlib's name for the sum.
            }
        written = self._written
        if written is None or written[0] is not self.total or written[1] is not self.delta:
            written = self._written = (self.total, self.delta, self._v2_state())
        return written[2].copy()

    def _v2_state(self) -> dict[str, Any]:
        total, delta = self.total, self.delta
        if delta is None:
            delta = Moments.zero(self.shape)
        mean, sum_sq = encode_ray_array(total.mean), encode_ray_array(total.sum_sq)
        is_all = delta is total
        return {
            "num_pushes": total.pushes,
            "num_pushes_delta": delta.pushes,
            "mean_array": mean,
            "mean_delta_array": mean if is_all else encode_ray_array(delta.mean),
            "sum_sq_diff_array": sum_sq,
            "sum_sq_diff_delta_array": sum_sq if is_all else encode_ray_array(delta.sum_sq),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any], *, with_delta: bool = True) -> RunningStat:
        """A stat from what `to_state` or RLlib wrote, in either layout.

        Args:
            state: What was written.
            with_delta: Whether to read what was counted apart, if anything was.

        Raises:
            CorruptCheckpointError: An entry is missing, or the entries do not fit together.
        """
        stat = cls()
        if "std_array" in state:
            stat.total = _moments(state, "num_pushes", "mean_array", "std_array")
        else:
            stat.total = _moments(state, "num_pushes", "mean_array", "sum_sq_diff_array")
        if with_delta and "num_pushes_delta" in state:
            stat.delta = moments_since_merge(state)
        return stat

    def __repr__(self) -> str:
        middle, spread = float(np.mean(self.mean)), float(np.mean(self.std))
        return f"(n={self.num_pushes}, mean_mean={middle}, mean_std={spread})"

    def _check(self, shape: tuple[int, ...]) -> None:
        if shape != self.shape:
            raise SpaceError(
                "this array does not fit the statistics",
                expected=f"shape {self.shape}",
                found=f"shape {shape}",
            )


def _sums_up_to_each(rows: Array, out: Array) -> Array:
    """Running sums along the first axis of a contiguous float64 array, put into `out`."""
    if rows.ndim > 1 and rows.shape[-1] % 2 == 0:
        # Each sum waits for the one before it; a complex one is two, and takes no longer.
        np.add.accumulate(rows.view(np.complex128), axis=0, out=out.view(np.complex128))
        return out
    return np.add.accumulate(rows, axis=0, out=out)


def moments_since_merge(state: Mapping[str, Any]) -> Moments:
    """What a state says was counted apart; everything, where nothing was counted apart.

    Raises:
        CorruptCheckpointError: As for `RunningStat.from_state`.
    """
    if "num_pushes_delta" not in state:
        return RunningStat.from_state(state).total
    return _moments(state, "num_pushes_delta", "mean_delta_array", "sum_sq_diff_delta_array")


def _moments(state: Mapping[str, Any], count: str, mean: str, sum_sq: str) -> Moments:
    missing = [key for key in (count, mean, sum_sq) if key not in state]
    if missing:
        raise CorruptCheckpointError(
            "the statistics of a filter are incomplete",
            expected=f"an entry {missing[0]!r}",
            found=f"{sorted(map(str, state))}",
        )
    arrays = [_array(state[key], key) for key in (mean, sum_sq)]
    if arrays[0].shape != arrays[1].shape:
        raise CorruptCheckpointError(
            "the statistics of a filter contradict each other",
            expected=f"{sum_sq!r} of shape {arrays[0].shape}",
            found=f"shape {arrays[1].shape}",
        )
    pushes = state[count]
    if isinstance(pushes, bool) or not isinstance(pushes, (int, np.integer)) or pushes < 0:
        raise CorruptCheckpointError(
            f"the entry {count!r} of a filter is no count", found=repr(pushes)[:80]
        )
    return Moments(int(pushes), *arrays)


def _array(value: Any, key: str) -> Array:
    if isinstance(value, (str, bytes)):
        return _decoded(value, key)
    return _numbers(np.asarray(value), key)


@lru_cache(maxsize=16)
def _decoded(text: str | bytes, key: str) -> Array:
    """The array of a text; one merged state is set in many filters."""
    array = _numbers(decode_ray_array(text, what=key), key)
    array.flags.writeable = False
    return array


def _numbers(array: Array, key: str) -> Array:
    if array.dtype.kind not in "fiu":
        raise CorruptCheckpointError(
            f"the entry {key!r} of a filter holds no numbers", found=f"dtype {array.dtype}"
        )
    return array.astype(np.float64)
