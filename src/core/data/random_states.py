"""The states of random generators, held to what a generator can have before one is given them.

numpy and torch believe what they are told: a position beyond the table makes them read whatever
lies behind it in memory, and a negative one is taken in silence. States come from files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

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


def checked_bit_generator(
    state: Any, kind: str | None = None, *, name: str = "the state of a random generator"
) -> dict[str, Any]:
    """The state of one of numpy's generators, each field of which it can have.

    Args:
        state: As `bit_generator.state` gives it; integers may be text.
        kind: The class of the generator it is for; None takes any of those numpy has.
        name: What it is part of, for errors.

    Raises:
        CorruptCheckpointError: A field is missing, of another kind or out of its range.

    Example:
        >>> held = np.random.default_rng(0).bit_generator.state
        >>> checked_bit_generator(held) == held
        True
    """
    fields = _Fields(name, state, ())
    found = fields.text("bit_generator")
    if found not in _BIT_GENERATORS or found != (kind or found):
        raise fields.wrong("bit_generator", kind or f"one of {', '.join(_BIT_GENERATORS)}", found)
    return {"bit_generator": found, **_BIT_GENERATORS[found](fields)}


def checked_numpy_state(
    state: Any, path: Path = (), *, name: str
) -> tuple[str, np.ndarray[Any, Any], int, int, float]:
    """The state of numpy's own generator, as `np.random.set_state` takes it.

    Args:
        state: A dict of its kind, keys, position, has_gauss and cached.
        path: Where it lies.
        name: What it is part of, for errors.

    Raises:
        CorruptCheckpointError: A field is missing, of another kind or out of its range.
    """
    fields = _Fields(name, state, path)
    if fields.text("kind") != "MT19937":
        raise fields.wrong("kind", "'MT19937'", fields.get("kind"))
    return (
        "MT19937",
        fields.words("keys", _WORDS, np.uint32),
        fields.integer("position", _WORDS),
        fields.integer("has_gauss", 1),
        fields.number("cached"),
    )


def checked_python_state(
    state: Any, path: Path = (), *, name: str
) -> tuple[int, tuple[int, ...], float | None]:
    """The state of Python's own generator, as `random.setstate` takes it.

    Args:
        state: A dict of its version, numbers and gauss.
        path: Where it lies.
        name: What it is part of, for errors.

    Raises:
        CorruptCheckpointError: A field is missing, of another kind or out of its range.
    """
    fields = _Fields(name, state, path)
    version = fields.integer("version", _PYTHON_VERSION, least=_PYTHON_VERSION)
    numbers = fields.words("numbers", _WORDS + 1, np.uint32).tolist()
    if numbers[-1] > _WORDS:
        raise fields.wrong("numbers", f"a position of at most {_WORDS} at the end", numbers[-1])
    gauss = None if fields.get("gauss") is None else fields.number("gauss")
    return version, tuple(numbers), gauss


def checked_torch_state(
    state: Any, size: int, path: Path = (), *, name: str
) -> np.ndarray[Any, Any]:
    """The state of torch's generator on a CPU, as bytes of their own.

    Args:
        state: Its bytes.
        size: How many the torch at hand has.
        path: Where they lie.
        name: What they are part of, for errors.

    Raises:
        CorruptCheckpointError: They are too many, too few, or have a position out of its range.
    """
    fields = _Fields(name, {path[-1] if path else "bytes": state}, path[:-1])
    key = path[-1] if path else "bytes"
    data: np.ndarray[Any, Any] = fields.words(key, size, np.uint8)
    if size != _TORCH.itemsize:  # A torch whose fields are not known: it looks for itself.
        return data
    held = data.view(_TORCH)[0]
    # Each block of words is used from its first to its last; a seed alone has made none yet.
    has_position = held["next"] + np.uint64(max(held["left"], 0)) == _WORDS + 1
    is_fresh = held["left"] == 1 and held["next"] == 0
    if not 1 <= held["left"] <= _WORDS or not (has_position or is_fresh):
        found = f"{held['next']} used and {held['left']} left"
        raise fields.wrong(key, f"a position among {_WORDS} words", found)
    if held["words"].max() > np.iinfo(np.uint32).max:
        raise fields.wrong(key, "words of 32 bits", held["words"].max())
    if any(held[flag] not in (0, 1) for flag in ("seeded", "has_normal", "has_float_normal")):
        raise fields.wrong(key, "flags of 0 or 1", "others")
    if not (np.isfinite(held["normal"]).all() and np.isfinite(held["float_normal"])):
        raise fields.wrong(key, "finite numbers", "others")
    return data


class _Fields:
    """The fields of a state, each read as what it has to be.

    Args:
        name: What the state is part of.
        state: The state.
        path: Where it lies.
    """

    def __init__(self, name: str, state: Any, path: Path) -> None:
        self.name = name
        self.path = path
        if not isinstance(state, Mapping):
            raise damaged(name, path, f"no dict, but a {type(state).__name__}")
        self.state = state

    def wrong(self, key: str, expected: str, found: Any) -> Exception:
        """The error for a field that no generator has so."""
        told = str(found) if isinstance(found, (str, int, float, np.generic)) else type(found)
        return damaged(self.name, (*self.path, key), f"expected {expected}, found {str(told)[:60]}")

    def get(self, key: str) -> Any:
        """A field as it is."""
        try:
            return self.state[key]
        except KeyError:
            raise damaged(self.name, (*self.path, key), "it is not there") from None

    def under(self, key: str) -> _Fields:
        """The fields of a state in this one."""
        return _Fields(self.name, self.get(key), (*self.path, key))

    def text(self, key: str) -> str:
        """A word."""
        found = self.get(key)
        if not isinstance(found, str):
            raise self.wrong(key, "text", found)
        return found

    def integer(self, key: str, most: int, least: int = 0) -> int:
        """A whole number between two others; it may be written as text."""
        found = self.get(key)
        if isinstance(found, str) and found.isascii() and found.isdigit() and len(found) < 50:
            found = int(found)
        if isinstance(found, np.ndarray) and found.ndim == 0:
            found = found[()]
        if not isinstance(found, (int, np.integer)) or not least <= found <= most:
            raise self.wrong(key, f"a whole number from {least} to {most}", found)
        return int(found)

    def number(self, key: str) -> float:
        """A finite number."""
        found = self.get(key)
        if not isinstance(found, (int, float, np.integer, np.floating)) or not _is_finite(found):
            raise self.wrong(key, "a finite number", found)
        return float(found)

    def words(self, key: str, count: int, dtype: type[np.unsignedinteger[Any]]) -> Any:
        """So many whole numbers of so many bits."""
        found = self.get(key)
        if isinstance(found, (list, tuple)) and len(found) == count:
            if not all(isinstance(each, (int, np.integer)) for each in found):
                raise self.wrong(key, "whole numbers", found)
            found = np.array(found, object)
        if not isinstance(found, np.ndarray) or found.shape != (count,):
            shape = getattr(found, "shape", type(found).__name__)
            raise self.wrong(key, f"{count} numbers", str(shape))
        if found.dtype.kind not in "iuO" or found.min() < 0 or found.max() > np.iinfo(dtype).max:
            raise self.wrong(key, f"numbers from 0 to {np.iinfo(dtype).max}", str(found.dtype))
        return found.astype(dtype)


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _halves(fields: _Fields) -> dict[str, Any]:
    """What generators of 64 bits keep of a number that gave one half."""
    return {
        "has_uint32": fields.integer("has_uint32", 1),
        "uinteger": fields.integer("uinteger", 2**32 - 1),
    }


def _pcg64(fields: _Fields) -> dict[str, Any]:
    inner = fields.under("state")
    state = {key: inner.integer(key, 2**128 - 1) for key in ("state", "inc")}
    return {"state": state, **_halves(fields)}


def _mt19937(fields: _Fields) -> dict[str, Any]:
    inner = fields.under("state")
    key = inner.words("key", _WORDS, np.uint32)
    return {"state": {"key": key, "pos": inner.integer("pos", _WORDS)}}


def _philox(fields: _Fields) -> dict[str, Any]:
    inner = fields.under("state")
    sizes = {"counter": 4, "key": 2}
    return {
        "state": {key: inner.words(key, size, np.uint64) for key, size in sizes.items()},
        "buffer": fields.words("buffer", 4, np.uint64),
        "buffer_pos": fields.integer("buffer_pos", 4),
        **_halves(fields),
    }


def _sfc64(fields: _Fields) -> dict[str, Any]:
    words = fields.under("state").words("state", 4, np.uint64)
    return {"state": {"state": words}, **_halves(fields)}


_BIT_GENERATORS: Final[dict[str, Callable[[_Fields], dict[str, Any]]]] = {
    "PCG64": _pcg64,
    "PCG64DXSM": _pcg64,
    "MT19937": _mt19937,
    "Philox": _philox,
    "SFC64": _sfc64,
}
