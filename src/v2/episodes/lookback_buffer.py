"""The items of one column of an episode, with those before the episode as look-back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import gymnasium as gym
import numpy as np
from typing_extensions import Self, override

from ...core import nest
from ...core.arrays.compare import differences
from ...core.data.checked import count, flag
from ...core.data.damage import at
from ...core.errors import EpisodeError
from ...core.spaces.fit import explain_mismatch
from ...core.spaces.walk import struct_of
from ...core.types import Nest
from . import column_items as items
from .errors import EpisodeIndexError, EpisodeStateError
from .indexing import Indices, as_step, clipped, is_single, out_of_range, position_of, positions_of
from .reading import items_at
from .space_state import space_from_state, space_to_state

_SPARE_ROWS: Final = 16
_LARGE: Final = 1024


class InfiniteLookbackBuffer:
    """Items by time step, of which the first `lookback` lie before step 0.

    Items are a plain list at first, exactly as they were added; `finalize()` makes them one array
    with a row per item (or a nest of arrays). Both forms answer alike, in lists or in arrays.

    Args:
        data: Items as a list, or already one column of arrays.
        lookback: How many of them lie before step 0; at most all.
        space: The space of one item; values that fill gaps and one-hot forms come from it.

    Attributes:
        finalized: Whether items are arrays.
        raw: All items, look-back included: the list itself, or exact-length views of `store`. For
            those who only read, and who append to a list; others take `data`.
        store: Arrays with spare rows at their end, if there are any.
        is_shared: Whether a slice has these rows too. They are copied before one is changed;
            adding rows changes none.

    Example:
        >>> buffer = InfiniteLookbackBuffer([10, 11, 12, 13], lookback=2)
        >>> buffer.get(), buffer.get(-3), buffer.get(-1, neg_index_as_lookback=True)
        ([12, 13], 11, 11)
        >>> buffer.get(slice(0, 4), fill=0)
        [12, 13, 0, 0]
    """

    __slots__ = ("finalized", "is_shared", "lookback", "raw", "space", "store")

    def __init__(
        self, data: Any = None, lookback: int = 0, space: gym.Space[Any] | None = None
    ) -> None:
        self.raw: Any = [] if data is None else data
        self.store: Nest | None = None
        self.is_shared = False
        self.finalized = not isinstance(self.raw, list)
        self.lookback = max(0, min(lookback, self.len_incl_lookback()))
        self.space = space

    @classmethod
    def of_parts(
        cls,
        data: Any,
        lookback: int,
        space: gym.Space[Any] | None,
        finalized: bool,
        is_shared: bool,
    ) -> Self:
        """A buffer of checked parts, made without looking at them."""
        buffer = cls.__new__(cls)
        buffer.raw = data
        buffer.store = None
        buffer.is_shared = is_shared
        buffer.finalized = finalized
        buffer.lookback = lookback
        buffer.space = space
        return buffer

    def last_items(self, count: int, lookback: int, as_list: bool = False) -> Self:
        """The last items as a buffer that shares no rows; on request a list."""
        total = self.len_incl_lookback()
        rows = self.rows(max(0, total - count), total)
        is_array = self.finalized
        if is_array:
            rows = items.copied(rows)
            if as_list:
                rows, is_array = items.listed(rows), False
        return self.of_parts(rows, lookback, self.space, is_array, False)

    def part(self, first: int, end: int, lookback: int) -> Self:
        """Some items as a buffer; arrays are shared until one of the two changes a row."""
        is_array = self.finalized
        if is_array:
            self.is_shared = True
        return self.of_parts(self.rows(first, end), lookback, self.space, is_array, is_array)

    @property
    def data(self) -> Any:
        """All items, look-back included: the live list, or the live arrays. Both may be edited."""
        if self.is_shared:
            self.data = items.copied(self.raw)
        return self.raw

    @data.setter
    def data(self, value: Any) -> None:
        self.raw = value
        self.store = None
        self.is_shared = False
        self.finalized = not isinstance(value, list)

    @property
    def space_struct(self) -> Any:
        """The leaf spaces in plain dicts and tuples, built like an item."""
        return None if self.space is None else struct_of(self.space)

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
            self.raw.extend(items.listed(items_))
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

    def concat(self, other: InfiniteLookbackBuffer) -> None:
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
        self.data = nest.taken(self.raw, np.delete(np.arange(count), index))

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
        self._widen(values)
        if self.store is None or items.length_of(self.store) < count + added:
            rows = max(count + added + _SPARE_ROWS, 2 * count)
            self.store = items.with_room(self.raw, count, rows)
            self.is_shared = False

    def _widen(self, values: Any) -> None:
        """Let the arrays hold the numbers that `values` are."""
        if not items.fits_dtype(self.raw, values):
            self.raw = items.widened(self.raw, values)
            self.store = None

    # Reading

    def get(
        self,
        indices: Indices = None,
        *,
        neg_index_as_lookback: bool = False,
        fill: Any = None,
        one_hot_discrete: bool = False,
    ) -> Any:
        """Items at some steps.

        Args:
            indices: One step, a list of steps, a slice, or None for all after the look-back.
            neg_index_as_lookback: Whether -1 is the last look-back item instead of the last item.
            fill: Stands for steps that do not exist, in the form of the space; without it one step
                that does not exist is an error and a slice ends where the data ends.
            one_hot_discrete: Whether Discrete and MultiDiscrete parts come as one-hot vectors.

        Returns:
            One item; else a list of items, or arrays with a row per item once finalized.

        Raises:
            EpisodeIndexError: A single step does not exist and there is no `fill`.
            EpisodeError: One-hot vectors need a space.
        """
        return self.read(indices, neg_index_as_lookback, fill, one_hot_discrete)

    def read(self, indices: Any, neg: bool, fill: Any, one_hot_discrete: bool) -> Any:
        """`get` with arguments by position, which takes half as long."""
        if not one_hot_discrete:
            # What is asked most, on plain lists and flat arrays: one step, or a slice within.
            data = self.raw
            kind = type(indices)
            if type(data) is list or type(data) is np.ndarray:
                lookback, total = self.lookback, len(data)
                if kind is int:
                    place = lookback + indices if indices >= 0 or neg else total + indices
                    if 0 <= place < total:
                        return data[place]
                elif indices is None:
                    return data[lookback:]
                elif kind is slice and indices.step is None:
                    start, stop = indices.start, indices.stop
                    if type(start) is int:
                        start += lookback if start >= 0 or neg else total
                    elif start is None:
                        start = lookback
                    if type(stop) is int:
                        stop += lookback if stop >= 0 or neg else total
                    elif stop is None:
                        stop = total
                    if 0 <= start <= stop <= total:
                        return data[start:stop]
        return items_at(self, indices, neg, fill, one_hot_discrete)

    def rows(self, start: int, stop: int | None) -> Any:
        """The items from one position to another, look-back included; arrays are not copied."""
        data = self.raw
        if type(data) is list or type(data) is np.ndarray:
            return data[start:stop]
        return nest.taken(data, slice(start, stop))

    def item_at(self, place: int) -> Any:
        """The item at a position, look-back included."""
        return self.raw[place] if type(self.raw) is list else nest.taken(self.raw, place)

    # Writing

    def set(
        self, new_data: Any, *, at_indices: Indices = None, neg_index_as_lookback: bool = False
    ) -> None:
        """Overwrite items.

        Args:
            new_data: One item for one step; else a list of items or one column of arrays.
            at_indices: As for `get`.
            neg_index_as_lookback: As for `get`.

        Raises:
            EpisodeIndexError: A step does not exist, or there are not as many items as steps.
            EpisodeError: A new value does not fit the space or the arrays.
        """
        total = self.len_incl_lookback()
        length = total - self.lookback
        if at_indices is None or isinstance(at_indices, slice):
            steps = slice(0, length) if at_indices is None else at_indices
            start, stop, stride = positions_of(steps, length, self.lookback, neg_index_as_lookback)
            self._set_many(new_data, clipped(start, stop, stride, total), at_indices)
            return
        if is_single(at_indices):
            values, steps_to_set = [new_data], [int(at_indices)]  # type: ignore[arg-type]
        else:
            values = items.listed(new_data)
            steps_to_set = [as_step(step) for step in at_indices]  # type: ignore[union-attr]  # ints are done
            _expect_size(len(values), len(steps_to_set), at_indices)
        for step, value in zip(steps_to_set, values, strict=True):
            self._set_one(value, step, neg_index_as_lookback)

    def _set_one(self, value: Any, step: int, neg: bool) -> None:
        total = self.len_incl_lookback()
        length = total - self.lookback
        place = position_of(step, length, self.lookback, neg)
        if not 0 <= place < total:
            raise out_of_range("no value can be set: step", step, length, self.lookback)
        if not self.finalized:
            self.raw[place] = value
            return
        reason = self.space is not None and explain_mismatch(self.space, value)
        if reason:
            raise EpisodeError(f"the new value at step {step} does not fit its space", found=reason)
        self._write(place, value)

    def _set_many(self, values: Any, places: range, at_indices: Indices) -> None:
        if not self.finalized:
            new = items.listed(values)
            _expect_size(len(new), len(places), at_indices)
            for place, value in zip(places, new, strict=True):
                self.raw[place] = value
            return
        rows = items.stacked(values) if isinstance(values, list) and values else values
        _expect_size(items.length_of(rows), len(places), at_indices)
        if places:
            at = np.arange(places.start, places.stop, places.step)
            self._write(slice(at[0], at[-1] + 1) if places.step == 1 else at, rows)

    def _write(self, at: Any, values: Any) -> None:
        if self.is_shared:
            self.data = items.copied(self.raw)
        self._widen(values)
        items.written(self.raw, at, values)

    # As a sequence

    def __len__(self) -> int:
        return max(0, self.len_incl_lookback() - self.lookback)

    def len_incl_lookback(self) -> int:
        """How many items there are in all."""
        data = self.raw
        return len(data) if type(data) is list else items.length_of(data)

    def __getitem__(self, item: Any) -> Any:
        return self.get(item)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.set(value, at_indices=key)

    def __iter__(self) -> Iterator[Any]:
        return iter(items.listed(self.rows(self.lookback, None)))

    def __add__(self, other: Any) -> InfiniteLookbackBuffer:
        if self.finalized:
            raise EpisodeStateError(
                "a finalized buffer cannot be added to",
                hint="use append(), extend() or concat(), which work on arrays too.",
            )
        if isinstance(other, (int, float, complex)):
            data = [item + other for item in self.raw]
        elif isinstance(other, (InfiniteLookbackBuffer, list)):
            data = [*self.raw, *other]
        else:
            raise TypeError(f"a buffer and a {type(other).__name__} cannot be added")
        return InfiniteLookbackBuffer(data, self.lookback, self.space)

    @override
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, InfiniteLookbackBuffer):
            return NotImplemented
        return (
            self.lookback == other.lookback
            and self.finalized == other.finalized
            and bool(self.space == other.space)
            and not differences(self.raw, other.raw)
        )

    __hash__ = None  # type: ignore[assignment]  # buffers change

    @override
    def __repr__(self) -> str:
        lookback = self.lookback
        before, after = self.rows(0, lookback), self.rows(lookback, None)
        return f"{type(self).__name__}({before} <- lookback({lookback}) | {after})"

    # State

    def get_state(self) -> dict[str, Any]:
        """All of it as plain data and arrays; nothing is copied but a list."""
        data = self.raw
        # Who holds the state sees these very arrays, so they are copied before they change.
        self.is_shared = self.finalized
        return {
            "data": data.copy() if type(data) is list else data,
            "lookback": self.lookback,
            "finalized": self.finalized,
            "space": space_to_state(self.space),
        }

    @staticmethod
    @at()
    def from_state(state: Mapping[str, Any]) -> InfiniteLookbackBuffer:
        """The buffer that `get_state` described."""
        data, is_final = state["data"], flag(state["finalized"])
        with at("lookback"):
            lookback = count(state["lookback"])
        if not is_final and not isinstance(data, (list, tuple)):
            raise ValueError(f"a list of items was expected, not a {type(data).__name__}")
        space = space_from_state(state["space"])
        if not isinstance(space, gym.Space) and space is not None:
            raise ValueError(f"a space was expected, not a {type(space).__name__}")
        return InfiniteLookbackBuffer.of_parts(
            data if is_final else list(data), lookback, space, is_final, is_final
        )

    def __getstate__(self) -> tuple[Any, ...]:
        return self.raw, self.lookback, self.finalized, self.space

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.raw, self.lookback, self.finalized, self.space = state
        self.store, self.is_shared = None, False


def _expect_size(found: int, expected: int, at_indices: Indices) -> None:
    if found != expected:
        raise EpisodeIndexError(
            f"new data has not the size of at_indices={at_indices}",
            expected=f"{expected} items",
            found=str(found),
        )
