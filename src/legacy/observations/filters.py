"""The old stack's observation filters by their names: none, mean and deviation, and with a lock."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from threading import RLock
from typing import Any, ClassVar, Final

import numpy as np

from ...core import nest
from ...core.arrays.moments import Moments
from ...core.data.checked import amount, flag
from ...core.data.damage import at
from ...core.errors import ConfigError, CorruptCheckpointError, SpaceError
from ...core.formulas.filters import centred, filter_running
from ...core.formulas.running_stat import RunningStat
from ...core.limits.asking import check_count
from ...core.types import Nest


class Filter:
    """Processes observations, and may learn from them."""

    is_concurrent: ClassVar[bool] = False

    def __call__(self, x: Nest, update: bool = True) -> Nest:
        """Filter one observation, learning from it if `update`."""
        return x

    def apply_changes(self, other: Any, *args: Any, **kwargs: Any) -> None:
        """Take over what `other` learned since it was last asked."""

    def copy(self) -> Filter:
        """An independent twin."""
        return type(self)()

    def sync(self, other: Any) -> None:
        """Become equal to `other`."""

    def reset_buffer(self) -> None:
        """Count what is learned from now on as new."""

    def clear_buffer(self) -> None:
        """An older name of `reset_buffer`."""
        self.reset_buffer()

    def as_serializable(self) -> Filter:
        """A twin without locks."""
        return self


class NoFilter(Filter):
    """Changes nothing.

    Example:
        >>> NoFilter()(3)
        3
    """

    is_concurrent: ClassVar[bool] = True

    def __init__(self, *args: Any) -> None:
        self.args: Final = args


class MeanStdFilter(Filter):
    """Subtracts the running mean, divides by the running deviation, clips.

    Args:
        shape: Of one observation; or a nest of shapes as arrays, with None at leaves that pass
            through unchanged.
        demean: Whether to subtract the mean.
        destd: Whether to divide by the deviation.
        clip: Bound of the result on both sides; None or 0 for none.

    Example:
        >>> mean_std = MeanStdFilter((2,))
        >>> for x in ([0.0, 1.0], [2.0, 3.0]):
        ...     filtered = mean_std(np.array(x))
        >>> filtered.round(3)
        array([0.707, 0.707])
    """

    def __init__(
        self, shape: Nest, demean: bool = True, destd: bool = True, clip: float | None = 10.0
    ) -> None:
        self.shape = shape
        self.no_preprocessor: bool = shape is None or _is_nested(shape)
        self.demean = demean
        self.destd = destd
        self.clip = clip
        self._leaves: Nest = self._fresh()

    @property
    def running_stats(self) -> Nest:
        """Statistics of everything seen; a nest of them for a nest of shapes."""
        return self._leaves

    @property
    def buffer(self) -> Nest:
        """Statistics of what was seen since the last reset."""
        if not self.no_preprocessor:
            return self._leaves.apart()
        return nest.map_structure(lambda leaf: None if leaf is None else leaf.apart(), self._leaves)

    def __call__(self, x: Nest, update: bool = True) -> Nest:
        """Filter one observation, or a batch of them, learning from it if `update`."""
        if not self.no_preprocessor:
            return self._filtered(self._leaves, x, update)
        return nest.map_structure_up_to(
            self._leaves, lambda leaf, part: self._filtered(leaf, part, update), self._leaves, x
        )

    def filter_each(self, rows: Nest) -> Nest:
        """Filter `(n, ...)` observations, each after learning from it and those before it."""
        if not self.no_preprocessor:
            return self._filtered_each(self._leaves, rows)
        return nest.map_structure_up_to(self._leaves, self._filtered_each, self._leaves, rows)

    def apply_changes(
        self, other: Any, with_buffer: bool = False, *args: Any, **kwargs: Any
    ) -> None:
        """Add what `other` learned since its last reset; take its buffer over if `with_buffer`."""
        for mine, theirs in zip(self._flat(), other._flat(), strict=True):
            mine.merge(theirs.delta, is_news=False)
            if with_buffer:
                mine.delta = theirs.delta

    def reset_buffer(self) -> None:
        """Count what is learned from now on as new."""
        for leaf in self._flat():
            leaf.start_delta()

    def copy(self) -> MeanStdFilter:
        """An independent twin."""
        twin = type(self)(self.shape)
        twin.sync(self)
        return twin

    def as_serializable(self) -> MeanStdFilter:
        """A twin without locks."""
        twin = MeanStdFilter(self.shape)
        twin.sync(self)
        return twin

    def sync(self, other: Any) -> None:
        """Take over settings, statistics and buffer of `other`."""
        self.shape, self.no_preprocessor = other.shape, other.no_preprocessor
        self.demean, self.destd, self.clip = other.demean, other.destd, other.clip
        self._leaves = nest.map_structure(
            lambda leaf: None if leaf is None else leaf.copy(), other._leaves
        )

    def reset(self) -> None:
        """Forget everything."""
        self._leaves = self._fresh()

    def to_state(self) -> dict[str, Any]:
        """Settings and statistics as RLlib writes them, empty ones of what passes through."""
        passing = RunningStat(())
        leaves = [passing if leaf is None else leaf for leaf in nest.flatten(self._leaves)]
        return {
            "shape": self.shape if self.no_preprocessor else np.array(self.shape, np.int64),
            "no_preprocessor": self.no_preprocessor,
            "demean": self.demean,
            "destd": self.destd,
            "clip": self.clip,
            "running_stats": [leaf.to_state() for leaf in leaves],
            "buffer": [leaf.to_state("buffer") for leaf in leaves],
        }

    @at()
    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `to_state`, or RLlib, wrote.

        Raises:
            CorruptCheckpointError: The statistics do not fit the shape.
            AskedTooMuchError: The shape is one of more numbers than a file may ask for.
        """
        with at("no_preprocessor"):
            self.no_preprocessor = flag(state["no_preprocessor"])
        self.shape = state["shape"] if self.no_preprocessor else np.asarray(state["shape"])
        with at("demean"):
            self.demean = flag(state["demean"])
        with at("destd"):
            self.destd = flag(state["destd"])
        with at("clip"):
            self.clip = None if state["clip"] is None else amount(state["clip"])
        with at("shape"):
            self._check_size()
            self._leaves = self._fresh()
        shapes = [leaf.shape for leaf in self._flat()]
        for key in ("running_stats", "buffer"):
            with at(key):
                stats = [RunningStat.from_state(each) for each in self._of_filtered(state[key])]
            if [stat.shape for stat in stats] != shapes:
                raise CorruptCheckpointError(
                    f"the {key} of a MeanStdFilter do not fit its shape",
                    expected=str(shapes),
                    found=str([stat.shape for stat in stats]),
                )
            for leaf, stat in zip(self._flat(), stats, strict=True):
                if key == "running_stats":
                    leaf.total = stat.total
                else:
                    leaf.delta = stat.total

    def set_moments(self, moments: Sequence[Moments]) -> None:
        """Take statistics over, one for each filtered leaf or for each leaf.

        Raises:
            SpaceError: They do not fit the shape.
        """
        leaves, moments = self._flat(), self._of_filtered(moments)
        expected = [leaf.shape for leaf in leaves]
        if [np.shape(each.mean) for each in moments] != expected:
            raise SpaceError(
                "statistics do not fit the filter",
                expected=str(expected),
                found=str([np.shape(each.mean) for each in moments]),
            )
        for leaf, each in zip(leaves, moments, strict=True):
            leaf.delta, leaf.total = leaf.delta, each

    def _of_filtered(self, statistics: Sequence[Any]) -> Sequence[Any]:
        """Return the statistics of filtered leaves only; RLlib may write some for other leaves."""
        is_filtered = [leaf is not None for leaf in nest.flatten(self._leaves)]
        if len(statistics) != len(is_filtered):
            return statistics
        return [each for each, is_own in zip(statistics, is_filtered, strict=True) if is_own]

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.shape}, demean={self.demean}, destd={self.destd}, "
            f"clip={self.clip}, {self.running_stats})"
        )

    def _fresh(self) -> Nest:
        if not self.no_preprocessor:
            return _statistics(self.shape)
        return nest.map_structure(_statistics, self.shape)

    def _check_size(self) -> None:
        for shape in nest.flatten(self.shape) if self.no_preprocessor else [self.shape]:
            size = math.prod(abs(int(axis)) for axis in (() if shape is None else shape))
            check_count("a filter of numbers", size, "numbers", "MeanStdFilter(shape)")

    def _flat(self) -> list[RunningStat]:
        return [leaf for leaf in nest.flatten(self._leaves) if leaf is not None]

    def _filtered(self, leaf: RunningStat | None, x: Any, update: bool) -> Any:
        if leaf is None:
            return x
        array = x if isinstance(x, np.ndarray) else np.asarray(x)
        shape = leaf.total.mean.shape  # not by the property: this is every step of every filter
        if array.shape == shape:
            if update:
                leaf.push(array)
        elif array.ndim and array.shape[1:] == shape:
            if update:
                leaf.push_batch(array)
        else:
            raise SpaceError(
                "an observation does not fit its filter",
                expected=f"shape {shape}",
                found=f"shape {array.shape}",
            )
        mean = leaf.total.mean if self.demean else None
        denominator = leaf.denominator() if self.destd else None
        return np.asarray(centred(array, mean, denominator, self.clip))

    def _filtered_each(self, leaf: RunningStat | None, rows: Any) -> Any:
        if leaf is None:
            return rows
        return filter_running(leaf, rows, demean=self.demean, destd=self.destd, clip=self.clip)


