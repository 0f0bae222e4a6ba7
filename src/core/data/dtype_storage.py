"""Any numpy dtype that is plain data, kept in one of the twelve dtypes a file can hold.

Bits are never rounded: complex numbers become pairs of floats, dates become 64-bit counts,
big-endian numbers are swapped, fixed-length text becomes bytes. The dtype itself is recorded by
name. `array_file` stores the result; `document` records the names.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

import numpy as np

from ..types import Array

STORED_DTYPES: Final[dict[str, np.dtype[Any]]] = {
    "BOOL": np.dtype(np.bool_),
    "U8": np.dtype("u1"),
    "I8": np.dtype("i1"),
    "U16": np.dtype("<u2"),
    "I16": np.dtype("<i2"),
    "U32": np.dtype("<u4"),
    "I32": np.dtype("<i4"),
    "U64": np.dtype("<u8"),
    "I64": np.dtype("<i8"),
    "F16": np.dtype("<f2"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
}
_PLAIN_NAMES: Final = frozenset(
    [*(dtype.name for dtype in STORED_DTYPES.values()), "complex64", "complex128"]
)
_TIME: Final = r"[<>][mM]8(\[(\d{1,9})?(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?"
_SPELLED: Final = re.compile(rf">[iu][248]|>f[248]|>c(8|16)|[<>]U\d{{1,7}}|\|[SV]\d{{1,8}}|{_TIME}")
_MAX_EMPTY_ITEM: Final = 1 << 16
_MAX_CODE_POINT: Final = 0x10FFFF


def dtype_name(dtype: np.dtype[Any]) -> str:
    """The name a dtype is recorded by: `float32`, or numpy's spelling such as `>f4`, `<U5`.

    Raises:
        TypeError: The dtype cannot be kept as plain numbers.

    Example:
        >>> dtype_name(np.dtype("float32")), dtype_name(np.dtype(">i2"))
        ('float32', '>i2')
    """
    if dtype.fields is None and dtype.subdtype is None:
        if dtype.isnative and dtype.name in _PLAIN_NAMES:
            return str(dtype.name)
        spelling: str = dtype.str
        if _SPELLED.fullmatch(spelling) and np.dtype(spelling) == dtype and dtype.itemsize:
            return spelling
    raise TypeError(f"dtype {dtype} has no lossless plain layout")


def dtype_from_name(name: str) -> np.dtype[Any]:
    """The dtype a name records; the inverse of `dtype_name`.

    Raises:
        ValueError: No dtype of ours has that name.
    """
    if name in _PLAIN_NAMES or _SPELLED.fullmatch(name):
        try:
            dtype = np.dtype(name)
        except (TypeError, ValueError, OverflowError):
            dtype = None
        if dtype is not None and dtype.itemsize:
            return dtype
    raise ValueError(f"unknown dtype {name[:40]!r}")


def stored_layout(
    dtype: np.dtype[Any], shape: tuple[int, ...]
) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """The dtype and shape under which an array of `dtype` and `shape` is kept in a file.

    Example:
        >>> stored_layout(np.dtype("complex64"), (3,))
        (dtype('float32'), (3, 2))
    """
    if dtype.kind == "c":
        return np.dtype(f"<f{dtype.itemsize // 2}"), (*shape, 2)
    if dtype.kind in "mM":
        return np.dtype("<i8"), shape
    if dtype.kind in "USV":
        return np.dtype("u1"), (*shape, dtype.itemsize)
    return dtype.newbyteorder("<"), shape


def to_stored(array: Array) -> Array:
    """`array` bit for bit in its stored layout, contiguous and little-endian."""
    dense = np.asarray(array, order="C")
    if not dense.dtype.newbyteorder("<").isnative:
        raise TypeError("writing needs a little-endian machine")
    if dense.dtype.byteorder == ">":
        dense = dense.byteswap().view(dense.dtype.newbyteorder("<"))
    dtype, shape = stored_layout(dense.dtype, dense.shape)
    if not dense.size:
        if dense.dtype.itemsize > _MAX_EMPTY_ITEM:
            raise TypeError(f"dtype {dense.dtype} is too wide for an empty array")
        return np.empty(shape, dtype)
    return dense.reshape(-1).view(dtype).reshape(shape)


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array without items; numpy sets aside one item's memory even then."""
    if dtype.itemsize > _MAX_EMPTY_ITEM:
        raise ValueError(f"dtype {dtype} is too wide for an empty array")
    return np.empty(shape, dtype)


def from_stored(stored: Array, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """The array of `dtype` and `shape` whose stored layout is `stored`.

    Raises:
        ValueError: The bits are none a value of `dtype` can have.
    """
    if dtype.kind == "b" and stored.size and int(stored.view(np.uint8).max()) > 1:
        raise ValueError("a bool is neither 0 nor 1")
    if not math.prod(shape):
        return empty(shape, dtype)
    little: Array = stored.reshape(-1).view(dtype.newbyteorder("<"))
    if dtype.kind == "U" and int(little.view("<u4").max()) > _MAX_CODE_POINT:
        raise ValueError("a character is beyond Unicode")
    if dtype.byteorder == ">":
        little = little.byteswap().view(dtype)
    return little.reshape(shape)
