"""The items of one column of an episode, with those before the episode as look-back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from typing_extensions import Self, override

from ...core import nest
from ...core.arrays.compare import differences
from ...core.data.checked import count, flag
from ...core.data.damage import at
from ...core.errors import EpisodeError
from ...core.spaces.fit import explain_mismatch
from ...core.spaces.walk import AnySpace
from ...core.types import Nest
from . import column_items as items
from .errors import EpisodeIndexError, EpisodeStateError
from .indexing import Indices, as_step, clipped, is_single, out_of_range, position_of, positions_of
from .item_reader import ItemReader
from .item_store import listed
from .space_state import space_from_state, space_to_state


class InfiniteLookbackBuffer(ItemReader):
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

    __slots__ = ()

    def __init__(
        self,
        data: Any = None,
        lookback: int = 0,
        space: gym.Space[Any] | None = None,
    ) -> None:
        self.raw: Any = [] if data is None else data
        self.store: Nest | None = None
        self.is_shared = False
        self.finalized = not isinstance(self.raw, list)
        self.lookback = max(0, min(lookback, self.len_incl_lookback()))
        self._space = space
        self._space_struct: Any = None

    @classmethod
    def of_parts(
        cls, data: Any, lookback: int, space: AnySpace | None, finalized: bool, is_shared: bool
    ) -> Self:
        """A buffer of checked parts, made without looking at them."""
        buffer = cls.__new__(cls)
        buffer.raw = data
        buffer.store = None
        buffer.is_shared = is_shared
        buffer.finalized = finalized
        buffer.lookback = lookback
        buffer._space = space
        buffer._space_struct = None
        return buffer

    def last_items(self, count: int, lookback: int, as_list: bool = False) -> Self:
        """The last items as a buffer that shares no rows; on request a list."""
        total = self.len_incl_lookback()
        rows = self.rows(max(0, total - count), total)
        is_array = self.finalized
        if is_array:
            rows = items.copied(rows)
            if as_list:
                rows, is_array = listed(rows), False
        return self.of_parts(rows, lookback, self._space, is_array, False)

    def part(self, first: int, end: int, lookback: int) -> Self:
        """Some items as a buffer; arrays are shared until one of the two changes a row."""
        is_array = self.finalized
        if is_array:
            self.is_shared = True
        return self.of_parts(self.rows(first, end), lookback, self._space, is_array, is_array)

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
            self.raw[place] = value
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
                self.raw[place] = value
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
        return iter(listed(self.rows(self.lookback, None)))

    def __add__(self, other: Any) -> InfiniteLookbackBuffer:
        if self.finalized:
            raise EpisodeStateError(
                "a finalized buffer cannot be added to",
                hint="use append(), extend() or concat(), which work on arrays too.",
            )
        if isinstance(other, (int, float, complex)):
            data = [item + other for item in self.raw]
        elif isinstance(other, InfiniteLookbackBuffer):
            data = self.raw + list(other)
        elif isinstance(other, list):
            data = self.raw + other
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
            and not differences(self.raw, other.raw)
        )

    __hash__ = None  # type: ignore[assignment]  # buffers change

    @override
    def __repr__(self) -> str:
        data, lookback = self.raw, self.lookback
        before, after = items_repr(data, 0, lookback), items_repr(data, lookback, None)
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
            "space": space_to_state(self._space),
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
        return self.raw, self.lookback, self.finalized, self._space

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.raw, self.lookback, self.finalized, self._space = state
        self.store, self.is_shared, self._space_struct = None, False, None


def items_repr(data: Any, start: int, stop: int | None) -> str:
    """Some items as `repr` shows them."""
    part = (
        data[start:stop]
        if isinstance(data, (list, np.ndarray))
        else nest.taken(data, slice(start, stop))
    )
    return str(part)
