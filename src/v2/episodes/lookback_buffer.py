"""The items of one column of an episode, with those before the episode as look-back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from typing_extensions import Self, override

from ...core.compare import differences
from ...core.errors import EpisodeError
from ...core.space_fit import explain_mismatch
from ...core.spaces import AnySpace, struct_of
from ...core.types import Nest
from . import column_items as items
from .errors import EpisodeIndexError, EpisodeStateError
from .indexing import Indices, as_step, clipped, is_single, out_of_range, position_of, positions_of
from .item_store import ItemStore, listed
from .space_state import space_from_state, space_to_state


class InfiniteLookbackBuffer(ItemStore):
    """Items by time step, of which the first `lookback` lie before step 0.

    Items are a plain list at first, exactly as they were added; `finalize()` makes them one array
    with a row per item (or a nest of arrays). Both forms answer alike, in lists or in arrays.

    Args:
        data: Items as a list, or already one column of arrays.
        lookback: How many of them lie before step 0; at most all.
        space: The space of one item; values that fill gaps and one-hot forms come from it.

    Example:
        >>> buffer = InfiniteLookbackBuffer([10, 11, 12, 13], lookback=2)
        >>> buffer.get(), buffer.get(-3), buffer.get(-1, neg_index_as_lookback=True)
        ([12, 13], 11, 11)
        >>> buffer.get(slice(0, 4), fill=0)
        [12, 13, 0, 0]
    """

    __slots__ = ("_space", "_space_struct")

    def __init__(
        self,
        data: Any = None,
        lookback: int = 0,
        space: gym.Space[Any] | None = None,
    ) -> None:
        self._data: Any = [] if data is None else data
        self._store: Nest | None = None
        self._is_shared = False
        self.finalized = not isinstance(self._data, list)
        self.lookback = max(0, min(lookback, self.len_incl_lookback()))
        self._space = space
        self._space_struct: Any = None

    @classmethod
    def _of(
        cls, data: Any, lookback: int, space: AnySpace | None, finalized: bool, is_shared: bool
    ) -> Self:
        """A buffer of checked parts, made without looking at them."""
        buffer = cls.__new__(cls)
        buffer._data = data
        buffer._store = None
        buffer._is_shared = is_shared
        buffer.finalized = finalized
        buffer.lookback = lookback
        buffer._space = space
        buffer._space_struct = None
        return buffer

    @property
    def space(self) -> gym.Space[Any] | None:
        """The space of one item, if known."""
        return self._space

    @space.setter
    def space(self, value: gym.Space[Any] | None) -> None:
        self._space = value
        self._space_struct = None

    @property
    def space_struct(self) -> Any:
        """The leaf spaces in plain dicts and tuples, built like an item."""
        if self._space_struct is None and self._space is not None:
            self._space_struct = struct_of(self._space)
        return self._space_struct

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
        return self._get(indices, neg_index_as_lookback, fill, one_hot_discrete)

    def _get(self, indices: Any, neg: bool, fill: Any, one_hot_discrete: bool) -> Any:
        if one_hot_discrete:
            if self._space is None:
                raise EpisodeError(
                    "one_hot_discrete=True needs the space of the items",
                    found="a buffer without a space",
                    hint="give the episode its observation_space and action_space.",
                )
        else:
            # What is asked most, on plain lists and flat arrays: one step, or a slice within.
            data = self._data
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
        if indices is None:
            return self._encoded_many(self._rows(self.lookback, None), one_hot_discrete)
        if isinstance(indices, slice):
            return self._get_slice(indices, neg, fill, one_hot_discrete)
        if is_single(indices):
            return self._get_one(int(indices), neg, fill, one_hot_discrete)
        steps = [as_step(step) for step in indices]
        picked = [self._get_one(step, neg, fill, one_hot_discrete) for step in steps]
        if not self.finalized:
            return picked
        return items.stacked(picked) if picked else self._rows(0, 0)

    def _get_one(self, step: int, neg: bool, fill: Any, one_hot_discrete: bool) -> Any:
        total = self.len_incl_lookback()
        place = position_of(step, total - self.lookback, self.lookback, neg)
        if not 0 <= place < total:
            if fill is None:
                raise out_of_range("step", step, total - self.lookback, self.lookback)
            return self._fill_item(fill, one_hot_discrete)
        data = self._data
        item = data[place] if type(data) is list else items.taken(data, place)
        return items.one_hot(item, self._known_space()) if one_hot_discrete else item

    def _get_slice(self, steps: slice, neg: bool, fill: Any, one_hot_discrete: bool) -> Any:
        total = self.len_incl_lookback()
        start, stop, stride = positions_of(steps, total - self.lookback, self.lookback, neg)
        if fill is None or (stride == 1 and start >= 0 and stop <= total):
            places = clipped(start, stop, stride, total)
            if stride == 1:
                rows = self._rows(places.start, max(places.start, places.stop))
            elif self.finalized:
                rows = items.taken(self._data, np.arange(places.start, places.stop, stride))
            else:
                rows = [self._data[place] for place in places]
            return self._encoded_many(rows, one_hot_discrete)
        wanted = range(start, stop, stride)
        if not self.finalized:
            return [
                self._encoded_one(self._data[place], one_hot_discrete)
                if 0 <= place < total
                else self._fill_item(fill, one_hot_discrete)
                for place in wanted
            ]
        return self._filled(np.arange(start, stop, stride), total, fill, one_hot_discrete)

    def _filled(self, wanted: Any, total: int, fill: Any, one_hot_discrete: bool) -> Nest:
        """Rows at increasing or decreasing positions, with `fill` at both ends as needed."""
        exists = (wanted >= 0) & (wanted < total)
        rows = self._encoded_many(items.taken(self._data, wanted[exists]), one_hot_discrete)
        before = len(wanted) if not exists.any() else int(np.argmax(exists))
        after = len(wanted) - before - int(exists.sum())
        space = None if one_hot_discrete else self._space
        parts = [
            rows if count is None else items.filled_rows(fill, space, rows, count)
            for count in (before, None, after)
            if count is None or count
        ]
        if not exists.any():
            parts = parts[:1]
        return items.joined_rows(parts)

    def _encoded_many(self, rows: Any, one_hot_discrete: bool) -> Any:
        if not one_hot_discrete:
            return rows
        space = self._known_space()
        if isinstance(rows, list):
            return [items.one_hot(row, space) for row in rows]
        return items.one_hot(rows, space)

    def _encoded_one(self, item: Any, one_hot_discrete: bool) -> Any:
        return items.one_hot(item, self._known_space()) if one_hot_discrete else item

    def _fill_item(self, fill: Any, one_hot_discrete: bool) -> Any:
        if one_hot_discrete:
            return items.one_hot_fill(fill, self._known_space())
        if self._space is None and self.finalized and isinstance(self._data, np.ndarray):
            return np.full(self._data.shape[1:], fill) if self._data.ndim > 1 else fill
        return items.filled_item(fill, self._space)

    def _known_space(self) -> AnySpace:
        assert self._space is not None
        return self._space

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
        if is_single(at_indices):
            self._set_one(new_data, int(at_indices), neg_index_as_lookback)  # type: ignore[arg-type]
            return
        if at_indices is None or isinstance(at_indices, slice):
            steps = slice(0, length) if at_indices is None else at_indices
            start, stop, stride = positions_of(steps, length, self.lookback, neg_index_as_lookback)
            places = clipped(start, stop, stride, total)
            self._set_many(new_data, places, at_indices)
            return
        values = listed(new_data)
        wanted = [as_step(step) for step in at_indices]  # type: ignore[union-attr]  # ints are done
        if len(values) != len(wanted):
            raise self._wrong_size(len(values), len(wanted), at_indices)
        for step, value in zip(wanted, values, strict=True):
            self._set_one(value, step, neg_index_as_lookback)

    def _set_one(self, value: Any, step: int, neg: bool) -> None:
        total = self.len_incl_lookback()
        place = position_of(step, total - self.lookback, self.lookback, neg)
        if not 0 <= place < total:
            raise out_of_range(
                "no value can be set: step", step, total - self.lookback, self.lookback
            )
        if not self.finalized:
            self._data[place] = value
            return
        if self._space is not None:
            reason = explain_mismatch(self._space, value)
            if reason:
                raise EpisodeError(
                    f"the new value at step {step} does not fit its space", found=reason
                )
        self._write(place, value)

    def _set_many(self, values: Any, places: range, at_indices: Indices) -> None:
        if not self.finalized:
            new = listed(values)
            if len(new) != len(places):
                raise self._wrong_size(len(new), len(places), at_indices)
            for place, value in zip(places, new, strict=True):
                self._data[place] = value
            return
        rows = items.stacked(values) if isinstance(values, list) and values else values
        count = items.length_of(rows)
        if count != len(places):
            raise self._wrong_size(count, len(places), at_indices)
        if count:
            at = np.arange(places.start, places.stop, places.step)
            self._write(slice(at[0], at[-1] + 1) if places.step == 1 else at, rows)

    def _wrong_size(self, found: int, expected: int, at_indices: Indices) -> EpisodeIndexError:
        return EpisodeIndexError(
            f"new data has not the size of at_indices={at_indices}",
            expected=f"{expected} items",
            found=str(found),
        )

    # As a sequence

    def __getitem__(self, item: Any) -> Any:
        return self.get(item)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.set(value, at_indices=key)

    def __iter__(self) -> Iterator[Any]:
        return iter(listed(self._rows(self.lookback, None)))

    def __add__(self, other: Any) -> InfiniteLookbackBuffer:
        if self.finalized:
            raise EpisodeStateError(
                "a finalized buffer cannot be added to",
                hint="use append(), extend() or concat(), which work on arrays too.",
            )
        if isinstance(other, (int, float, complex)):
            data = [item + other for item in self._data]
        elif isinstance(other, InfiniteLookbackBuffer):
            data = self._data + list(other)
        elif isinstance(other, list):
            data = self._data + other
        else:
            raise TypeError(f"a buffer and a {type(other).__name__} cannot be added")
        return InfiniteLookbackBuffer(data, self.lookback, self._space)

    @override
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, InfiniteLookbackBuffer):
            return NotImplemented
        return (
            self.lookback == other.lookback
            and self.finalized == other.finalized
            and bool(self._space == other._space)
            and differences(self._data, other._data).is_equal
        )

    __hash__ = None  # type: ignore[assignment]  # buffers change

    @override
    def __repr__(self) -> str:
        data, lookback = self._data, self.lookback
        before, after = items_repr(data, 0, lookback), items_repr(data, lookback, None)
        return f"{type(self).__name__}({before} <- lookback({lookback}) | {after})"

    # State

    def get_state(self) -> dict[str, Any]:
        """All of it as plain data and arrays; nothing is copied but a list."""
        data = self._data
        # Who holds the state sees these very arrays, so they are copied before they change.
        self._is_shared = self.finalized
        return {
            "data": data.copy() if type(data) is list else data,
            "lookback": self.lookback,
            "finalized": self.finalized,
            "space": space_to_state(self._space),
        }

    @staticmethod
    def from_state(state: Mapping[str, Any]) -> InfiniteLookbackBuffer:
        """The buffer that `get_state` described."""
        data = state["data"]
        return InfiniteLookbackBuffer._of(
            list(data) if isinstance(data, (list, tuple)) and not state["finalized"] else data,
            int(state["lookback"]),
            space_from_state(state["space"]),
            bool(state["finalized"]),
            bool(state["finalized"]),
        )

    def __getstate__(self) -> tuple[Any, ...]:
        return self._data, self.lookback, self.finalized, self._space

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._data, self.lookback, self.finalized, self._space = state
        self._store, self._is_shared, self._space_struct = None, False, None


def items_repr(data: Any, start: int, stop: int | None) -> str:
    """Some items as `repr` shows them."""
    part = (
        data[start:stop]
        if isinstance(data, (list, np.ndarray))
        else items.taken(data, slice(start, stop))
    )
    return str(part)
