"""Arrays as plain data that JSON and msgpack both hold exactly, and the forms Ray wrote.

Our own form is one of three, whichever is most readable:

    {"dtype": "float32", "shape": [2], "values": [0.5, "-inf"]}     few elements
    {"dtype": "uint8", "shape": [84, 84], "fill": 255}              all elements alike
    {"dtype": "float64", "shape": [300], "base64": "..."}           the rest, in C order

Each gives back the very bits: infinities are the strings "inf" and "-inf", a NaN is "nan" (one with
a payload goes the way of base64), complex numbers are pairs. Ray's text form is in `ray_arrays`,
the form inside msgpack files in `msgpack_arrays`; both are offered here too.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from ..errors import SpaceError
from ..types import Array
from .budget import (
    Budget,
    allowance,
    checked_bytes,
    checked_dtype,
    checked_shape,
    corrupt,
)
from .msgpack_arrays import decode_msgpack_object, encode_msgpack_object
from .ray_arrays import decode_ray_array, encode_ray_array

__all__ = [
    "array_from_data",
    "array_to_data",
    "decode_msgpack_object",
    "decode_ray_array",
    "dtype_name",
    "encode_msgpack_object",
    "encode_ray_array",
]

_READABLE: Final = 16
"""Arrays of up to so many elements are written as numbers."""

_SPECIAL: Final = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def dtype_name(dtype: np.dtype[Any]) -> str:
    """The name of a number dtype: 'float32' if little-endian, a code such as '>f4' if not."""
    if dtype.kind not in "biufc":
        raise SpaceError(
            "an array cannot be written as plain data",
            expected="numbers",
            found=f"dtype {dtype}",
        )
    is_little = dtype.newbyteorder("<") == dtype
    return str(dtype.name if is_little else dtype.str)


def array_to_data(array: Array) -> dict[str, Any]:
    """The array as plain data; see the module's description for the form.

    Example:
        >>> array_to_data(np.array([0.1, -np.inf], np.float32))
        {'dtype': 'float32', 'shape': [2], 'values': [0.1, '-inf']}
    """
    data: dict[str, Any] = {"dtype": dtype_name(array.dtype), "shape": list(array.shape)}
    readable = array.dtype.itemsize <= (16 if array.dtype.kind == "c" else 8)
    if readable and array.size > 1 and _is_uniform(array):
        element = _values_if_exact(array[(slice(0, 1),) * array.ndim])
        if element is not None:
            return {**data, "fill": element[0]}
    if readable and array.size <= _READABLE:
        values = _values_if_exact(array)
        if values is not None:
            return {**data, "values": values}
    return {**data, "base64": base64.b64encode(array.tobytes()).decode("ascii")}


def array_from_data(
    data: Any,
    *,
    max_bytes: int | None = None,
    budget: Budget | None = None,
    what: str = "an array",
) -> Array:
    """The array that `array_to_data` described; base64 data gives a read-only array.

    Args:
        data: A mapping with dtype, shape and one of values, fill, base64.
        max_bytes: The largest array that may be allocated; None for what the load may still take.
        budget: Used instead of `max_bytes` when the array is part of something larger.
        what: How errors name the array.

    Raises:
        CorruptCheckpointError: Dtype, shape and content contradict each other.
        LimitExceededError: The array would be larger than allowed.
    """
    if not isinstance(data, Mapping):
        raise corrupt(f"{what} is no array", expected="a mapping", found=data)
    budget = allowance(max_bytes) if budget is None else budget
    dtype = _little(checked_dtype(data.get("dtype"), what))
    shape = checked_shape(data.get("shape"), what)
    size = checked_bytes(shape, dtype)
    budget.spend(size, what)
    if "fill" in data:
        return np.full(shape, _element(data["fill"], dtype, what), dtype)
    if "values" in data:
        values = data["values"]
        count = size // dtype.itemsize
        if not isinstance(values, (list, tuple)) or len(values) != count:
            raise corrupt(f"{what} has not one value each", expected=f"{count} values")
        array = np.empty(count, dtype)
        for place, value in enumerate(values):
            array[place] = _element(value, dtype, what)
        return array.reshape(shape)
    return _from_base64(data.get("base64"), shape, dtype, size, what)


def _from_base64(
    text: Any, shape: tuple[int, ...], dtype: np.dtype[Any], size: int, what: str
) -> Array:
    if not isinstance(text, str):
        raise corrupt(f"{what} has no content", expected="values, fill or base64", found=text)
    if len(text) != (size + 2) // 3 * 4:
        raise corrupt(
            f"{what} does not fit its shape",
            expected=f"{size:,} bytes",
            found=f"about {len(text) // 4 * 3:,}",
        )
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise corrupt(f"{what} is not valid base64", found=text[:32]) from None
    if len(content) != size:
        raise corrupt(f"{what} does not fit its shape", expected=f"{size:,} bytes")
    array: Array = np.ndarray(shape, dtype, content)
    return array


def _little(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Names mean little-endian; only an explicit '>' means otherwise."""
    return dtype if dtype.str.startswith(">") else dtype.newbyteorder("<")


def _is_uniform(array: Array) -> bool:
    """Whether all elements have the same bits."""
    # A view of the bits as integers tells -0.0 from 0.0 and one NaN from another.
    bits = np.ascontiguousarray(array).view(np.uint8).reshape(-1, array.dtype.itemsize)
    return bool((bits == bits[0]).all())


def _values_if_exact(array: Array) -> list[Any] | None:
    """The elements as plain values in C order, or None if some NaN would lose bits."""
    flat = np.ascontiguousarray(array).reshape(-1)
    values = [_plain(element) for element in flat]
    if array.dtype.kind in "fc":
        back = np.array([_number(value) for value in values], array.dtype)
        if back.tobytes() != flat.tobytes():
            return None
    return values


def _plain(element: np.generic) -> Any:
    if isinstance(element, np.complexfloating):
        return [_plain(element.real), _plain(element.imag)]
    if not isinstance(element, np.floating):
        return element.item()
    if not np.isfinite(element):
        return str(float(element))
    # The shortest text of a float32 reads better than its float64 twin: 0.1, not 0.10000000149.
    short = float(str(element))
    return short if type(element)(short) == element else float(element)


def _number(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return complex(_number(value[0]), _number(value[1]))
    return _SPECIAL.get(value, math.nan) if isinstance(value, str) else value


def _element(value: Any, dtype: np.dtype[Any], what: str) -> Any:
    """One plain value as a number that `dtype` holds exactly, or CorruptCheckpointError."""
    if dtype.kind == "b":
        fits = isinstance(value, bool)
    elif dtype.kind in "iu":
        fits = isinstance(value, int) and not isinstance(value, bool)
        fits = fits and np.iinfo(dtype).min <= value <= np.iinfo(dtype).max
    elif dtype.kind == "c":
        fits = isinstance(value, (list, tuple)) and len(value) == 2 and all(map(_is_real, value))
    else:
        fits = _is_real(value)
    if not fits:
        raise corrupt(f"a value of {what} does not fit", expected=f"a {dtype}", found=value)
    number = _number(value)
    if dtype.kind in "fc" and _overflows(number, dtype):
        raise corrupt(f"a value of {what} is out of range", expected=f"a {dtype}", found=value)
    return number


def _is_real(value: Any) -> bool:
    if isinstance(value, str):
        return value in _SPECIAL
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _overflows(number: complex, dtype: np.dtype[Any]) -> bool:
    try:
        with np.errstate(over="ignore"):
            return bool(np.isfinite(number) and not np.isfinite(dtype.type(number)))
    except (OverflowError, TypeError):  # an integer beyond any float
        return True
