"""Arrays in NumPy's own files, `.npy` and `.npz`; no object in them is ever built."""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from ...errors import CorruptCheckpointError
from ...types import Array
from ..decode.load_limits import Budget, limits_in_force
from ..decode.zip_archives import opened_zip
from .reading import read_bytes

ZIP_ERRORS: Final = (zipfile.BadZipFile, zlib.error, RuntimeError, OSError, EOFError)
"""What Python's reader of archives stumbles over; what it does not know is a RuntimeError."""

_CHUNK: Final = 1 << 20
_HEADER_BYTES: Final = 1 << 17
"""More than the longest header that numpy accepts."""
_HEADERS: Final[dict[tuple[int, int], Callable[[IO[bytes]], Any]]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_arrays(path: str | os.PathLike[str]) -> dict[str, Array]:
    """The arrays of a file by name; that of an `.npy` has an empty one."""
    file = Path(path)
    data = read_bytes(file, limits_in_force(), follow=True)
    if not zipfile.is_zipfile(io.BytesIO(data)):
        return {"": _array(data, file.name)}
    budget = Budget(limits_in_force(), len(data))
    arrays = {}
    try:
        with opened_zip(data, limits_in_force()) as archive:
            for info in archive.infolist():
                name, what = info.filename.removesuffix(".npy"), f"{file.name}/{info.filename}"
                budget.spend(info.file_size, what)
                with archive.open(info) as member:
                    arrays[name] = _array(_content(member, info.file_size), what)
    except ZIP_ERRORS as error:
        raise _no_arrays(file.name, str(error)) from None
    return arrays


def read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]] | None:
    """Shape, whether columns come first, and dtype of an array; None in a version unknown to us.

    `file` stands at the array's beginning, and afterwards at its first number. What is not in
    NumPy's format is a ValueError.
    """
    read = _HEADERS.get(np.lib.format.read_magic(file))
    if read is None:
        return None
    shape, is_fortran, dtype = read(file)
    if not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError(f"shape is not valid: {shape}")
    return shape, is_fortran, dtype


def _content(member: IO[bytes], size: int) -> memoryview:
    buffer, filled = bytearray(size), 0
    while part := member.read(_CHUNK):  # in one call, `zipfile` would hold it twice
        buffer[filled : filled + len(part)] = part
        filled += len(part)
    if filled != size:
        raise EOFError("an array is cut")
    return memoryview(buffer).toreadonly()


def _array(data: bytes | memoryview, name: str) -> Array:
    file = io.BytesIO(data[:_HEADER_BYTES])
    try:
        header = read_header(file)
        if header is None:
            raise ValueError("a version of the format that is not read")
        shape, is_fortran, dtype = header
        if dtype.hasobject:
            raise ValueError("Python objects")
        flat = np.frombuffer(data, dtype, count=-1, offset=file.tell())
        array: Array = flat.reshape(shape, order="F" if is_fortran else "C")
        return array
    except ValueError as error:
        raise _no_arrays(name, str(error)) from None


def _no_arrays(name: str, found: str) -> CorruptCheckpointError:
    return CorruptCheckpointError(
        f"{name} holds no arrays", expected="a file of numpy.save() or numpy.savez()", found=found
    )
