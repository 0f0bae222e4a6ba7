"""Read arrays out of a safetensors file nobody trusts, one at a time.

The layout (public, by Hugging Face): eight bytes little-endian with the header's length, the
header as JSON `{name: {"dtype", "shape", "data_offsets": [begin, end]}}`, then the numbers.
Every claim of the header is held against the file before anything is allocated. `writer` writes
these files with the safetensors library; here we read them ourselves, because the bytes that
were checked must be the bytes that are used, even while the path is being replaced.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ...data.budget import checked_bytes
from ...data.dtype_storage import STORED_DTYPES
from ...errors import CorruptCheckpointError, LimitExceededError
from ...types import Array
from ..decode.load_limits import Limits, limits_in_force
from ..files.json_text import Json, parse_json
from .file_bytes import FileBytes

_LENGTH_BYTES: Final = 8
_MAX_DIMENSIONS: Final = 32
_MAX_SIZE: Final = 2**58
_METADATA: Final = "__metadata__"

Buffer = bytes | FileBytes


@dataclass(frozen=True)
class Span:
    """Where one array lies: its dtype, its shape and its bytes `[begin, end)` of the file."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    end: int


class ArrayFile:
    """The arrays of one safetensors file, by name; numbers are read on demand.

    Example:
        >>> from safetensors.numpy import save
        >>> file = ArrayFile(save({"w": np.ones((2, 3), np.float32)}))
        >>> file.spans["w"].shape
        (2, 3)
        >>> float(file.read("w").sum())
        6.0
    """

    def __init__(
        self, buffer: Buffer, name: str = "arrays.safetensors", limits: Limits | None = None
    ) -> None:
        self.name = name
        self._buffer = buffer
        self.spans = self._read_spans(limits or limits_in_force())

    def read(self, array: str) -> Array:
        """A fresh copy of one array, as stored."""
        span = self.spans[array]
        if isinstance(self._buffer, bytes):
            data = bytearray(memoryview(self._buffer)[span.begin : span.end])
            return np.frombuffer(data, span.dtype).reshape(span.shape)
        return self._buffer.array(span.begin, span.end).view(span.dtype).reshape(span.shape)

    def _read_spans(self, limits: Limits) -> dict[str, Span]:
        size = len(self._buffer)
        length = int.from_bytes(self._buffer[:_LENGTH_BYTES], "little")
        if size < _LENGTH_BYTES or length > size - _LENGTH_BYTES:
            raise self._corrupt("its header is longer than the file")
        if length > limits.max_json_bytes:
            raise LimitExceededError(
                f"the header of {self.name} takes {length:,} bytes",
                expected=f"at most {limits.max_json_bytes:,}",
                file=self.name,
            )
        start = _LENGTH_BYTES + length
        header = parse_json(self._buffer[_LENGTH_BYTES:start], f"the header of {self.name}", limits)
        if not isinstance(header, dict):
            raise self._corrupt("its header is no object")
        spans = {
            key: self._span(key, entry, start) for key, entry in header.items() if key != _METADATA
        }
        at = start
        for span in sorted(spans.values(), key=lambda span: (span.begin, span.end)):
            if span.begin != at:
                raise self._corrupt("its arrays overlap or leave holes")
            at = span.end
        if at != size:
            raise self._corrupt(f"its arrays end at byte {at:,} of {size:,}")
        return spans

    def _span(self, key: str, entry: Json, start: int) -> Span:
        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
            raise self._corrupt(f"the header entry of {key[:80]!r} is malformed")
        code, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
        dtype = STORED_DTYPES.get(code) if isinstance(code, str) else None
        if dtype is None:
            raise self._corrupt(f"array {key[:80]!r} has the unknown dtype {str(code)[:20]!r}")
        if not is_shape(shape) or not is_sizes(offsets) or len(offsets) != 2:
            raise self._corrupt(f"array {key[:80]!r} has a malformed shape or place")
        begin, end = start + offsets[0], start + offsets[1]
        if begin > end or end - begin != checked_bytes(tuple(shape), dtype):
            raise self._corrupt(f"array {key[:80]!r} does not fill its place")
        return Span(dtype, tuple(shape), begin, end)

    def _corrupt(self, what: str) -> CorruptCheckpointError:
        return CorruptCheckpointError(
            f"{self.name} is damaged: {what}.",
            hint="copy the checkpoint again from where it came from.",
            file=self.name,
        )


def is_shape(value: Json) -> bool:
    """True if `value` is a list of a few sizes that numpy can have.

    Example:
        >>> is_shape([2, 3]), is_shape([-1]), is_shape([True])
        (True, False, False)
    """
    return (
        is_sizes(value)
        and len(value) <= _MAX_DIMENSIONS
        and math.prod(size or 1 for size in value) < _MAX_SIZE
    )


def is_sizes(value: Json) -> bool:
    """True if `value` is a list of whole numbers that may count bytes or items."""
    return isinstance(value, list) and all(
        type(size) is int and 0 <= size < _MAX_SIZE for size in value
    )
