"""How items of one column are read: any steps, with what stands for those that do not exist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import nest
from . import column_items as items
from .indexing import as_step, clipped, is_single, out_of_range, position_of, positions_of

if TYPE_CHECKING:
    from .lookback_buffer import InfiniteLookbackBuffer


def items_at(
    buffer: InfiniteLookbackBuffer, indices: Any, neg: bool, fill: Any, one_hot_discrete: bool
) -> Any:
    """Items of a buffer at some steps, as `InfiniteLookbackBuffer.get` gives them."""
    lookback, total, space = buffer.lookback, buffer.len_incl_lookback(), buffer.space
    length = total - lookback
    if one_hot_discrete:
        items.expect_space(space)
    if is_single(indices):
        place = position_of(int(indices), length, lookback, neg)
        if 0 <= place < total:
            return _encoded([buffer.item_at(place)], space, one_hot_discrete)[0]
        if fill is None:
            raise out_of_range("step", indices, length, lookback)
        return items.filled_item(fill, space, one_hot_discrete)
    if indices is None or isinstance(indices, slice):
        steps = slice(None) if indices is None else indices
        start, stop, stride = positions_of(steps, length, lookback, neg)
        if fill is not None and not (stride == 1 and start >= 0 and stop <= total):
            places = range(start, stop, stride)
            return _filled(buffer, places, fill, one_hot_discrete, is_like_first=False)
        stretch = clipped(start, stop, stride, total)
        if stride == 1:
            rows = buffer.rows(stretch.start, max(stretch.start, stretch.stop))
        else:
            rows = _rows_at(buffer, stretch)
        return _encoded(rows, space, one_hot_discrete)
    wanted = [as_step(step) for step in indices]
    at = [position_of(step, length, lookback, neg) for step in wanted]
    exists = [0 <= place < total for place in at]
    if all(exists):
        return _encoded(_rows_at(buffer, at), space, one_hot_discrete)
    if fill is None:
        raise out_of_range("step", wanted[exists.index(False)], length, lookback)
    return _filled(buffer, at, fill, one_hot_discrete, is_like_first=True)


def _encoded(rows: Any, space: Any, one_hot_discrete: bool) -> Any:
    """A list of items or a column in the form asked for."""
    if not one_hot_discrete:
        return rows
    if isinstance(rows, list):
        return [items.one_hot(item, space) for item in rows]
    return items.one_hot(rows, space)


def _rows_at(buffer: InfiniteLookbackBuffer, places: Sequence[int]) -> Any:
    """Items at positions that exist."""
    if buffer.finalized:
        return nest.taken(buffer.raw, np.array(places, np.intp))
    return [buffer.raw[place] for place in places]


def _filled(
    buffer: InfiniteLookbackBuffer,
    places: Sequence[int],
    fill: Any,
    one_hot_discrete: bool,
    *,
    is_like_first: bool,
) -> Any:
    """Items at any positions; on request arrays have the dtype of the first item."""
    total, space = buffer.len_incl_lookback(), buffer.space
    if not buffer.finalized:
        return [
            _encoded(buffer.raw[place : place + 1], space, one_hot_discrete)[0]
            if 0 <= place < total
            else items.filled_item(fill, space, one_hot_discrete)
            for place in places
        ]
    positions = np.array(places, np.intp)
    exists = (positions >= 0) & (positions < total)
    count = int(exists.sum())
    present = nest.taken(buffer.raw, positions[exists])
    gaps = None
    if count < len(positions):
        gaps = items.filled_rows(fill, space, present, len(positions) - count, one_hot_discrete)
        if not count:
            return gaps
    rows = _encoded(present, space, one_hot_discrete)
    if gaps is None:
        return rows
    order = np.empty(len(positions), np.intp)
    order[exists] = np.arange(count)
    order[~exists] = np.arange(count, len(positions))
    joined = nest.taken(nest.joined([rows, gaps]), order)
    if not is_like_first:
        return joined
    is_plain = space is None  # numbers of no known space take a dtype that holds all
    return nest.mapped(
        lambda leaf, first: leaf if is_plain and leaf.ndim == 1 else leaf.astype(first.dtype),
        joined,
        rows if exists[0] else gaps,
    )
