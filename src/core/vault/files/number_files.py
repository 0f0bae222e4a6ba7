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

from ...errors import CorruptCheckpointError, LimitExceededError
from ...types import Array
from ..decode.load_limits import limits_in_force
from .reading import read_bytes

ZIP_ERRORS: Final = (zipfile.BadZipFile, zlib.error, RuntimeError, OSError, EOFError)
"""What Python's reader of archives stumbles over; what it does not know is a RuntimeError."""

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
    bytes_left = limits_in_force().max_file_bytes
    arrays = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for info in archive.infolist():
                if info.file_size > bytes_left:
                    raise LimitExceededError(f"{file.name} holds more than {bytes_left:,} bytes")
                bytes_left -= info.file_size
                name = info.filename.removesuffix(".npy")
                arrays[name] = _array(archive.read(info), f"{file.name}/{info.filename}")
    except ZIP_ERRORS as error:
        raise _no_arrays(file.name, str(error)) from None
    return arrays


def read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]] | None:
    """Shape, whether columns come first, and dtype of an array; None in a version unknown to us.

    `file` stands at the array's beginning, and afterwards at its first number. What is not in
    NumPy's format is a ValueError.
    """
    read = _HEADERS.get(np.lib.format.read_magic(file))
    return None if read is None else read(file)


def _array(data: bytes, name: str) -> Array:
    file = io.BytesIO(data)
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
