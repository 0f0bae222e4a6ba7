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

    The rest of this package reads and fills these attributes; others take `data`.

    Attributes:
        raw: All items, look-back included: the list itself, or exact-length views of `store`.
        store: Arrays with spare rows at their end, if there are any.
        is_shared: Whether a slice has these rows too. They are copied before one is changed;
            adding rows changes none.
        finalized: Whether items are arrays.
        lookback: How many of the items lie before step 0.
    """

    __slots__ = ("finalized", "is_shared", "lookback", "raw", "store")

    raw: Any
    is_shared: bool
    store: Nest | None
    finalized: bool
    lookback: int

    @property
    def data(self) -> Any:
        """All items, look-back included: the live list, or the live arrays. Both may be edited."""
        if self.is_shared:
            self._unshare()
        return self.raw

    @data.setter
    def data(self, value: Any) -> None:
        self.raw = value
        self.store = None
        self.is_shared = False
        self.finalized = not isinstance(value, list)

    # Growing

    def append(self, item: Any) -> None:
        """Add one item at the end."""
        if not self.finalized:
            self.raw.append(item)
            return
        count = items.length_of(self.raw)
        self._make_room(count, 1, item)
        items.written(self.store, count, item)
        self.raw = nest.taken(self.store, slice(0, count + 1))

    def extend(self, items_: Any) -> None:
        """Add many items: a list of them, or one column of arrays."""
        if not self.finalized:
            self.raw.extend(listed(items_))
            return
        rows = items.stacked(items_) if isinstance(items_, list) and items_ else items_
        added = items.length_of(rows)
        if not added:
            return
        count = items.length_of(self.raw)
        self._make_room(count, added, rows)
        items.written(self.store, slice(count, count + added), rows)
        self.raw = nest.taken(self.store, slice(0, count + added))

    def repeat_last(self) -> None:
        """Add the last item once more; where there is room, nothing but its row is copied."""
        data, store = self.raw, self.store
        if type(data) is list:
            data.append(data[-1])
            return
        count = items.length_of(data)
        rows = 0 if store is None else items.length_of(store)
        if rows <= count:
            self.store = store = items.with_room(data, count, rows := count + 1)
            self.is_shared = False
        items.repeat_row(store, count - 1)
        self.raw = store if rows == count + 1 else nest.taken(store, slice(0, count + 1))

    def concat(self, other: ItemStore) -> None:
        """Add the items of another buffer, without its look-back."""
        self.extend(other.rows(other.lookback, None))

    def pop(self, index: int = -1) -> None:
        """Remove one item; `index` counts the look-back too, as in a list of all items."""
        if not self.finalized:
            self.raw.pop(index)
            return
        count = items.length_of(self.raw)
        if not -count <= index < count:
            raise out_of_range("an item to remove at", index, len(self), self.lookback)
        if index in (-1, count - 1):
            self.raw = nest.taken(self.raw, slice(0, count - 1))
            if self.is_shared:
                self.store = None
            return
        kept = np.delete(np.arange(count), index)
        self.data = nest.taken(self.raw, kept)

    def finalize(self) -> None:
        """Turn the list of items into arrays; an empty list stays one.

        Large items and nests get room for one row more, as the learner's pipeline adds a step to
        each episode; small ones are copied as fast as that.

        Raises:
            EpisodeError: The items differ in shape or structure.
        """
        if self.finalized or not self.raw:
            return
        last = self.raw[-1]
        if isinstance(last, dict) or (type(last) is np.ndarray and last.nbytes > _LARGE):
            count = len(self.raw)
            self.store = items.stacked([*self.raw, last])
            self.raw = nest.taken(self.store, slice(0, count))
        else:
            self.raw = items.stacked(self.raw)
        self.finalized = True

    def _make_room(self, count: int, added: int, values: Any) -> None:
        """Have `store` hold `added` more rows that can take `values`."""
        if not items.fits_dtype(self.raw, values):
            self.raw = items.widened(self.raw, values)
            self.store = None
        if self.store is None or items.length_of(self.store) < count + added:
            self.store = items.with_room(
                self.raw, count, max(count + added + _SPARE_ROWS, 2 * count)
            )
            self.is_shared = False

    def _unshare(self) -> None:
        if self.finalized:
            self.raw = items.copied(self.raw)
        self.store = None
        self.is_shared = False

    def rows(self, start: int, stop: int | None) -> Any:
        """The items from one position to another, look-back included; arrays are not copied."""
        data = self.raw
        if type(data) is list or type(data) is np.ndarray:
            return data[start:stop]
        return nest.taken(data, slice(start, stop))

    def _write(self, at: Any, values: Any) -> None:
        if self.is_shared:
            self._unshare()
        if not items.fits_dtype(self.raw, values):
            self.raw = items.widened(self.raw, values)
            self.store = None
        items.written(self.raw, at, values)

    def item_at(self, place: int) -> Any:
        """The item at a position, look-back included."""
        return self.raw[place] if type(self.raw) is list else nest.taken(self.raw, place)

    def __len__(self) -> int:
        data = self.raw
        count = len(data) if type(data) is list else items.length_of(data)
        return max(0, count - self.lookback)

    def len_incl_lookback(self) -> int:
        """How many items there are in all."""
        data = self.raw
        return len(data) if type(data) is list else items.length_of(data)


def listed(values: Any) -> list[Any]:
    """Values as a list of items: a list as it is, a column row by row."""
    if isinstance(values, (list, np.ndarray)):
        return list(values)
    if isinstance(values, ItemStore):
        return list(values.rows(values.lookback, None))
    leaves = nest.flatten(values)
    if leaves and all(isinstance(leaf, np.ndarray) and leaf.ndim for leaf in leaves):
        return [nest.taken(values, row) for row in range(len(leaves[0]))]
    return list(values) if isinstance(values, Iterable) else [values]
