"""Episodes as pickles: small columns in one block of bytes, spaces as plain data.

A pickled array costs about a hundred bytes and several microseconds besides its numbers, a space
many times that. Episodes travel between processes by the thousand, so their columns are laid out
in one block (each at a multiple of eight bytes) and restored as writable views of it. Large columns
stay arrays of their own, which pickle protocol 5 can move without a copy. A column travels with
room for one row more, which the learner's pipeline fills.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from ...core import nest
from . import column_items as items
from .lookback_buffer import InfiniteLookbackBuffer
from .space_state import REWARD_SPACE, space_from_pickle, space_to_pickle

_LARGEST_PACKED: Final = 1 << 16
_ALIGNMENT: Final = 8
_ZEROS: Final = bytes(_ALIGNMENT)

# How a buffer's items are written.
_AS_THEY_ARE, _AS_A_LIST, _PACKED, _EMPTY_DICTS = range(4)
# How a buffer's space is written: from _FIRST on it is a place among the spaces written elsewhere;
# what is no number is what `space_to_pickle` made of it.
_NO_SPACE, _REWARD, _FIRST = range(3)


def packed_buffers(
    buffers: Iterable[InfiniteLookbackBuffer], spaces: Sequence[Any] = ()
) -> tuple[list[tuple[Any, ...]], bytearray]:
    """Buffers as headers and one block of bytes.

    Args:
        buffers: What to write.
        spaces: Spaces that are written elsewhere; a buffer that has one only says which.
    """
    block: list[Any] = []
    headers: list[tuple[Any, ...]] = []
    shared_headers: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    places = {id(space): place + _FIRST for place, space in enumerate(spaces)}
    places[id(REWARD_SPACE)] = _REWARD
    places[id(None)] = _NO_SPACE
    for buffer in buffers:
        data = buffer.raw
        lookback = buffer.lookback
        mark: Any = places.get(id(buffer.space))
        if mark is None:
            mark = space_to_pickle(buffer.space)
        if type(data) is np.ndarray:
            size = data.nbytes
            code = _code_of(data.dtype)
            if 0 < size <= _LARGEST_PACKED and code:
                room = size // len(data)
                room += -(size + room) % _ALIGNMENT
                block += (data, _ZEROS if room == _ALIGNMENT else bytes(room))
                header = _PACKED, lookback, mark, code, data.shape
                # Columns built alike share one, which is pickled once.
                headers.append(
                    shared_headers.setdefault(header, header) if type(mark) is int else header
                )
            else:
                headers.append((_AS_THEY_ARE, lookback, mark, *_with_room(buffer)))
        elif type(data) is not list:
            headers.append((_AS_THEY_ARE, lookback, mark, *_with_room(buffer)))
        elif len(data) > 1 and type(data[0]) is dict and _are_empty_dicts(data):
            headers.append((_EMPTY_DICTS, lookback, mark, len(data), None))
        else:
            headers.append((_AS_A_LIST, lookback, mark, data, None))
    try:
        return headers, bytearray().join(block)
    except (BufferError, TypeError, ValueError):  # A strided array is among them.
        return headers, bytearray().join([_contiguous(part) for part in block])


def unpacked_buffers(
    headers: list[tuple[Any, ...]], block: bytearray, spaces: Sequence[Any] = ()
) -> list[InfiniteLookbackBuffer]:
    """The buffers that `packed_buffers` wrote."""
    by_mark = (None, REWARD_SPACE, *spaces)
    layouts: dict[int, tuple[tuple[int, ...], np.dtype[Any]]] = {}
    buffers = []
    offset = 0
    new, array = InfiniteLookbackBuffer.__new__, np.ndarray
    for header in headers:
        form, lookback, mark, content, shape = header
        # As `InfiniteLookbackBuffer.of_parts` does, in place: there are many.
        buffer = new(InfiniteLookbackBuffer)
        buffer.lookback = lookback
        buffer.store = None
        buffer.is_shared = False
        buffer.space = by_mark[mark] if type(mark) is int else space_from_pickle(mark)
        if form == _PACKED:
            layout = layouts.get(id(header))
            if layout is None:
                layout = layouts[id(header)] = (shape[0] + 1, *shape[1:]), np.dtype(content)
            buffer.store = store = array(*layout, block, offset)
            buffer.raw = store[:-1]
            size = store.nbytes
            offset += size + -size % _ALIGNMENT
            buffer.finalized = True
        elif shape is not None:
            buffer.store, buffer.finalized = content, True
            buffer.raw = nest.taken(content, slice(0, shape))
        else:
            buffer.finalized = form == _AS_THEY_ARE
            # A list that has grown has room for the item that a learner appends.
            buffer.raw = [{} for _ in range(content)] if form == _EMPTY_DICTS else content
        buffers.append(buffer)
    return buffers


def _with_room(buffer: InfiniteLookbackBuffer) -> tuple[Any, int | None]:
    """A column with the row after its last one if it has room, and how many rows count."""
    data, store = buffer.raw, buffer.store
    count = items.length_of(data)
    if store is not None and items.length_of(store) > count:
        return nest.taken(store, slice(0, count + 1)), count
    return data, None


@lru_cache(maxsize=64)
def _code_of(dtype: np.dtype[Any]) -> str:
    """How a dtype of numbers is written, the same text each time; nothing for others."""
    return sys.intern(dtype.str) if dtype.kind in "biufc" else ""


def _contiguous(part: Any) -> Any:
    return np.ascontiguousarray(part) if isinstance(part, np.ndarray) else part


def _are_empty_dicts(data: list[Any]) -> bool:
    return not any(data) and [*map(type, data)].count(dict) == len(data)
