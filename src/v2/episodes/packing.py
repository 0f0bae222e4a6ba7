"""Episodes as pickles: small columns in one block of bytes, spaces as plain data.

A pickled array costs about a hundred bytes and several microseconds besides its numbers, a space
many times that. Episodes travel between processes by the thousand, so their columns are laid out
in one block (each at a multiple of eight bytes) and restored as writable views of it. Large columns
stay arrays of their own, which pickle protocol 5 can move without a copy.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ...core.types import Array
from .lookback_buffer import InfiniteLookbackBuffer
from .space_state import REWARD_SPACE, space_from_pickle, space_to_pickle

_LARGEST_PACKED: Final = 1 << 16
_ALIGNMENT: Final = 8

# How a buffer's items are written.
_AS_THEY_ARE, _AS_A_LIST, _PACKED, _EMPTY_DICTS = range(4)
# How a buffer's space is written; anything else is what `space_to_pickle` made of it.
_NO_SPACE, _REWARD, _FIRST, _SECOND = range(4)


def packed_buffers(
    buffers: list[InfiniteLookbackBuffer], first: Any, second: Any
) -> tuple[list[tuple[Any, ...]], bytearray]:
    """Buffers as headers and one block of bytes.

    Args:
        buffers: What to write.
        first: A space that is written elsewhere; a buffer that has it only says so.
        second: Another one.
    """
    block: list[Any] = []
    headers: list[tuple[Any, ...]] = []
    for buffer in buffers:
        data, space = buffer._data, buffer._space
        if space is None:
            mark: Any = _NO_SPACE
        elif space is REWARD_SPACE:
            mark = _REWARD
        elif space is first:
            mark = _FIRST
        else:
            mark = _SECOND if space is second else space_to_pickle(space)
        if type(data) is np.ndarray and _is_packable(data):
            block.append(np.ascontiguousarray(data))
            rest = -data.nbytes % _ALIGNMENT
            if rest:
                block.append(bytes(rest))
            headers.append((_PACKED, buffer.lookback, mark, data.dtype.str, data.shape))
        elif type(data) is list and _are_empty_dicts(data):
            headers.append((_EMPTY_DICTS, buffer.lookback, mark, len(data)))
        else:
            form = _AS_THEY_ARE if buffer.finalized else _AS_A_LIST
            headers.append((form, buffer.lookback, mark, data))
    return headers, bytearray().join(block)


def unpacked_buffers(
    headers: list[tuple[Any, ...]], block: bytearray, first: Any, second: Any
) -> list[InfiniteLookbackBuffer]:
    """The buffers that `packed_buffers` wrote."""
    spaces = (None, REWARD_SPACE, first, second)
    buffers = []
    offset = 0
    for form, lookback, mark, content, *shape in headers:
        data = content
        if form == _PACKED:
            dtype = np.dtype(content)
            count = math.prod(shape[0])
            data = np.frombuffer(block, dtype, count, offset).reshape(shape[0])
            offset += data.nbytes + -data.nbytes % _ALIGNMENT
        elif form == _EMPTY_DICTS:
            data = [{} for _ in range(content)]
        space = spaces[mark] if isinstance(mark, int) else space_from_pickle(mark)
        is_final = form in (_PACKED, _AS_THEY_ARE)
        buffers.append(InfiniteLookbackBuffer._of(data, lookback, space, is_final, False))
    return buffers


def _is_packable(data: Array) -> bool:
    return 0 < data.nbytes <= _LARGEST_PACKED and data.dtype.kind in "biufc"


def _are_empty_dicts(data: list[Any]) -> bool:
    return len(data) > 1 and set(map(type, data)) == {dict} and not any(data)
