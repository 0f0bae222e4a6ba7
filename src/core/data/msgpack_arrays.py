"""Arrays and numbers inside msgpack, as Ray's checkpoints hold them (the msgpack-numpy layout).

    array    {nd: True,  type: '<f4', kind: b'', shape: [2, 3], data: bytes}
    scalar   {nd: False, type: '<f8', data: bytes}
    complex  {complex: True, data: '(1+2j)'}

Keys are bytes in Ray's files; text keys are read too. An array of kind `O` is a pickle: it is
refused, or handed to the caller's `on_pickle`, never run. Decoded arrays share the file's bytes.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from ..errors import SpaceError, UnsafeCheckpointError
from .budget import checked_bytes, checked_dtype, checked_shape, corrupt

_COMPLEX: Final = re.compile(r"\(?[-+0-9.einfaj]{1,80}\)?")
_TEXT_DTYPE: Final = re.compile(r"[<>|=]?[SU]\d{1,9}")
_TIME_DTYPE: Final = re.compile(r"[<>|=]?[mM]8(\[(\d{0,6})(Y|M|W|D|h|m|s|ms|us|ns)\])?")
_MAX_EMPTY_PRODUCT: Final = 1 << 20
"""Limit of the product of the other axes of an empty array: each row may become a list."""


def encode_msgpack_object(value: Any) -> Any:
    r"""An array or number as a dict that msgpack can hold; usable as `default=` of msgpack.

    Example:
        >>> encode_msgpack_object(np.float32(1.0))
        {b'nd': False, b'type': '<f4', b'data': b'\x00\x00\x80?'}
    """
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "OV":
            raise SpaceError(
                "an array has no msgpack form", expected="numbers", found=f"dtype {value.dtype}"
            )
        return {
            b"nd": True,
            b"type": value.dtype.str,
            b"kind": b"",
            b"shape": list(value.shape),
            b"data": value.tobytes(),
        }
    if isinstance(value, (np.bool_, np.number)):
        return {b"nd": False, b"type": value.dtype.str, b"data": value.tobytes()}
    if isinstance(value, complex):
        return {b"complex": True, b"data": repr(value)}
    raise TypeError(f"cannot pack {type(value).__name__} objects into msgpack")


def decode_msgpack_object(
    value: Mapping[Any, Any], *, on_pickle: Callable[[bytes], Any] | None = None
) -> Any:
    """The array or number a dict stands for; any other dict as it is; an `object_hook` of msgpack.

    Nothing is allocated beyond what the data already takes: its length must match shape and type.
    `on_pickle` gets the bytes of an object array and says what stands in its place; without it such
    an array is refused.
    """
    is_array = _get(value, "nd")
    if isinstance(is_array, bool) and _get(value, "type") is not None:
        return _decode_array(value, on_pickle) if is_array else _decode_scalar(value)
    if _get(value, "complex") is True:
        text = _get(value, "data")
        if isinstance(text, bytes):
            text = text.decode("latin-1")
        if not isinstance(text, str) or not _COMPLEX.fullmatch(text):
            raise corrupt("a complex number is unreadable", expected="'(1+2j)'", found=text)
        try:
            return complex(text)
        except ValueError:
            raise corrupt("a complex number is unreadable", found=text) from None
    return value


def _get(value: Mapping[Any, Any], key: str) -> Any:
    item = value.get(key.encode())
    return value.get(key) if item is None else item


def _data(value: Mapping[Any, Any]) -> bytes | memoryview:
    data = _get(value, "data")
    if isinstance(data, (bytes, bytearray, memoryview)):
        return memoryview(data).toreadonly()
    raise corrupt("an array has no data", expected="bytes", found=data)


def _dtype(value: Mapping[Any, Any]) -> np.dtype[Any]:
    declared: Any = _get(value, "type")
    if isinstance(declared, bytes):
        declared = declared.decode("latin-1")
    if isinstance(declared, (list, tuple)):
        raise UnsafeCheckpointError("an array has fields", expected="plain numbers")
    is_text = isinstance(declared, str)
    if is_text and (_TIME_DTYPE.fullmatch(declared) or _TEXT_DTYPE.fullmatch(declared)):
        try:
            return np.dtype(str(declared))
        except (TypeError, ValueError, OverflowError):
            raise corrupt("an array has no valid dtype", found=declared) from None
    return checked_dtype(declared, "an array")


def _decode_array(value: Mapping[Any, Any], on_pickle: Callable[[bytes], Any] | None) -> Any:
    if _get(value, "kind") in (b"O", "O"):
        if on_pickle is None:
            raise UnsafeCheckpointError(
                "an array holds pickled objects",
                expected="numbers",
                found="an object array",
                hint="rlconnect reads such a file only through its own unpickler.",
            )
        return on_pickle(bytes(_data(value)))
    dtype = _dtype(value)
    shape = checked_shape(_get(value, "shape"), "an array")
    data = _data(value)
    if 0 in shape and math.prod(max(size, 1) for size in shape) > _MAX_EMPTY_PRODUCT:
        raise corrupt("an empty array has axes that are too long", found=shape)
    if checked_bytes(shape, dtype) != len(data):
        raise corrupt(
            f"an array of shape {shape} and dtype {dtype} does not fit its data",
            expected=f"{checked_bytes(shape, dtype):,} bytes",
            found=f"{len(data):,}",
        )
    _check_text(data, dtype)
    return np.ndarray(shape, dtype, data)


def _decode_scalar(value: Mapping[Any, Any]) -> Any:
    dtype, data = _dtype(value), _data(value)
    if len(data) != dtype.itemsize:
        raise corrupt(
            f"a {dtype} number does not fit its data",
            expected=f"{dtype.itemsize} bytes",
            found=f"{len(data):,}",
        )
    _check_text(data, dtype)
    return np.ndarray((), dtype, data)[()]


def _check_text(data: bytes | memoryview, dtype: np.dtype[Any]) -> None:
    """Refuse codes beyond the last character, which numpy would pass on to break later."""
    if dtype.kind == "U":
        codes = np.frombuffer(data, dtype.byteorder + "u4")
        if codes.size and int(codes.max()) > sys.maxunicode:
            raise corrupt("an array of text holds no valid characters")
