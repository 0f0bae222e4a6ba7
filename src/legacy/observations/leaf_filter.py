"""Mean and deviation of one array of an observation, learned and applied."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...core.arrays.moments import Moments
from ...core.formulas.filters import centred, denominator_of
from ...core.formulas.running_stat import RunningStat
from ...core.types import Array

_ROWS: Final = 256
_BLOCK_BYTES: Final = 1 << 20
"""A block of waiting rows has at most so many rows, and takes at most so much memory."""


class LeafFilter:
    """Mean and deviation of one array of an observation.

    What was learned since the last reset is counted apart (`buffer`), so that several workers can
    be merged; rows wait in a block until somebody asks for it.

    Args:
        shape: Of the array.

    Example:
        >>> leaf = LeafFilter((1,))
        >>> leaf.learn(np.array([2.0]))
        >>> leaf.stat.n, leaf.buffer.n
        (1, 1)
    """

    __slots__ = (
        "_buffer",
        "_encoded",
        "_rows",
        "_seen",
        "_waiting",
        "shape",
        "stat",
    )

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.stat = RunningStat(shape)
        self._buffer = RunningStat(shape)
        self._rows: Array | None = None
        self._waiting = 0
        self._seen: tuple[Moments | None, Any] = None, None
        self._encoded: dict[str, tuple[Any, dict[str, Any]]] = {}

    @property
    def buffer(self) -> RunningStat:
        """What was learned since the last reset."""
        if self._waiting and self._rows is not None:
            self._buffer.push_batch(self._rows[: self._waiting])
            self._waiting = 0
        return self._buffer

    @buffer.setter
    def buffer(self, stat: RunningStat) -> None:
        self._buffer, self._waiting = stat, 0

    def encoded(self, name: str) -> dict[str, Any]:
        """The state of `stat` or `buffer` as RLlib writes it, encoded again only if it changed."""
        stat: RunningStat = getattr(self, name)
        total, state = self._encoded.get(name, (None, {}))
        if total is not stat.total:
            state = stat.to_state()
            self._encoded[name] = stat.total, state
        return dict(state)

    def learn_rows(self, rows: Array) -> None:
        """Count every row `(n, *shape)`."""
        self.stat.push_batch(rows)
        self.buffer.push_batch(rows)

    def learn(self, x: Array) -> None:
        """Count one array."""
        self.stat.push(x)
        rows, waiting = self._rows, self._waiting
        if rows is None or rows.dtype != x.dtype:
            self.buffer  # noqa: B018  # counts the waiting rows
            count = min(_ROWS, max(1, _BLOCK_BYTES // max(x.nbytes, 1)))
            self._rows = rows = np.zeros((count, *x.shape), x.dtype)
            waiting = 0
        rows[waiting] = x
        self._waiting = waiting + 1
        if self._waiting == len(rows):
            self.buffer  # noqa: B018  # makes room

    def apply(self, x: Array, demean: bool, destd: bool, clip: float | None) -> Array:
        """`x` filtered by what is known."""
        total = self.stat.total
        seen, denominator = self._seen
        if destd and total is not seen:
            denominator = denominator_of(total)
            self._seen = total, denominator  # at once: threads read it meanwhile
        mean = total.mean if demean else None
        return np.asarray(centred(x, mean, denominator if destd else None, clip))
