"""Largest differences between the outputs of two policies, stage by stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from .. import array_namespace as xp
from .. import nest
from ..types import Array, Nest

STAGES: Final = ("observation", "outputs", "value", "state", "action", "weights", "settings")
"""The stages of acting in the order in which data passes them: what the network sees, the inputs
of its action distribution or the values of actions, its value, its state, and what the environment
gets; last, the weights themselves and the numbers of the pieces around them (statistics of filters,
bounds, how it explores), of which outputs may not show every one."""

COPIED: Final = frozenset({"weights", "settings"})
"""Stages copied from one policy to the other, compared relative to their own size."""

MOST_OUTPUTS: Final = 16
_MOST_COLUMNS: Final = 100_000

_ROUNDING: Final = 2 * float(np.finfo(np.float32).eps)
"""Rounding errors of a sum of float32, as a share of the sum of its magnitudes: two ulps."""

DECADES: Final = tuple(range(-9, 2))
"""Powers of ten that a histogram of differences counts by; its first bar holds what is equal."""


@dataclass(frozen=True)
class Worst:
    """The largest difference of two policies at a stage.

    Args:
        output: Position of the number in a row, prefixed by the name of its part.
        ours: Output of the first policy.
        theirs: Output of the second policy.
        row: Row in the comparison, from 0.
        observation: The observation of this row, if it was passed.
    """

    output: str
    ours: float
    theirs: float
    row: int
    observation: Nest = None


@dataclass(frozen=True)
class StageComparison:
    """How two policies compare at one stage.

    Args:
        name: The stage.
        count: How many numbers were compared.
        largest: The largest difference.
        quantiles: The differences that 50, 90 and 99 % of the numbers stay below.
        beyond: How many differ by more than the tolerance.
        agreement: The share of rows that are equal within the tolerance.
        histogram: How many are equal, then how many differ by up to each power of `DECADES`, and
            by more than that.
        note: Why numbers could not be compared, if so.
        worst: The largest difference; None if there is none.
        by_output: The largest difference of each number of a row, by name, in descending order;
            at most 16 of them.
        rounding: The largest addition to the tolerance for rounding errors of large sums.
    """

    name: str
    count: int
    largest: float
    quantiles: tuple[float, float, float]
    beyond: int
    agreement: float
    histogram: tuple[int, ...]
    note: str = ""
    worst: Worst | None = None
    by_output: tuple[tuple[str, float], ...] = ()
    rounding: float = 0.0

    @property
    def is_equal(self) -> bool:
        """True if nothing differs by more than the tolerance."""
        return self.beyond == 0 and not self.note


@dataclass
class Differences:
    """The differences of many steps, collected by stage.

    `absolute` is the tolerance for numbers near 0, `relative` that as a share of the number. Both
    are widened, row by row, by two ulps of what the first layer adds up: the sum over its inputs of
    `|weight * input|`. `weights` are those of the policies by name; first layers are the matrices
    with one column per input.
    """

    absolute: float
    relative: float
    weights: Mapping[str, Any] = field(default_factory=dict)
    _apart: dict[str, list[Array]] = field(default_factory=dict)
    _beyond: dict[str, int] = field(default_factory=dict)
    _rows: dict[str, list[Array]] = field(default_factory=dict)
    _notes: dict[str, str] = field(default_factory=dict)
    _worst: dict[str, tuple[tuple[bool, float], Worst]] = field(default_factory=dict)
    _columns: dict[str, dict[str, Array]] = field(default_factory=dict)
    _rounding: dict[str, float] = field(default_factory=dict)

    def add(
        self,
        ours: Mapping[str, Nest],
        theirs: Mapping[str, Nest],
        observations: Sequence[Nest] | None = None,
    ) -> None:
        """Add the outputs of two policies for the same observations, one per row."""
        rounding = self._rounding_errors(theirs.get("observation"))
        for name in STAGES:
            if name in ours and name in theirs:
                errors = None if name == "observation" else rounding
                self._add_stage(name, ours[name], theirs[name], observations, errors)

    def note(self, name: str, text: str) -> None:
        """Note why the numbers of a stage could not be compared."""
        self._notes.setdefault(name, text)

    def _rounding_errors(self, seen: Nest) -> Array | None:
        """Rounding errors to expect of each row's sums, for flat observations (B, N)."""
        if seen is None or isinstance(seen, (Mapping, tuple)):
            return None
        rows = np.abs(xp.to_numpy(seen).astype(np.float64))
        shapes = [(np.shape(matrix), matrix) for matrix in self.weights.values()]
        layers = [xp.to_numpy(m) for shape, m in shapes if len(shape) == 2 and rows.ndim == 2]
        inputs = rows.shape[-1] if rows.ndim == 2 else 0
        sums = [(rows @ np.abs(m).T).max(1) for m in layers if m.shape[1] == inputs]
        sums += [(rows @ np.abs(m)).max(1) for m in layers if m.shape[0] == inputs != m.shape[1]]
        return _ROUNDING * np.max(sums, axis=0) if sums else None

    def _add_stage(
        self,
        name: str,
        ours: Nest,
        theirs: Nest,
        observations: Sequence[Nest] | None,
        rounding: Array | None,
    ) -> None:
        mine, yours = (
            [(path, np.atleast_1d(xp.to_numpy(leaf))) for path, leaf in _leaves(each)]
            for each in (ours, theirs)
        )
        shapes = [[leaf.shape for _, leaf in leaves] for leaves in (mine, yours)]
        if shapes[0] != shapes[1]:
            self.note(name, f"shapes {shapes[0]} and {shapes[1]}")
            return
        before = sum(map(len, self._rows.get(name, ())))
        rows = np.ones(len(mine[0][1]), bool)
        for (path, one), (_, other) in zip(mine, yours, strict=True):
            left, right = one.astype(np.float64), other.astype(np.float64)
            same = (left == right) | (np.isnan(left) & np.isnan(right))
            with np.errstate(invalid="ignore"):
                apart = np.where(same, 0.0, np.abs(left - right))
            apart = np.where(np.isnan(apart), np.inf, apart)
            is_counted = one.dtype.kind in "biu" and other.dtype.kind in "biu"
            limit = 0.0 if is_counted else self._limit(name, right)
            if rounding is not None and not is_counted and len(rounding) == len(right):
                limit = limit + rounding.reshape(-1, *(1,) * (right.ndim - 1))
                self._rounding[name] = max(self._rounding.get(name, 0.0), float(rounding.max()))
            is_beyond = ~same & (apart > limit)
            self._apart.setdefault(name, []).append(apart.reshape(-1))
            self._beyond[name] = self._beyond.get(name, 0) + int(is_beyond.sum())
            rows &= ~is_beyond.reshape(len(is_beyond), -1).any(1)
            self._tell_outputs(name, path, apart)
            if apart.any():
                self._keep_worst(name, path, (left, right, apart, is_beyond), before, observations)
        self._rows.setdefault(name, []).append(rows)

    def _limit(self, name: str, right: Array) -> Any:
        if name not in COPIED:
            return self.absolute + self.relative * np.abs(right)
        finite = np.abs(right[np.isfinite(right)])
        return self.relative * float(finite.max(initial=0.0))

    def _tell_outputs(self, name: str, path: str, apart: Array) -> None:
        """Record the largest difference per column, or per part if rows are not comparable."""
        flat = apart.reshape(len(apart), -1)
        largest = flat.max(initial=0.0) if name in COPIED else flat.max(0, initial=0.0)
        columns = self._columns.setdefault(name, {})
        so_far = columns.get(path)
        if so_far is None or so_far.shape == np.shape(largest):
            columns[path] = np.asarray(largest if so_far is None else np.maximum(so_far, largest))

    def _keep_worst(
        self,
        name: str,
        path: str,
        arrays: tuple[Array, Array, Array, Array],
        before: int,
        observations: Sequence[Nest] | None,
    ) -> None:
        left, right, apart, is_beyond = (each.reshape(len(each), -1) for each in arrays)
        counted = np.where(is_beyond, apart, -1.0) if is_beyond.any() else apart
        row, column = np.unravel_index(int(counted.argmax()), counted.shape)
        rank = (bool(is_beyond.any()), float(apart[row, column]))
        if name in self._worst and self._worst[name][0] >= rank:
            return
        self._worst[name] = (
            rank,
            Worst(
                _named(path, int(column), apart.shape[1]),
                float(left[row, column]),
                float(right[row, column]),
                before + int(row),
                None if observations is None else observations[int(row)],
            ),
        )

    def stages(self) -> tuple[StageComparison, ...]:
        """The comparison of each stage both policies have, in order."""
        return tuple(
            self._stage(name) for name in STAGES if name in self._apart or name in self._notes
        )

    def _stage(self, name: str) -> StageComparison:
        apart = np.concatenate(self._apart.get(name) or [np.zeros(0)])
        rows = np.concatenate(self._rows.get(name) or [np.zeros(0, bool)])
        quantiles = (
            np.quantile(apart, [0.5, 0.9, 0.99], method="higher") if apart.size else np.full(3, 0.0)
        )
        return StageComparison(
            name,
            int(apart.size),
            float(apart.max(initial=0.0)),
            tuple(float(each) for each in quantiles),  # type: ignore[arg-type]  # there are three
            self._beyond.get(name, 0),
            float(rows.mean()) if rows.size else 0.0,
            _histogram(apart),
            self._notes.get(name, ""),
            self._worst[name][1] if name in self._worst else None,
            self._by_output(name),
            self._rounding.get(name, 0.0),
        )

    def _by_output(self, name: str) -> tuple[tuple[str, float], ...]:
        outputs = [
            (path if not columns.ndim else _named(path, place, len(columns)), float(apart))
            for path, columns in self._columns.get(name, {}).items()
            for place, apart in enumerate(np.atleast_1d(columns)[:_MOST_COLUMNS])
        ]
        return tuple(sorted(outputs, key=lambda each: -each[1])[:MOST_OUTPUTS])


def _leaves(stage: Nest) -> list[tuple[str, Any]]:
    return [(".".join(map(str, path)), leaf) for path, leaf in nest.flatten_with_path(stage)]


def _named(path: str, column: int, columns: int) -> str:
    """The name of a number of a row: its part, its place, or both."""
    return ".".join(filter(None, (path, str(column) if columns > 1 or not path else "")))


def _histogram(apart: Any) -> tuple[int, ...]:
    different = apart[apart > 0]
    ends = [0.0, *(10.0**power for power in DECADES), np.inf]
    places = np.clip(np.searchsorted(ends, different, side="left"), 1, len(ends) - 1)
    counts = np.bincount(places, minlength=len(ends))[1:]
    return (int(apart.size - different.size), *(int(each) for each in counts))
