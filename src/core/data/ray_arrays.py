"""Arrays in the text form Ray writes into spaces and filters: base64 of zlib of an .npy file.

The .npy header is read by a strict pattern, never evaluated, and the data is inflated only as far
as the checked header promises: a small text cannot become a large allocation.
"""

from __future__ import annotations

import base64
import binascii
import io
import re
import zlib
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.lib.format import dtype_to_descr, write_array_header_1_0

from ..errors import LimitExceededError, SpaceError, UnsafeCheckpointError
from ..types import Array
from .budget import Budget, allowance, checked_bytes, checked_dtype, checked_shape, corrupt

_MAGIC: Final = b"\x93NUMPY"
_MAX_HEADER: Final = 10_000
_HEADER: Final = re.compile(
    r"\{'descr': '([^'\\]{1,16})', 'fortran_order': (True|False), "
    r"'shape': \(((?:\d{1,20}, ?)*(?:\d{1,20})?,?)\), ?\}\s*"
)
_LENGTH_BYTES: Final = {1: 2, 2: 4, 3: 4}


def encode_ray_array(array: Array) -> str:
    """The text Ray would write for `array`."""
    if array.dtype.hasobject:
        raise SpaceError("an object array has no text form", found=f"dtype {array.dtype}")
    is_fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    rows = array.tobytes("F" if is_fortran else "C")
    saved = _npy_header(array.dtype, array.shape, is_fortran) + rows
    return base64.b64encode(zlib.compress(saved)).decode("ascii")


@lru_cache(maxsize=64)
def _npy_header(dtype: np.dtype[Any], shape: tuple[int, ...], is_fortran: bool) -> bytes:
    """The header of an .npy file of such arrays; a filter writes the same one each time."""
    buffer = io.BytesIO()
    facts = {"descr": dtype_to_descr(dtype), "fortran_order": is_fortran, "shape": shape}
    write_array_header_1_0(buffer, facts)
    return buffer.getvalue()


def decode_ray_array(
    text: str | bytes, *, budget: Budget | None = None, what: str = "an array"
) -> Array:
    """The array in a text that Ray wrote; read-only."""
    budget = allowance() if budget is None else budget
    if not isinstance(text, (str, bytes)):
        raise corrupt(f"{what} is no encoded array", expected="base64 text", found=type(text))
    budget.spend(len(text) * 3 // 4, f"the compressed form of {what}")
    try:
        packed = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise corrupt(f"{what} is not valid base64", found=text[:32]) from None
    return _read_npy(_Inflated(packed, what), budget, what)


class _Inflated:
    """Compressed bytes that are inflated only as far as somebody reads."""

    def __init__(self, packed: bytes, what: str) -> None:
        self._zlib = zlib.decompressobj()
        self._rest = packed
        self._what = what

    def read(self, count: int) -> bytes:
        """Exactly `count` bytes, or CorruptCheckpointError."""
        chunk = self._inflate(count)
        if len(chunk) != count:
            raise corrupt(
                f"{self._what} is cut", expected=f"{count:,} bytes", found=f"{len(chunk):,}"
            )
        return chunk

    def expect_end(self) -> None:
        """Raise CorruptCheckpointError if more bytes, or none of the checksum, follow."""
        if self._inflate(1) or not self._zlib.eof or self._zlib.unused_data:
            raise corrupt(f"{self._what} does not end where its header says")

    def _inflate(self, count: int) -> bytes:
        data = b""
        while len(data) < count:  # zlib takes a limit of 0 for none
            try:
                part = self._zlib.decompress(self._rest, count - len(data))
            except zlib.error as error:
                raise corrupt(f"{self._what} is not valid zlib data", found=str(error)) from None
            self._rest = self._zlib.unconsumed_tail
            if not part:
                break
            data = data + part if data else part
        return data


def _read_npy(source: _Inflated, budget: Budget, what: str) -> Array:
    start = source.read(8)
    if start[:6] != _MAGIC or start[6] not in _LENGTH_BYTES:
        raise corrupt(f"{what} is no .npy data", expected="an .npy header", found=start)
    length = int.from_bytes(source.read(_LENGTH_BYTES[start[6]]), "little")
    if length > _MAX_HEADER:
        raise LimitExceededError(
            f"the header of {what} is too long",
            expected=f"at most {_MAX_HEADER:,} bytes",
            found=f"{length:,}",
        )
    header = source.read(length).decode("latin-1")
    match = _HEADER.fullmatch(header)
    if match is None:
        if "'descr': [" in header:
            raise UnsafeCheckpointError(f"{what} has fields", expected="plain numbers")
        raise corrupt(f"{what} has an unreadable .npy header", found=header)
    descr, fortran_order, sizes = match.groups()
    dtype = checked_dtype(descr, what)
    shape = checked_shape([int(size) for size in sizes.split(",") if size.strip()], what)
    count = checked_bytes(shape, dtype)
    budget.spend(count, what)
    data = source.read(count)
    source.expect_end()
    array: Array = np.ndarray(shape, dtype, data, order="F" if fortran_order == "True" else "C")
    return array
