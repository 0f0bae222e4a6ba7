"""The last values of some columns for many slots at once, in shared arrays.

A slot is one agent of one environment. All slots of a column live in one array
`(slots, depth, *value)` that is written in rings, so stepping n slots is one assignment and looking
back is one gather, whatever n is.
"""

from __future__ import annotations

from itertools import count
from typing import Any, Final

import numpy as np

from ...core import nest
from ...core.types import Array, Nest

_UNROLLS = count()


class Slot:
    """One agent of one environment, for the duration of its episode.

    Attributes:
        index: Its position in the history store.
        t: The number of its step, -1 for the first observation.
        unroll_id: A unique number.
        steps: Number of steps after the first observation.
        newest: The columns of its last step, if it was processed alone.
    """

    __slots__ = ("index", "newest", "steps", "t", "unroll_id")

    def __init__(self, index: int) -> None:
        self.index = index
        self.t = -1
        self.steps = 0
        self.newest: dict[str, Any] | None = None
        self.unroll_id = next(_UNROLLS)


class HistoryStore:
    """Rings of the last `depth` values.

    Example:
        >>> store = HistoryStore(depth=2)
        >>> slots = store.open(1)
        >>> store.fill("obs", slots, np.array([7.0]))
        >>> store.push("obs", slots, np.array([8.0]))
        >>> store.look("obs", slots, np.array([-1, 0]))
        array([[7., 8.]])
    """

    def __init__(self, depth: int) -> None:
        self.depth: Final = depth
        self._columns: dict[str, list[Array]] = {}
        self._forms: dict[str, Nest] = {}
        self._heads: dict[str, Array] = {}
        self._free: list[int] = []
        self._capacity = 0

    def open(self, count: int) -> Array:
        """Return `count` unused slots."""
        while len(self._free) < count:
            grown = max(2 * self._capacity, 8)
            self._free.extend(range(grown - 1, self._capacity - 1, -1))
            self._capacity = grown
        return np.array([self._free.pop() for _ in range(count)], np.intp)

    def close(self, slots: list[int]) -> None:
        """Release slots."""
        self._free.extend(slots)

    def fill(self, column: str, slots: Array, values: Nest) -> None:
        """Fill the whole history of `slots` with these values, `(len(slots), ...)` per leaf."""
        leaves = self._leaves(column, values)
        for ring, leaf in zip(leaves, nest.flatten(values), strict=True):
            ring[slots] = leaf[:, None]
        self._heads[column][slots] = 0

    def push(self, column: str, slots: Array, values: Nest) -> None:
        """Add one value to the history of each slot; the oldest one goes."""
        leaves = self._leaves(column, values)
        heads = self._heads[column]
        head = (heads[slots] + 1) % self.depth
        heads[slots] = head
        for ring, leaf in zip(leaves, nest.flatten(values), strict=True):
            ring[slots, head] = leaf

    def look(self, column: str, slots: Array, offsets: Array) -> Nest:
        """Values at `offsets` from the newest one (0), `(len(slots), len(offsets), ...)` a leaf."""
        places = (self._heads[column][slots][:, None] + offsets) % self.depth
        rows = slots[:, None]
        leaves = [ring[rows, places] for ring in self._columns[column]]
        return nest.unflatten_as(self._forms[column], leaves)

    def state_of(self, slots: Array) -> dict[str, Any]:
        """The histories of `slots`, oldest value first."""
        offsets = np.arange(1 - self.depth, 1)
        return {column: self.look(column, slots, offsets) for column in self._columns}

    def _leaves(self, column: str, values: Nest) -> list[Array]:
        """The rings of a column, large enough and wide enough for `values`."""
        news = nest.flatten(values)
        if column not in self._columns:
            self._forms[column] = values
            self._columns[column] = [
                np.zeros((self._capacity, self.depth, *new.shape[1:]), new.dtype) for new in news
            ]
            self._heads[column] = np.zeros(self._capacity, np.intp)
        rings = self._columns[column]
        for position, (ring, new) in enumerate(zip(rings, news, strict=True)):
            dtype = np.promote_types(ring.dtype, new.dtype)
            if len(ring) < self._capacity or dtype != ring.dtype:
                wider = np.zeros((self._capacity, *ring.shape[1:]), dtype)
                wider[: len(ring)] = ring
                rings[position] = wider
        heads = self._heads[column]
        if len(heads) < self._capacity:
            self._heads[column] = np.concatenate(
                [heads, np.zeros(self._capacity - len(heads), np.intp)]
            )
        return rings
