"""The states of random generators, held to what a generator can have before one is given them.

numpy and torch believe what they are told: a position beyond the table makes them read whatever
lies behind it in memory, and a negative one is taken in silence. States come from files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np

from .tagged import Path, damaged

_WORDS: Final = 624
"""Numbers in the table of a Mersenne twister."""

_PYTHON_VERSION: Final = 3

_TORCH: Final = np.dtype(
    [
        ("seed", "<u8"),
        ("left", "<i4"),
        ("seeded", "<i4"),
        ("next", "<u8"),
        ("words", "<u8", (_WORDS,)),
        ("normal", "<f8", (3,)),
        ("has_normal", "<i4"),
        ("gap", "<u4"),
        ("float_normal", "<f4"),
        ("has_float_normal", "u1"),
        ("end", "u1", (3,)),
    ]
)
"""What torch writes of its generator on a CPU, field by field."""


Check: TypeAlias = Callable[[Any], Any]
"""Gives a field as a generator takes it, or raises a ValueError that says what was expected."""


def checked_bit_generator(state: Any, kind: str | None = None) -> dict[str, Any]:
    """The state of one of numpy's generators, each field of which it can have.

    Its integers may be text; without a `kind` it may be that of any generator of numpy.

    Example:
        >>> held = np.random.default_rng(0).bit_generator.state
        >>> checked_bit_generator(held) == held
        True
    """
    name = "the state of a random generator"
    kinds = _word(*(_BIT_GENERATORS if kind is None else [kind]))
    base = _checked({"bit_generator": kinds}, state, (), name)
    return base | _checked(_BIT_GENERATORS[base["bit_generator"]], state, (), name)


def checked_numpy_state(
    state: Any, path: Path = (), *, name: str
) -> tuple[str, np.ndarray[Any, Any], int, int, float]:
    """The state of numpy's own generator, as `np.random.set_state` takes it.

    It is a dict of its kind, keys, position, has_gauss and cached.
    """
    return tuple(_checked(_NUMPY, state, path, name).values())


def checked_python_state(
    state: Any, path: Path = (), *, name: str
) -> tuple[int, tuple[int, ...], float | None]:
    """The state of Python's own generator, as `random.setstate` takes it.

    It is a dict of its version, numbers and gauss.
    """
    fields = _checked(_PYTHON, state, path, name)
    numbers = fields["numbers"].tolist()
    if numbers[-1] > _WORDS:
        raise _wrong(name, (*path, "numbers"), "a position of at most 624 at the end", numbers[-1])
    return fields["version"], tuple(numbers), fields["gauss"]


def checked_torch_state(
    state: Any, size: int, path: Path = (), *, name: str
) -> np.ndarray[Any, Any]:
    """The state of torch's generator on a CPU, as bytes of their own.

    `size` is how many of them the torch at hand has.
    """
    data: np.ndarray[Any, Any] = _field(_words(size, np.uint8), state, path, name)
    if size != _TORCH.itemsize:  # A torch whose fields are not known: it looks for itself.
        return data
    fields = data.view(_TORCH)[0]
    # Each block of words is used from its first to its last; a seed alone has made none yet.
    has_position = fields["next"] + np.uint64(max(fields["left"], 0)) == _WORDS + 1
    is_fresh = fields["left"] == 1 and fields["next"] == 0
    if not 1 <= fields["left"] <= _WORDS or not (has_position or is_fresh):
        position = f"{fields['next']} used and {fields['left']} left"
        raise _wrong(name, path, f"a position among {_WORDS} words", position)
    if fields["words"].max() > np.iinfo(np.uint32).max:
        raise _wrong(name, path, "words of 32 bits", fields["words"].max())
    if any(fields[flag] not in (0, 1) for flag in ("seeded", "has_normal", "has_float_normal")):
        raise _wrong(name, path, "flags of 0 or 1", "others")
    if not (np.isfinite(fields["normal"]).all() and np.isfinite(fields["float_normal"])):
        raise _wrong(name, path, "finite numbers", "others")
    return data


def _checked(fields: Mapping[str, Any], state: Any, path: Path, name: str) -> dict[str, Any]:
    """The fields of a state, each held to its check; a mapping of checks is a state in it."""
    if not isinstance(state, Mapping):
        raise damaged(name, path, f"no dict, but a {type(state).__name__}")
    checked = {}
    for key, check in fields.items():
        below = (*path, key)
        if key not in state:
            raise damaged(name, below, "it is not there")
        is_state = isinstance(check, Mapping)
        checked[key] = (_checked if is_state else _field)(check, state[key], below, name)
    return checked


def _field(check: Check, value: Any, path: Path, name: str) -> Any:
    try:
        return check(value)
    except (ValueError, OverflowError) as error:
        raise _wrong(name, path, str(error), value) from None


def _wrong(name: str, path: Path, expected: str, value: Any) -> Exception:
    shown = getattr(value, "shape", value)
    shown = shown if isinstance(shown, (str, int, float, tuple, np.generic)) else type(value)
    return damaged(name, path, f"expected {expected}, found {str(shown)[:60]}")


def _word(*words: str) -> Check:
    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            raise ValueError(" or ".join(words))
        return value

    return check


def _whole(most: int, least: int = 0) -> Check:
    """A whole number between two others; it may be written as text."""

    def check(value: Any) -> int:
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 50:
            value = int(value)
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value[()]
        if not isinstance(value, (int, np.integer)) or not least <= value <= most:
            raise ValueError(f"a whole number from {least} to {most}")
        return int(value)

    return check


def _finite(value: Any) -> float:
    if not isinstance(value, (int, float, np.integer, np.floating)) or not math.isfinite(value):
        raise ValueError("a finite number")
    return float(value)


def _words(count: int, dtype: type[np.unsignedinteger[Any]]) -> Check:
    most = np.iinfo(dtype).max

    def check(value: Any) -> Any:
        if isinstance(value, (list, tuple)) and len(value) == count:
            is_whole = all(isinstance(each, (int, np.integer)) for each in value)
            value = np.array(value, object) if is_whole else value
        if not isinstance(value, np.ndarray) or value.shape != (count,):
            raise ValueError(f"{count} numbers")
        if value.dtype.kind not in "iuO" or value.min() < 0 or value.max() > most:
            raise ValueError(f"numbers from 0 to {most}")
        return value.astype(dtype)

    return check


_HALF: Final = {"has_uint32": _whole(1), "uinteger": _whole(2**32 - 1)}
"""What generators of 64 bits keep of a number that gave one half."""

_PCG64: Final = {"state": {"state": _whole(2**128 - 1), "inc": _whole(2**128 - 1)}, **_HALF}
_BIT_GENERATORS: Final[dict[str, Mapping[str, Any]]] = {
    "PCG64": _PCG64,
    "PCG64DXSM": _PCG64,
    "MT19937": {"state": {"key": _words(_WORDS, np.uint32), "pos": _whole(_WORDS)}},
    "Philox": {
        "state": {"counter": _words(4, np.uint64), "key": _words(2, np.uint64)},
        "buffer": _words(4, np.uint64),
        "buffer_pos": _whole(4),
        **_HALF,
    },
    "SFC64": {"state": {"state": _words(4, np.uint64)}, **_HALF},
}
_NUMPY: Final = {
    "kind": _word("MT19937"),
    "keys": _words(_WORDS, np.uint32),
    "position": _whole(_WORDS),
    "has_gauss": _whole(1),
    "cached": _finite,
}
_PYTHON: Final = {
    "version": _whole(_PYTHON_VERSION, _PYTHON_VERSION),
    "numbers": _words(_WORDS + 1, np.uint32),
    "gauss": lambda value: None if value is None else _finite(value),
}
