"""How far two rows of numbers lie apart, stage by stage."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from . import nest, xp
from .types import Array, Nest

STAGES: Final = ("observation", "outputs", "value", "state", "action", "weights")
"""The stages of acting in the order in which data passes them: what the network sees, the inputs
of its action distribution or the values of actions, its value, its state, and what the environment
gets; last, the weights themselves, of which outputs may not show every one."""

DECADES: Final = tuple(range(-9, 2))
"""Powers of ten that a histogram of differences counts by; its first bar holds what is equal."""


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
        note: What kept numbers from being compared, if anything did.
    """

    name: str
    count: int
    largest: float
    quantiles: tuple[float, float, float]
    beyond: int
    agreement: float
    histogram: tuple[int, ...]
    note: str = ""

    @property
    def is_equal(self) -> bool:
        """Whether nothing differs by more than the tolerance."""
        return self.beyond == 0 and not self.note


@dataclass
class Differences:
    """The differences of many steps, collected by stage.

    Args:
        absolute: The tolerance for numbers near 0.
        relative: The tolerance as a share of the number.
    """

    absolute: float
    relative: float
    _apart: dict[str, list[Array]] = field(default_factory=dict)
    _beyond: dict[str, int] = field(default_factory=dict)
    _rows: dict[str, list[Array]] = field(default_factory=dict)
    _notes: dict[str, str] = field(default_factory=dict)

    def add(self, ours: dict[str, Nest], theirs: dict[str, Nest]) -> None:
        """Take in what two policies gave for the same observations."""
        for name in STAGES:
            if name in ours and name in theirs:
                self._add_stage(name, ours[name], theirs[name])

    def _add_stage(self, name: str, ours: Nest, theirs: Nest) -> None:
        mine, yours = (
            [np.atleast_1d(xp.to_numpy(leaf)) for leaf in nest.flatten(each)]
            for each in (ours, theirs)
        )
        shapes = [[leaf.shape for leaf in leaves] for leaves in (mine, yours)]
        if shapes[0] != shapes[1]:
            self._notes.setdefault(name, f"shapes {shapes[0]} beside {shapes[1]}")
            return
        rows = np.ones(len(mine[0]), bool)
        for one, other in zip(mine, yours, strict=True):
            left, right = one.astype(np.float64), other.astype(np.float64)
            same = (left == right) | (np.isnan(left) & np.isnan(right))
            with np.errstate(invalid="ignore"):
                apart = np.where(same, 0.0, np.abs(left - right))
            apart = np.where(np.isnan(apart), np.inf, apart)
            is_counted = one.dtype.kind in "biu" and other.dtype.kind in "biu"
            limit = 0.0 if is_counted else self.absolute + self.relative * np.abs(right)
            is_beyond = ~same & (apart > limit)
            self._apart.setdefault(name, []).append(apart.reshape(-1))
            self._beyond[name] = self._beyond.get(name, 0) + int(is_beyond.sum())
            rows &= ~is_beyond.reshape(len(is_beyond), -1).any(1)
        self._rows.setdefault(name, []).append(rows)

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
        )


def _histogram(apart: Any) -> tuple[int, ...]:
    different = apart[apart > 0]
    ends = [0.0, *(10.0**power for power in DECADES), np.inf]
    places = np.clip(np.searchsorted(ends, different, side="left"), 1, len(ends) - 1)
    counts = np.bincount(places, minlength=len(ends))[1:]
    return (int(apart.size - different.size), *(int(each) for each in counts))
