"""Running mean and variance of a stream of arrays, with merging and checkpoints.

The formulas are in `moments`. A `RunningStat` is the mutable object: the moments of all arrays and,
to merge several workers, the moments since the last merge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from ..arrays.moments import LEGACY_VARIANCE, Moments, RunningMoments, VarianceRule
from ..data.damage import at
from ..data.ray_arrays import decode_ray_array, encode_ray_array
from ..errors import CorruptCheckpointError, SpaceError
from ..types import Array

Layout = Literal["legacy", "buffer", "v2"]

_ROWS: Final = 256
_BLOCK_BYTES: Final = 1 << 20
"""A block of waiting rows has at most so many rows, and takes at most so much memory."""


class RunningStat:
    """Mean and variance of arrays of one shape, pushed one by one or in rows.

    Args:
        shape: Of one array.
        tracks_delta: Whether what is pushed from now on is counted apart too, so that several
            workers can be merged without counting anything twice.

    Attributes:
        total: Moments of everything.

    Example:
        >>> stat = RunningStat(())
        >>> stat.push_batch(np.array([1.0, 2.0, 3.0]))
        >>> float(stat.mean), float(stat.var)
        (2.0, 1.0)
    """

    def __init__(self, shape: Sequence[int] = (), *, tracks_delta: bool = False) -> None:
        self.total = Moments.zero(tuple(shape))
        # As long as both have seen the same they are one object, and counted once.
        self._delta = self.total if tracks_delta else None
        self._rows: Array | None = None  # the first `_waiting` of them are not in `_delta` yet
        self._waiting = 0
        self._divisor: tuple[Any, Any, Any] = None, None, None
        # The moments that were last written down, and their state, by layout.
        self._written: dict[str, tuple[Moments, Moments | None, dict[str, Any]]] = {}

    @property
    def delta(self) -> Moments | None:
        """Moments since the start or the last `start_delta`; None if not tracked."""
        if self._waiting and self._rows is not None and self._delta is not None:
            self._delta = self._delta.merged(Moments.of_rows(self._rows[: self._waiting]))
            self._waiting = 0
        return self._delta

    @delta.setter
    def delta(self, moments: Moments | None) -> None:
        self._delta, self._waiting = moments, 0

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one array."""
        return self.total.mean.shape

    @property
    def num_pushes(self) -> int:
        """Number of arrays that were added."""
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

    @property
    def sum_sq_diff_array(self) -> Array:
        """Squared differences from the mean, added up; `std_array` up to Ray 2.10."""
        return self.total.sum_sq

    @property
    def num_pushes_delta(self) -> int:
        """Number of arrays added since the last merge."""
        return self._since_merge().pushes

    @property
    def mean_delta_array(self) -> Array:
        """Mean of the values pushed since the last merge."""
        return self._since_merge().mean

    @property
    def sum_sq_diff_delta_array(self) -> Array:
        """Squared differences from that mean, added up."""
        return self._since_merge().sum_sq

    n, mean_array, std_array = num_pushes, mean, sum_sq_diff_array

    def _since_merge(self) -> Moments:
        delta = self.delta
        return Moments.zero(self.shape) if delta is None else delta

    def denominator(self, rule: VarianceRule = LEGACY_VARIANCE) -> Any:
        """The divisor of a filter, computed again only if the statistics changed."""
        total, seen_rule, divisor = self._divisor
        if total is not self.total or seen_rule is not rule:
            divisor = self.total.denominator(rule)
            self._divisor = self.total, rule, divisor  # at once: threads read it meanwhile
        return divisor

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
        if self._delta is before:
            self._delta = self.total
        elif self._delta is not None:
            self._wait(value)

    def _wait(self, value: Array) -> None:
        """Keep an array for `delta`: many are counted at once in less time than one by one."""
        rows, waiting = self._rows, self._waiting
        if rows is None or rows.dtype != value.dtype:
            self.delta = self.delta  # counts the waiting rows
            count = min(_ROWS, max(1, _BLOCK_BYTES // max(value.nbytes, 1)))
            self._rows = rows = np.zeros((count, *value.shape), value.dtype)
            waiting = 0
        rows[waiting] = value
        self._waiting = waiting + 1
        if self._waiting == len(rows):
            self.delta = self.delta  # makes room

    def push_batch(self, rows: npt.ArrayLike) -> None:
        """Count every row of an array `(n, *shape)`; equal to pushing them up to rounding."""
        values = np.asarray(rows)
        self._check(values.shape[1:])
        self.merge(Moments.of_rows(values))

    def push_running(self, rows: npt.ArrayLike) -> RunningMoments:
        """Count every row, and give the moments after each."""
        values = np.asarray(rows)
        self._check(values.shape[1:])
        before = self.total
        running = before.running(values)
        self.total = running.last
        delta = self.delta
        if delta is not None:
            is_all = delta is before
            self._delta = self.total if is_all else delta.merged(Moments.of_rows(values))
        return running

    def update(self, other: RunningStat) -> None:
        """Count everything that `other` has counted."""
        self.merge(other.total)

    def merge(self, moments: Moments, *, is_news: bool = True) -> None:
        """Count everything that `moments` stand for, as part of `delta` too if `is_news`."""
        self._check(moments.mean.shape)
        before, delta = self.total, self.delta
        self.total = before.merged(moments)
        if delta is not None and is_news:
            self._delta = self.total if delta is before else delta.merged(moments)

    def start_delta(self) -> None:
        """Forget what came since the last time, and count apart from here on."""
        self.delta = Moments.zero(self.shape)

    def apart(self) -> RunningStat:
        """A stat that holds `delta` alone."""
        twin = RunningStat(self.shape)
        twin.total = self._since_merge()
        return twin

    def copy(self) -> RunningStat:
        """An independent twin: moments are replaced, never changed."""
        twin = RunningStat(self.shape)
        twin.total, twin._delta = self.total, self.delta
        return twin

    def to_state(self, layout: Layout = "legacy") -> dict[str, Any]:
        """The state as RLlib writes it: numbers, and arrays as text.

        "legacy" has three entries, "buffer" the same of what was counted apart, "v2" six (both
        stacks of Ray 2.60).
        """
        delta = self.delta
        total, seen_delta, state = self._written.get(layout, (None, None, {}))
        if total is not self.total or seen_delta is not delta:
            if layout == "v2":
                state = self._v2_state()
            else:
                state = _legacy_state(self.total if layout == "legacy" else self._since_merge())
            self._written[layout] = self.total, delta, state
        return state.copy()

    def _v2_state(self) -> dict[str, Any]:
        total, delta = self.total, self._since_merge()
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
    @at()
    def from_state(cls, state: Mapping[str, Any], *, with_delta: bool = True) -> RunningStat:
        """A stat from the state that `to_state` or RLlib wrote, in any layout.

        Without `with_delta` what was counted apart is not read.

        Raises:
            CorruptCheckpointError: An entry is missing, or the entries do not fit together.
        """
        stat = cls()
        sums = "std_array" if "std_array" in state else "sum_sq_diff_array"
        stat.total = _moments(state, "num_pushes", "mean_array", sums)
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


def _legacy_state(moments: Moments) -> dict[str, Any]:
    return {
        "num_pushes": moments.pushes,
        "mean_array": encode_ray_array(moments.mean),
        "std_array": encode_ray_array(moments.sum_sq),  # RLlib's name for the sum.
    }


_LEAST: Final = -1e-3
"""What rounding may leave of a sum of squares that is 0."""


def moments_since_merge(state: Mapping[str, Any]) -> Moments:
    """The moments that a state counted apart; all of them if it counted none apart."""
    if "num_pushes_delta" not in state:
        return RunningStat.from_state(state).total
    return _moments(state, "num_pushes_delta", "mean_delta_array", "sum_sq_diff_delta_array")


def _moments(state: Mapping[str, Any], count: str, mean: str, sum_sq: str) -> Moments:
    try:
        pushes, arrays = state[count], (_array(state[mean], mean), _array(state[sum_sq], sum_sq))
    except KeyError as error:
        raise CorruptCheckpointError(
            "the statistics of a filter are incomplete",
            expected=f"an entry {error.args[0]!r}",
            found=f"{sorted(map(str, state))}",
        ) from None
    if arrays[0].shape != arrays[1].shape:
        raise CorruptCheckpointError(
            "the statistics of a filter contradict each other",
            expected=f"{sum_sq!r} of shape {arrays[0].shape}",
            found=f"shape {arrays[1].shape}",
        )
    if isinstance(pushes, bool) or not isinstance(pushes, (int, np.integer)) or pushes < 0:
        raise CorruptCheckpointError(
            f"the entry {count!r} of a filter is no count", found=repr(pushes)[:80]
        )
    if (arrays[1] < _LEAST).any():
        raise CorruptCheckpointError(f"the entry {sum_sq!r} of a filter holds negative squares")
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
