"""Steps of many episodes in columns: one row a step, and in each row which one follows.

Rows of one episode may lie anywhere, as episodes of several environments come bit by bit. Each
observation is there once: an episode of T steps has T + 1 rows, the last of which holds nothing but
the observation where it stands. When it goes on, that row becomes its next step.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core import nest
from ...core.errors import EpisodeError, SpaceError
from ...core.types import Array, Nest
from ..episodes.column_items import fits_dtype, widened, written

ROW_NUMBER = np.int32


class StepRows:
    """Columns of so many rows, allocated when their first values come.

    Args:
        size: How many rows there is room for; more are made where that is too few.

    Attributes:
        columns: Arrays, or nests of them, with a row for each step.
        after: The row that follows each one; -1 for the last of an episode, and for free ones.
        used: From this row on, all are free.

    Example:
        >>> rows = StepRows(4)
        >>> at = rows.take(2)
        >>> rows.write("obs", at, np.array([1.5, 2.5], np.float32))
        >>> rows.read("obs", at[::-1]), rows.bytes_per_row
        (array([2.5, 1.5], dtype=float32), 8)
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.columns: dict[str, Nest] = {}
        self.after = np.full(size, -1, ROW_NUMBER)
        self.used = 0
        self._freed = array("i")

    @property
    def bytes_per_row(self) -> int:
        """What one row takes in memory."""
        leaves = [self.after, *nest.flatten(dict(self.columns))]
        return sum(leaf.nbytes // max(len(leaf), 1) for leaf in leaves)

    def take(self, count: int) -> Array:
        """Return free rows."""
        again = min(count, len(self._freed))
        rows = np.empty(count, np.int64)
        if again:
            rows[:again] = self._freed[-again:]
            del self._freed[-again:]
        fresh = count - again
        if fresh:
            if self.used + fresh > self.size:
                self._grow(self.used + fresh)
            rows[again:] = np.arange(self.used, self.used + fresh)
            self.used += fresh
        return rows

    def free(self, rows: Array) -> None:
        """Take rows back."""
        self.after[rows] = -1
        self._freed.frombytes(np.asarray(rows, np.intc).tobytes())

    def get_state(self) -> dict[str, Any]:
        """Give which rows are free, as data."""
        return {"used": self.used, "freed": np.array(self._freed, np.intc)}

    def set_state(self, state: Mapping[str, Any], rows: Array) -> None:
        """Take back which rows are free.

        Args:
            state: What `get_state` gave.
            rows: The others, to be written.

        Raises:
            ValueError: A row is both, neither, or there twice.
        """
        freed = np.asarray(state["freed"], np.intc)
        used = len(rows) + len(freed)
        every = np.sort(np.concatenate([rows, freed]))
        if state["used"] != used or not np.array_equal(every, np.arange(used)):
            raise ValueError("rows that are free and rows that are not do not add up")
        if used > self.size:
            self._grow(used)
        self.after[:] = -1
        self.used = used
        self._freed = array("i", freed.tolist())

    def expect(self, columns: Mapping[str, Nest]) -> None:
        """Check values before any of them is written.

        Raises:
            EpisodeError: Some are of another shape or structure than what is there.
        """
        for name, values in columns.items():
            column = self.columns.get(name)
            if column is None or _is_alike(column, values):
                continue
            try:
                fits_dtype(column, values)
                nest.map_structure(_same_shape, column, values)
            except (EpisodeError, SpaceError) as error:
                raise EpisodeError(
                    f"{name!r} of an episode does not fit what the replay buffer holds",
                    found=str(error),
                    hint="one buffer holds the episodes of one kind of environment.",
                ) from None

    def write(self, name: str, rows: Array, values: Nest) -> None:
        """Write values into rows of a column, which is made where there is none of that name."""
        column = self.columns.get(name)
        if column is not None and _is_alike(column, values):
            column[rows] = values
            return
        if column is None:
            column = nest.map_structure(self._empty, values)
        elif not fits_dtype(column, values):
            column = widened(column, values)
        self.columns[name] = column
        written(column, rows, values)

    def read(self, name: str, rows: Array) -> Nest:
        """Return the values in rows of a column, as copies."""
        return nest.taken(self.columns[name], rows)

    def chain(self, rows: Array, length: int) -> Array:
        """Return for each row `(B,)` itself and those behind it `(B, length)`.

        What is told behind the end of an episode is no row of it.
        """
        chains = np.empty((len(rows), length), np.int64)
        chains[:, 0] = rows
        for step in range(1, length):
            chains[:, step] = self.after[chains[:, step - 1]]
        return chains

    def _empty(self, leaf: Any) -> Array:
        values = np.asarray(leaf)
        try:
            return np.zeros((self.size, *values.shape[1:]), values.dtype)
        except MemoryError:
            needed = self.size * values[:1].nbytes
            raise EpisodeError(
                f"a replay buffer of {self.size} steps needs {needed / 2**30:.1f} GiB for a column",
                hint="take a smaller capacity: replay_buffer_config={'capacity': ...}.",
            ) from None

    def _grow(self, needed: int) -> None:
        more = max(needed, self.size + self.size // 4) - self.size

        def grown(leaf: Array, fill: int = 0) -> Array:
            return np.concatenate([leaf, np.full((more, *leaf.shape[1:]), fill, leaf.dtype)])

        for name, column in self.columns.items():
            self.columns[name] = nest.map_structure(grown, column)
        self.after = grown(self.after, -1)
        self.size += more


def _is_alike(column: Any, values: Any) -> bool:
    """Whether both are arrays whose rows are of one kind, as nearly all are."""
    return (
        type(column) is type(values) is np.ndarray
        and column.dtype == values.dtype
        and column.shape[1:] == values.shape[1:]
    )


def _same_shape(column: Array, values: Any) -> None:
    if column.shape[1:] != np.shape(values)[1:]:
        raise EpisodeError(f"shape {np.shape(values)[1:]}, not {column.shape[1:]}")
