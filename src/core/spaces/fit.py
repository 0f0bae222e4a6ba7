"""Why a value does not lie in a space, in words: where, what was expected, what was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from ..data.budget import MAX_DEPTH
from ..errors import LimitExceededError
from ..nest import path_text
from ..types import Array, Nest, Path
from .text import describe
from .walk import AnySpace, children_of, form_mismatch, kind_of


def explain_mismatch(space: AnySpace, value: Nest) -> str | None:
    """The first reason why `value` is no member of `space`, or None if it is one.

    Lists of numbers count as arrays, as gymnasium has it.

    Example:
        >>> from gymnasium.spaces import Box, Dict
        >>> explain_mismatch(Dict(eye=Box(0, 1, (2,))), {"eye": np.zeros(3, np.float32)})
        "value['eye']: expected shape (2,), found (3,)"
    """
    return _explain(space, value, ())


def _explain(space: AnySpace, value: Any, path: Path) -> str | None:
    if len(path) > MAX_DEPTH:
        raise LimitExceededError("a space is nested too deeply", expected=f"{MAX_DEPTH} levels")
    kind = kind_of(space)
    if kind in ("Dict", "FlexDict", "Tuple"):
        reason: tuple[str, str] | None = form_mismatch(space, value)
        if reason is None:
            below = ((child, value[key], (*path, key)) for key, child in children_of(space))
            return next(filter(None, (_explain(*parts) for parts in below)), None)
    elif kind in ("Sequence", "Repeated") and not getattr(space, "stack", False):
        return _explain_items(space, kind, value, path)
    elif kind == "OneOf":
        return _explain_choice(space, value, path)
    else:
        reason = _EXPLAIN.get(kind, _explain_by_asking)(space, value)
    if reason is None:
        return None
    expected, found = reason
    return f"{path_text(path)}: expected {expected}, found {found}"


def _explain_items(space: Any, kind: str, value: Any, path: Path) -> str | None:
    form, longest = (tuple, None) if kind == "Sequence" else (list, int(space.max_len))
    if not isinstance(value, form):
        return f"{path_text(path)}: expected a {form.__name__}, found {_type(value)}"
    if longest is not None and len(value) > longest:
        return f"{path_text(path)}: expected at most {longest} items, found {len(value)}"
    child = space.feature_space if kind == "Sequence" else space.child_space
    reasons = (_explain(child, item, (*path, place)) for place, item in enumerate(value))
    return next(filter(None, reasons), None)


def _explain_choice(space: Any, value: Any, path: Path) -> str | None:
    here, count = path_text(path), len(space.spaces)
    if not isinstance(value, tuple) or len(value) != 2:
        return f"{here}: expected a pair (choice, value), found {_type(value)}"
    choice = value[0]
    if not isinstance(choice, (int, np.int64)) or not 0 <= choice < count:
        return f"{here}[0]: expected a choice from 0 to {count - 1}, found {_shown(choice)}"
    return _explain(space.spaces[int(choice)], value[1], (*path, 1))


def _explain_box(space: Any, value: Any) -> tuple[str, str] | None:
    if not isinstance(value, np.ndarray):
        value = _cast(value, space.dtype)
        if isinstance(value, str):
            return f"an array of {space.dtype}", value
    return (
        _array_mismatch(space, value)
        or _bound_mismatch(value, value >= space.low, space.low, ">=")
        or _bound_mismatch(value, value <= space.high, space.high, "<=")
    )


def _explain_discrete(space: Any, value: Any) -> tuple[str, str] | None:
    dtype = np.dtype(space.dtype)
    if isinstance(value, (np.generic, np.ndarray)):
        if value.dtype.kind not in "iu" or value.shape != ():
            return "one integer", _type(value)
        if not np.can_cast(value.dtype, dtype):
            return f"an integer that fits {dtype}", str(value.dtype)
    elif not isinstance(value, int):
        return "one integer", _type(value)
    first, last = int(space.start), int(space.start) + int(space.n) - 1
    return None if first <= int(value) <= last else (f"{first} to {last}", str(value))


def _explain_multi_discrete(space: Any, value: Any) -> tuple[str, str] | None:
    array = _as_array(value)
    if array is None:
        return f"an array of {space.dtype}", _type(value)
    first = getattr(space, "start", np.zeros_like(space.nvec))
    last = first + (space.nvec - 1)
    return (
        _array_mismatch(space, array)
        or _bound_mismatch(array, array >= first, first, ">=")
        or _bound_mismatch(array, array <= last, last, "<=")
    )


def _explain_multi_binary(space: Any, value: Any) -> tuple[str, str] | None:
    array = _as_array(value)
    if array is None:
        return "an array of zeros and ones", _type(value)
    if array.shape != space.shape:
        return f"shape {space.shape}", str(array.shape)
    if bool(np.logical_or(array == 0, array == 1).all()):
        return None
    return "zeros and ones", _shown(array)


def _explain_text(space: Any, value: Any) -> tuple[str, str] | None:
    if not isinstance(value, str):
        return "a text", _type(value)
    if not space.min_length <= len(value) <= space.max_length:
        return f"{space.min_length} to {space.max_length} characters", str(len(value))
    foreign = sorted(set(value) - set(space.character_set))
    return (f"only its {len(space.character_set)} characters", _shown(foreign)) if foreign else None


def _explain_simplex(space: Any, value: Any) -> tuple[str, str] | None:
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return "an array of shares", _type(value)
    if value.shape != space.shape:
        return f"shape {space.shape}", str(value.shape)
    if space.contains(value):
        return None
    return "shares >= 0 that sum to one along the last axis", _shown(value)


def _explain_by_asking(space: Any, value: Any) -> tuple[str, str] | None:
    try:
        fits = bool(space.contains(value))
    except Exception:  # a foreign value may break any foreign check; then it does not fit
        fits = False
    return None if fits else (f"a value of {describe(space)}", _type(value))


_EXPLAIN: Final[dict[str, Callable[[Any, Any], tuple[str, str] | None]]] = {
    "Box": _explain_box,
    "Discrete": _explain_discrete,
    "MultiDiscrete": _explain_multi_discrete,
    "MultiBinary": _explain_multi_binary,
    "Text": _explain_text,
    "Simplex": _explain_simplex,
}


def _as_array(value: Any) -> Array | None:
    if isinstance(value, np.ndarray):
        return value
    if not isinstance(value, Sequence):
        return None
    try:
        return np.array(value)
    except ValueError:  # lists of different lengths
        return None


def _cast(value: Any, dtype: np.dtype[Any]) -> Array | str:
    """A value as an array of `dtype`, or words for what it is instead."""
    try:
        array = np.asarray(value)
        if dtype.kind in "iu" and array.dtype.kind in "iu" and array.size:
            # Older numpy wraps what does not fit.
            limits = np.iinfo(dtype)
            if int(array.min()) < limits.min or int(array.max()) > limits.max:
                return f"numbers from {array.min()} to {array.max()}"
        return np.asarray(value, dtype)
    except (ValueError, TypeError, OverflowError):
        return _type(value)


def _array_mismatch(space: Any, array: Array) -> tuple[str, str] | None:
    if array.shape != space.shape:
        return f"shape {space.shape}", str(array.shape)
    if not np.can_cast(array.dtype, space.dtype):
        return f"dtype {space.dtype}", str(array.dtype)
    return None


def _bound_mismatch(array: Array, fits: Any, bound: Array, sign: str) -> tuple[str, str] | None:
    fits = np.asarray(fits)
    if fits.all():
        return None
    place = np.unravel_index(int(np.argmin(fits)), fits.shape)
    count = int(fits.size - np.count_nonzero(fits))
    others = f" (and {count - 1} more outside)" if count > 1 else ""
    at = ", ".join(str(int(index)) for index in place)
    where = f" at [{at}]" if at else ""
    return f"{sign} {bound[place]}{where}", f"{array[place]}{others}"


def _type(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    return f"a {type(value).__name__}"


def _shown(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


_END: Final = float(np.finfo(np.float32).max)


def open_ended(space: Any) -> Any:
    """A space with infinite bounds in place of those at the end of float32, as in gymnasium 1.0.

    gym's CartPole ends at 3.4e38 where gymnasium 1.0's is infinite: nothing changed.

    Example:
        >>> open_ended(spaces.Box(np.float32([-_END, 0]), np.float32([_END, 1])))
        Box([-inf   0.], [inf  1.], (2,), float32)
    """
    if isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.floating):
        low = np.where(space.low <= -_END, -np.inf, space.low)
        high = np.where(space.high >= _END, np.inf, space.high)
        if (low == space.low).all() and (high == space.high).all():
            return space
        return spaces.Box(low.astype(space.dtype), high.astype(space.dtype), dtype=space.dtype)
    if type(space) not in (spaces.Dict, spaces.Tuple):
        return space
    is_dict = isinstance(space, spaces.Dict)
    before = [*space.spaces.values()] if is_dict else space.spaces
    parts = [open_ended(part) for part in before]
    if all(one is other for one, other in zip(parts, before, strict=True)):
        return space
    return spaces.Dict([*zip(space.spaces, parts, strict=True)]) if is_dict else spaces.Tuple(parts)
