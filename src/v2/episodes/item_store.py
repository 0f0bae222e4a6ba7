"""Where the items of a buffer live: a list, then arrays with room to grow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from ...core import nest
from ...core.types import Nest
from . import column_items as items
from .indexing import out_of_range

_SPARE_ROWS: Final = 16
_LARGE: Final = 1024


class ItemStore:
    """Items in order, of which the first `lookback` lie before step 0.

    In list form `_data` is the list itself. In array form it holds exact-length views of `_store`,
    which has spare rows at its end. A store with `_is_shared` shares rows with a slice of it and
    copies them before it changes one; adding rows changes none.
    """

    __slots__ = ("_data", "_is_shared", "_store", "finalized", "lookback")

    _data: Any
    _is_shared: bool
    _store: Nest | None
    finalized: bool
    lookback: int

    @property
    def data(self) -> Any:
        """All items, look-back included: the live list, or the live arrays. Both may be edited."""
        if self._is_shared:
            self._unshare()
        return self._data

    @data.setter
    def data(self, value: Any) -> None:
        self._data = value
        self._store = None
        self._is_shared = False
        self.finalized = not isinstance(value, list)

    # Growing

    def append(self, item: Any) -> None:
        """Add one item at the end."""
        if not self.finalized:
            self._data.append(item)
            return
        count = items.length_of(self._data)
        self._make_room(count, 1, item)
        items.written(self._store, count, item)
        self._data = nest.taken(self._store, slice(0, count + 1))

    def extend(self, items_: Any) -> None:
        """Add many items: a list of them, or one column of arrays."""
        if not self.finalized:
            self._data.extend(listed(items_))
            return
        rows = items.stacked(items_) if isinstance(items_, list) and items_ else items_
        added = items.length_of(rows)
        if not added:
            return
        count = items.length_of(self._data)
        self._make_room(count, added, rows)
        items.written(self._store, slice(count, count + added), rows)
        self._data = nest.taken(self._store, slice(0, count + added))

    def repeat_last(self) -> None:
        """Add the last item once more; where there is room, nothing but its row is copied."""
        data, store = self._data, self._store
        if type(data) is list:
            data.append(data[-1])
            return
        count = items.length_of(data)
        rows = 0 if store is None else items.length_of(store)
        if rows <= count:
            self._store = store = items.with_room(data, count, rows := count + 1)
            self._is_shared = False
        items.repeat_row(store, count - 1)
        self._data = store if rows == count + 1 else nest.taken(store, slice(0, count + 1))

    def concat(self, other: ItemStore) -> None:
        """Add the items of another buffer, without its look-back."""
        self.extend(other._rows(other.lookback, None))

    def pop(self, index: int = -1) -> None:
        """Remove one item; `index` counts the look-back too, as in a list of all items."""
        if not self.finalized:
            self._data.pop(index)
            return
        count = items.length_of(self._data)
        if not -count <= index < count:
            raise out_of_range("an item to remove at", index, len(self), self.lookback)
        if index in (-1, count - 1):
            self._data = nest.taken(self._data, slice(0, count - 1))
            if self._is_shared:
                self._store = None
            return
        kept = np.delete(np.arange(count), index)
        self.data = nest.taken(self._data, kept)

    def finalize(self) -> None:
        """Turn the list of items into arrays; an empty list stays one.

        Large items and nests get room for one row more, as the learner's pipeline adds a step to
        each episode; small ones are copied as fast as that.

        Raises:
            EpisodeError: The items differ in shape or structure.
        """
        if self.finalized or not self._data:
            return
        last = self._data[-1]
        if isinstance(last, dict) or (type(last) is np.ndarray and last.nbytes > _LARGE):
            count = len(self._data)
            self._store = items.stacked([*self._data, last])
            self._data = nest.taken(self._store, slice(0, count))
        else:
            self._data = items.stacked(self._data)
        self.finalized = True

    def _make_room(self, count: int, added: int, values: Any) -> None:
        """Have `_store` hold `added` more rows that can take `values`."""
        if not items.fits_dtype(self._data, values):
            self._data = items.widened(self._data, values)
            self._store = None
        if self._store is None or items.length_of(self._store) < count + added:
            self._store = items.with_room(
                self._data, count, max(count + added + _SPARE_ROWS, 2 * count)
            )
            self._is_shared = False

    def _unshare(self) -> None:
        if self.finalized:
            self._data = items.copied(self._data)
        self._store = None
        self._is_shared = False

    def _rows(self, start: int, stop: int | None) -> Any:
        data = self._data
        if type(data) is list or type(data) is np.ndarray:
            return data[start:stop]
        return nest.taken(data, slice(start, stop))

    def _write(self, at: Any, values: Any) -> None:
        if self._is_shared:
            self._unshare()
        if not items.fits_dtype(self._data, values):
            self._data = items.widened(self._data, values)
            self._store = None
        items.written(self._data, at, values)

    def __len__(self) -> int:
        data = self._data
        count = len(data) if type(data) is list else items.length_of(data)
        return max(0, count - self.lookback)

    def len_incl_lookback(self) -> int:
        """How many items there are in all."""
        data = self._data
        return len(data) if type(data) is list else items.length_of(data)


def listed(values: Any) -> list[Any]:
    """Values as a list of items: a list as it is, a column row by row."""
    if isinstance(values, (list, np.ndarray)):
        return list(values)
    if isinstance(values, ItemStore):
        return list(values._rows(values.lookback, None))
    leaves = nest.flatten(values)
    if leaves and all(isinstance(leaf, np.ndarray) and leaf.ndim for leaf in leaves):
        return [nest.taken(values, row) for row in range(len(leaves[0]))]
    return list(values) if isinstance(values, Iterable) else [values]
