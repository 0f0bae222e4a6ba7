"""How items of one column are read: by step, list of steps or slice, filled, as one-hot vectors."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from ...core import nest
from ...core.errors import EpisodeError
from ...core.spaces.walk import AnySpace, struct_of
from ...core.types import Nest
from . import column_items as items
from .indexing import Indices, as_step, clipped, is_single, out_of_range, position_of, positions_of
from .item_store import ItemStore


class ItemReader(ItemStore):
    """Items that are read by time step and may have a space."""

    __slots__ = ("_space", "_space_struct")

    _space: gym.Space[Any] | None
    _space_struct: Any

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
        if one_hot_discrete:
            if self._space is None:
                raise EpisodeError(
                    "one_hot_discrete=True needs the space of the items",
                    found="a buffer without a space",
                    hint="give the episode its observation_space and action_space.",
                )
        else:
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
        if indices is None:
            return self._encoded_many(self.rows(self.lookback, None), one_hot_discrete)
        if isinstance(indices, slice):
            return self._get_slice(indices, neg, fill, one_hot_discrete)
        if is_single(indices):
            return self._get_one(int(indices), neg, fill, one_hot_discrete)
        steps = [as_step(step) for step in indices]
        if not self.finalized:
            return [self._get_one(step, neg, fill, one_hot_discrete) for step in steps]
        return self._get_rows(steps, neg, fill, one_hot_discrete, like_first=True)

    def _get_one(self, step: int, neg: bool, fill: Any, one_hot_discrete: bool) -> Any:
        total = self.len_incl_lookback()
        place = position_of(step, total - self.lookback, self.lookback, neg)
        if not 0 <= place < total:
            if fill is None:
                raise out_of_range("step", step, total - self.lookback, self.lookback)
            return self.fill_item(fill, one_hot_discrete)
        item = self.item_at(place)
        return items.one_hot(item, self._known_space()) if one_hot_discrete else item

    def _get_rows(
        self,
        steps: list[int],
        neg: bool,
        fill: Any,
        one_hot_discrete: bool,
        like_first: bool = False,
    ) -> Nest:
        """Rows of arrays at any steps, in one read; on request all in the first one's dtype."""
        total = self.len_incl_lookback()
        length = total - self.lookback
        places = np.array(
            [position_of(step, length, self.lookback, neg) for step in steps], np.intp
        )
        exists = (places >= 0) & (places < total)
        if exists.all():
            return self._encoded_many(nest.taken(self.raw, places), one_hot_discrete)
        if fill is None:
            raise out_of_range("step", steps[int(np.argmin(exists))], length, self.lookback)
        missing = len(places) - int(exists.sum())
        rows = nest.taken(self.raw, places[exists])
        if one_hot_discrete:
            gaps = items.repeated(items.one_hot_fill(fill, self._known_space()), missing)
        else:
            gaps = items.filled_rows(fill, self._space, rows, missing)
        if not exists.any():
            return gaps
        rows = self._encoded_many(rows, one_hot_discrete)
        order = np.empty(len(places), np.intp)
        order[exists] = np.arange(int(exists.sum()))
        order[~exists] = np.arange(int(exists.sum()), len(places))
        joined = nest.taken(nest.joined([rows, gaps]), order)
        if not like_first:
            return joined
        is_plain = self._space is None  # numbers of no known space take a dtype that holds all
        return nest.mapped(
            lambda leaf, first: leaf if is_plain and leaf.ndim == 1 else leaf.astype(first.dtype),
            joined,
            rows if exists[0] else gaps,
        )

    def _get_slice(self, steps: slice, neg: bool, fill: Any, one_hot_discrete: bool) -> Any:
        total = self.len_incl_lookback()
        start, stop, stride = positions_of(steps, total - self.lookback, self.lookback, neg)
        if fill is None or (stride == 1 and start >= 0 and stop <= total):
            places = clipped(start, stop, stride, total)
            if stride == 1:
                rows = self.rows(places.start, max(places.start, places.stop))
            elif self.finalized:
                rows = nest.taken(self.raw, np.arange(places.start, places.stop, stride))
            else:
                rows = [self.raw[place] for place in places]
            return self._encoded_many(rows, one_hot_discrete)
        wanted = range(start, stop, stride)
        if not self.finalized:
            return [
                self.encoded_one(self.raw[place], one_hot_discrete)
                if 0 <= place < total
                else self.fill_item(fill, one_hot_discrete)
                for place in wanted
            ]
        return self._get_rows(
            [place - self.lookback for place in wanted], True, fill, one_hot_discrete
        )

    def _encoded_many(self, rows: Any, one_hot_discrete: bool) -> Any:
        if not one_hot_discrete:
            return rows
        space = self._known_space()
        if isinstance(rows, list):
            return [items.one_hot(row, space) for row in rows]
        return items.one_hot(rows, space)

    def encoded_one(self, item: Any, one_hot_discrete: bool) -> Any:
        """One item in the form asked for."""
        return items.one_hot(item, self._known_space()) if one_hot_discrete else item

    def fill_item(self, fill: Any, one_hot_discrete: bool) -> Any:
        """What stands for an item that does not exist."""
        if one_hot_discrete:
            return items.one_hot_fill(fill, self._known_space())
        return items.filled_item(fill, self._space)

    def _known_space(self) -> AnySpace:
        assert self._space is not None
        return self._space