def _locked(method: Any) -> Any:
    """A method that waits until no other thread is in one."""

    @wraps(method)
    def waiting(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            return method(self, *args, **kwargs)

    return waiting


class ConcurrentMeanStdFilter(MeanStdFilter):
    """A MeanStdFilter that several threads may use.

    Example:
        >>> float(ConcurrentMeanStdFilter(())(np.float64(2.0)))
        0.0
    """

    is_concurrent: ClassVar[bool] = True

    def __init__(
        self, shape: Nest, demean: bool = True, destd: bool = True, clip: float | None = 10.0
    ) -> None:
        self._lock = RLock()
        super().__init__(shape, demean, destd, clip)

    __call__ = _locked(MeanStdFilter.__call__)
    filter_each = _locked(MeanStdFilter.filter_each)
    apply_changes = _locked(MeanStdFilter.apply_changes)
    reset_buffer = _locked(MeanStdFilter.reset_buffer)
    sync = _locked(MeanStdFilter.sync)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=RLock())


FILTERS: Final[Mapping[str, Callable[..., Filter]]] = {
    "NoFilter": NoFilter,
    "MeanStdFilter": MeanStdFilter,
    "ConcurrentMeanStdFilter": ConcurrentMeanStdFilter,
}


def get_filter(filter_config: str | Callable[[Nest], Any], shape: Nest) -> Any:
    """The filter an old config asks for, with clip=None.

    Args:
        filter_config: A name, or a function that makes a filter of a shape.
        shape: Of one observation.

    Raises:
        ConfigError: There is no filter of that name.
    """
    if callable(filter_config):
        return filter_config(shape)
    if filter_config not in FILTERS:
        raise ConfigError(
            "no such observation_filter",
            expected=" or ".join(FILTERS),
            found=repr(filter_config),
        )
    if filter_config == "NoFilter":
        return NoFilter()
    return FILTERS[filter_config](shape, clip=None)


def _is_nested(shape: Nest) -> bool:
    if not isinstance(shape, (dict, tuple)):
        return False
    leaves = nest.flatten(shape)
    return bool(leaves) and (leaves[0] is None or isinstance(leaves[0], np.ndarray))


def _statistics(shape: Any) -> RunningStat | None:
    """Fresh statistics of arrays of a shape; None where it passes through."""
    return None if shape is None else RunningStat([int(n) for n in shape], tracks_delta=True)
