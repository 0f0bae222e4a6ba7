"""Arrays as plain data that JSON and msgpack both hold exactly, and the forms Ray wrote.

Our own form is one of three, whichever is most readable:

    {"dtype": "float32", "shape": [2], "values": [0.5, "-inf"]}     few elements
    {"dtype": "uint8", "shape": [84, 84], "fill": 255}              all elements alike
    {"dtype": "float64", "shape": [300], "base64": "..."}           the rest, in C order

Each gives back the very bits: infinities are the strings "inf" and "-inf", a NaN is "nan" (one with
a payload goes the way of base64), complex numbers are pairs. Ray's text form is in `ray_arrays`,
the form inside msgpack files in `msgpack_arrays`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from ..errors import SpaceError
from ..types import Array
from .budget import Budget, allowance, checked_bytes, checked_dtype, checked_shape, corrupt
from .inline_values import from_values, to_values

_READABLE: Final = 16
"""Arrays of up to so many elements are written as numbers."""


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
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.dtype.itemsize <= (16 if flat.dtype.kind == "c" else 8):
        is_uniform = flat.size > 1 and _is_uniform(flat)
        few = flat[:1] if is_uniform else flat
        values = to_values(few) if few.size <= _READABLE else None
        if values is not None:
            return {**data, "fill": values[0]} if is_uniform else {**data, "values": values}
    return {**data, "base64": base64.b64encode(array.tobytes()).decode("ascii")}


def array_from_data(data: Any, *, budget: Budget | None = None, what: str = "an array") -> Array:
    """The array that `array_to_data` described; base64 data gives a read-only array.

    It is paid from `budget`; without one, from what the load that runs may still take.
    """
    if not isinstance(data, Mapping):
        raise corrupt(f"{what} is no array", expected="a mapping", found=data)
    budget = allowance() if budget is None else budget
    dtype = checked_dtype(data.get("dtype"), what)
    # Names mean little-endian; only an explicit '>' means otherwise.
    dtype = dtype if dtype.str.startswith(">") else dtype.newbyteorder("<")
    shape = checked_shape(data.get("shape"), what)
    size = checked_bytes(shape, dtype)
    budget.spend(size, what)
    try:
        if "fill" in data:
            return np.full(shape, from_values([data["fill"]], dtype, (1,))[0], dtype)
        if "values" in data:
            count = (size // dtype.itemsize,)
            return from_values(data["values"], dtype, count).reshape(shape)
    except (ValueError, TypeError, OverflowError) as error:
        raise corrupt(f"{what} does not hold its values: {error}", expected=str(dtype)) from None
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


def _is_uniform(flat: Array) -> bool:
    # A view of the bits as integers tells -0.0 from 0.0 and one NaN from another.
    bits = flat.view(np.uint8).reshape(-1, flat.dtype.itemsize)
    return bool((bits == bits[0]).all())
