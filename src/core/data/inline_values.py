"""Small arrays as numbers a person can read, wherever that keeps every bit.

`to_values` offers nested lists of numbers (`inf`, `-inf` and `nan` as text) and gives None where
they would lose a bit; `from_values` reads them back and trusts none of them.
"""

from __future__ import annotations

from itertools import chain
from typing import Any, Final

import numpy as np

from ..types import Array
from .budget import Budget
from .dtype_storage import empty, from_stored, stored_layout, to_stored

_SPECIAL: Final = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}
_PADDING: Final = 64


def to_values(array: Array) -> Any | None:
    """Rows of numbers or text that `from_values` turns back into exactly `array`, or None.

    Example:
        >>> to_values(np.array([0.1, -np.inf], np.float32))
        [0.1, '-inf']
    """
    kind = array.dtype.kind
    if not array.size:
        return []
    values: Any
    if kind == "U":
        values = array.tolist()
    elif kind in "SV":
        return None
    elif kind in "fc":
        stored = to_stored(array)
        values = _float_values(stored)
        if stored.dtype.itemsize <= 8 and np.isfinite(stored).all():
            return values  # they have no other bits
    else:
        values = to_stored(array).tolist()
        if kind in "iu":
            return values
    try:
        again = from_values(values, array.dtype, array.shape)
    except ValueError:
        return None
    return values if again.tobytes() == array.tobytes() else None


def from_values(
    values: Any, dtype: np.dtype[Any], shape: tuple[int, ...], budget: Budget | None = None
) -> Array:
    """The array of `dtype` and `shape` that rows of numbers or text describe.

    Raises:
        LimitExceededError: It would be larger than allowed.
        ValueError: The rows do not fill the shape, or an item does not fit the dtype.
    """
    if 0 in shape:
        if values != []:
            raise ValueError("an empty array has values")
        return empty(shape, dtype)
    if dtype.kind == "U":
        return _texts(_flat(values, shape), dtype, budget).reshape(shape)
    stored_dtype, stored_shape = stored_layout(dtype, shape)
    flat = _flat(values, stored_shape)
    if budget is not None:
        budget.spend(8 * len(flat) + len(flat) * stored_dtype.itemsize, "an array")
    match dtype.kind:
        case "f" | "c":
            stored = _floats(flat, stored_dtype)
        case "b":
            stored = _typed(flat, stored_dtype, bool)
        case "i" | "u" | "m" | "M":
            bounds = np.iinfo(stored_dtype)
            stored = _typed(flat, stored_dtype, int, int(bounds.min), int(bounds.max))
        case _:
            raise ValueError(f"dtype {dtype} has no readable values")
    return from_stored(stored.reshape(stored_shape), dtype, shape)


def _float_values(stored: Array) -> Any:
    """The shortest decimals that read back as the same floats; nan and infinities as text."""
    exact = stored.astype(np.float64)
    if stored.dtype.itemsize < 8:
        # 0.1 rather than 0.10000000149011612, unless rounding twice would miss a bit.
        short = stored.astype(str).astype(np.float64)
        if bool(((short.astype(stored.dtype) == stored) | (stored != stored)).all()):
            exact = short
    if np.isfinite(exact).all():
        return exact.tolist()
    return np.where(np.isfinite(exact), exact.astype(object), exact.astype(str)).tolist()


def _flat(values: Any, shape: tuple[int, ...]) -> list[Any]:
    """Nested rows as one list, each row held against its length in `shape`."""
    rows = [values]
    for length in shape:
        if not all(isinstance(row, list) and len(row) == length for row in rows):
            raise ValueError("its rows do not fill its shape")
        rows = list(chain.from_iterable(rows))
    return rows


def _typed(flat: list[Any], dtype: np.dtype[Any], kind: type, low: int = 0, high: int = 1) -> Array:
    if not all(type(item) is kind for item in flat):
        raise ValueError(f"an item is no {kind.__name__}")
    if min(flat) < low or max(flat) > high:
        raise ValueError(f"an item does not fit {dtype}")
    return np.array(flat, dtype)


def _floats(flat: list[Any], dtype: np.dtype[Any]) -> Array:
    if not all(type(item) in (int, float) or item in _SPECIAL for item in flat):
        raise ValueError("an item is no number")
    exact = np.array([_SPECIAL.get(item, item) for item in flat], np.float64)
    with np.errstate(over="ignore"):
        floats = exact.astype(dtype)
    if bool((np.isinf(exact) != np.isinf(floats)).any()):
        raise ValueError(f"an item does not fit {dtype}")
    return floats


def _texts(flat: list[Any], dtype: np.dtype[Any], budget: Budget | None) -> Array:
    if not all(isinstance(item, str) for item in flat):
        raise ValueError("an item is no text")
    length = sum(map(len, flat))
    if max(map(len, flat)) * 4 > dtype.itemsize:
        raise ValueError(f"an item does not fit {dtype}")
    # Numpy pads each text to the longest; a few letters must not unfold to gigabytes.
    if len(flat) * dtype.itemsize > _PADDING * (length + len(flat)) + 4096:
        raise ValueError("its padding is out of proportion")
    if budget is not None:
        budget.spend(len(flat) * dtype.itemsize, "an array of text")
    if any("\ud800" <= letter <= "\udfff" for text in flat for letter in text):
        raise ValueError("an item is no Unicode text")
    return np.array(flat, dtype)
