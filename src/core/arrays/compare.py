"""Compare two nests within a tolerance.

`differences` tells every leaf; `check` is RLlib's test helper, which raises at the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import array_namespace as xp
from ..nest import path_text
from ..types import Array, Nest, Path


def differences(
    a: Nest, b: Nest, atol: float = 0.0, rtol: float = 0.0, *, dtypes: bool = False
) -> list[str]:
    """List the differences of two nests of arrays, tensors and numbers, one line per leaf.

    A leaf is equal if `|a - b| <= atol + rtol * |b|`; nan equals nan. Dicts need the same keys,
    lists and tuples the same length, arrays the same shape. With `dtypes`, different dtypes are a
    difference.

    Example:
        >>> differences({"a": [1.0, 2.0]}, {"a": [1.0, 2.5]}, atol=0.1)
        ["value['a'][1]: 2.0 is not 2.5, off by 0.5"]
    """
    lines: list[str] = []
    stack: list[tuple[Path, Any, Any]] = [((), a, b)]
    while stack:
        path, x, y = stack.pop()
        parts, reason = _children(path, x, y)
        if parts is not None:
            stack.extend(reversed(parts))
            continue
        reason = reason or _leaf_difference(x, y, atol, rtol, dtypes)
        if reason:
            lines.append(f"{path_text(path)}: {reason}")
    return lines


def check(
    x: Nest,
    y: Nest,
    decimals: int = 5,
    atol: float | None = None,
    rtol: float | None = None,
    false: bool = False,
) -> None:
    """Assert that two nests are equal, or with `false` that they differ in every leaf.

    Args:
        x: What there is.
        y: What there should be. Keys that only `y` has are not looked at.
        decimals: Numbers may differ by less than 1.5 units of this decimal, if no tolerance is
            given.
        atol: Absolute tolerance, instead of `decimals`.
        rtol: Relative tolerance, instead of `decimals`; 1e-7 if only `atol` is given.
        false: Assert the opposite.

    Raises:
        AssertionError: The assertion does not hold.

    Example:
        >>> check({"a": 1.0}, {"a": np.float32(1.000001)})
    """
    if isinstance(x, Mapping):
        assert isinstance(y, Mapping), f"x is a dict, y is a {type(y).__name__}: {y!r}"
        for key, value in x.items():
            assert key in y, f"y lacks the key {key!r} of x; it has {list(y)}"
            check(value, y[key], decimals, atol, rtol, false)
    elif isinstance(x, (tuple, list)):
        assert isinstance(y, (tuple, list)), f"x is a {type(x).__name__}, y is {y!r}"
        assert len(x) == len(y), f"x has {len(x)} items, y has {len(y)}"
        for one, other in zip(x, y, strict=True):
            check(one, other, decimals, atol, rtol, false)
    else:
        if atol is None and rtol is None:
            atol, rtol = np.nextafter(1.5 * 10.0**-decimals, 0), 0.0
        else:
            atol, rtol = atol or 0.0, 1e-7 if rtol is None else rtol
        reason = _leaf_difference(x, y, atol, rtol, False, scalars_broadcast=True)
        if false:
            assert reason, f"x ({x!r}) is the same as y ({y!r})"
        else:
            assert not reason, f"x is not the same as y: {reason}"


def _children(path: Path, x: Any, y: Any) -> tuple[list[tuple[Path, Any, Any]] | None, str]:
    if isinstance(x, Mapping) or isinstance(y, Mapping):
        if not (isinstance(x, Mapping) and isinstance(y, Mapping)):
            return None, f"a {type(x).__name__} is not a {type(y).__name__}"
        if x.keys() != y.keys():
            only = sorted(map(str, x.keys() ^ y.keys()))
            return None, f"only one of them has the keys {only}"
        return [((*path, key), x[key], y[key]) for key in x], ""
    if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
        if len(x) != len(y):
            return None, f"{len(x)} items are not {len(y)}"
        pairs = zip(x, y, strict=True)
        return [((*path, place), one, other) for place, (one, other) in enumerate(pairs)], ""
    return None, ""


def _leaf_difference(
    x: Any, y: Any, atol: float, rtol: float, dtypes: bool, scalars_broadcast: bool = False
) -> str:
    if x is y or x is None or y is None:
        return "" if x is y else f"{_brief(x)} is not {_brief(y)}"
    one, other = xp.to_numpy(x), xp.to_numpy(y)
    if dtypes and one.dtype != other.dtype:
        return f"dtype {one.dtype} is not {other.dtype}"
    is_scalar = scalars_broadcast and (one.ndim == 0 or other.ndim == 0)
    if one.shape != other.shape and not is_scalar:
        return f"shape {one.shape} is not {other.shape}"
    if one.dtype.kind not in "biufc" or other.dtype.kind not in "biufc":
        return "" if _is_same(x, y, one, other) else f"{_brief(x)} is not {_brief(y)}"
    return _number_difference(one, other, atol, rtol)


def _is_same(x: Any, y: Any, one: Array, other: Array) -> bool:
    if one.ndim and other.ndim:
        return bool(np.all(one == other))
    return bool(np.all(x == y))


def _number_difference(one: Array, other: Array, atol: float, rtol: float) -> str:
    wide = np.result_type(one.dtype, other.dtype, np.float64)
    left, right = np.broadcast_arrays(one.astype(wide), other.astype(wide))
    if not left.size:
        return ""
    # Infinities are equal to themselves only; their difference is not a number.
    with np.errstate(invalid="ignore"):
        gaps = np.where(left == right, 0.0, np.abs(left - right))
        limits = atol + rtol * np.abs(right)
        is_nan = np.isnan(left) & np.isnan(right)
        is_far = ~((gaps <= limits) | is_nan)
    is_far |= np.isinf(right) & (left != right)
    gaps = np.where(is_nan, 0.0, np.where(np.isnan(gaps), np.inf, gaps))
    if not is_far.any():
        return ""
    largest = float(gaps.max())
    count = int(is_far.sum())
    place = tuple(int(n) for n in np.argwhere(is_far)[0])
    a, b = left[place].item(), right[place].item()
    if left.ndim == 0:
        return f"{a} is not {b}, off by {largest:.3g}"
    return (
        f"{count} of {left.size} numbers differ, by {largest:.3g} at most; "
        f"first at {list(place)}: {a} is not {b}"
    )


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
