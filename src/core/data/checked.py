"""Checks of single values from a file, before they are used.

Each raises a ValueError, which `damage.at` tells with its place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..types import Array


def count(value: Any) -> int:
    """A whole number from 0 on.

    Example:
        >>> count(np.int64(3))
        3
    """
    number_of = whole(value)
    if number_of < 0:
        raise ValueError(f"{number_of} is no count")
    return number_of


def whole(value: Any) -> int:
    """A whole number that 64 bits hold; truth values and fractions are none."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        value = int(value)
    if isinstance(value, np.ndarray) and value.shape == () and value.dtype.kind in "iu":
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise ValueError(f"a whole number was expected, not {_short(value)}")
    if not -(2**63) <= value < 2**63:
        raise ValueError("a number beyond 64 bits")
    return int(value)


def flag(value: Any) -> bool:
    """True or False, or 0 or 1 for them."""
    if isinstance(value, (bool, np.bool_, int, np.integer)) and value in (0, 1):
        return bool(value)
    raise ValueError(f"True or False was expected, not {_short(value)}")


def amount(value: Any) -> float:
    """A finite number from 0 on."""
    size = number(value)
    if size < 0:
        raise ValueError(f"{size} is below 0")
    return size


def number(value: Any) -> float:
    """A finite number, or an array of one without a shape."""
    array = np.asarray(value)
    if array.shape != () or array.dtype.kind not in "fiu" or not math.isfinite(array):
        raise ValueError(f"a finite number was expected, not {_short(value)}")
    return float(array)


def real(value: Any) -> Array:
    """An array of numbers, of truth values too; NaN may be among them."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"numbers were expected, not {_short(value)}")
    return array


def shaped(value: Any, shape: Sequence[int]) -> Array:
    """An array of real numbers of a shape."""
    array = real(value)
    if array.shape != tuple(shape):
        raise ValueError(f"shape {tuple(shape)} was expected, not {array.shape}")
    return array


def mapping(value: Any) -> Mapping[Any, Any]:
    """A mapping."""
    if not isinstance(value, Mapping):
        raise ValueError(f"a dict was expected, not {_short(value)}")
    return value


def _short(value: Any) -> str:
    text = repr(value)[:40] if isinstance(value, (str, int, float)) else ""
    return f"{text} ({type(value).__name__})" if text else f"a {type(value).__name__}"
