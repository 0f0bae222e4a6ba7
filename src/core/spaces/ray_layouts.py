"""Spaces in the dicts Ray writes into policy checkpoints, read from any version and written alike.

    {"space": "box", "low": text, "high": text, "shape": (3,), "dtype": "<f4"}    one space
    {"space": {the above}, "original_space": {...}}                               what a policy has

`low`, `high` and `nvec` are texts as in `ray_arrays`; the earliest files have the inner form alone.
Sets of characters and shapes come as sets and tuples from pickles and as lists from msgpack. Ray
drops the start and dtype of discrete spaces where its layout has no place for them; so do we here.
Our own lossless layout is in `space_writer`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import gymnasium as gym
import numpy as np

from ..data.budget import Budget, allowance, checked_dtype, checked_shape, corrupt
from ..data.msgpack_arrays import decode_msgpack_object
from ..data.ray_arrays import decode_ray_array, encode_ray_array
from ..errors import SpaceError
from ..types import Array
from .build import (
    build_box,
    build_dict,
    build_discrete,
    build_multi_binary,
    build_multi_discrete,
    build_repeated,
    build_simplex,
    build_text,
    build_tuple,
)
from .walk import AnySpace, kind_of


def gym_space_to_dict(space: AnySpace | None) -> dict[str, Any] | None:
    """The dict Ray writes for one space; None stays None.

    Raises:
        SpaceError: Ray has no layout for such a space; `space_to_data` may have one.
    """
    if space is None:
        return None
    write = _WRITE.get(kind_of(space))
    if write is None:
        raise SpaceError(
            "Ray has no layout for a space",
            expected=f"one of {', '.join(_WRITE)}",
            found=type(space).__name__,
            hint="space_to_data() writes every space of gymnasium.",
        )
    return write(space)


def space_to_dict(space: AnySpace | None) -> dict[str, Any] | None:
    """The dict Ray writes for a policy's space, with the original space that hangs on it."""
    if space is None:
        return None
    data: dict[str, Any] = {"space": gym_space_to_dict(space)}
    original = getattr(space, "original_space", None)
    if original is not None:
        data["original_space"] = space_to_dict(original)
    return data


def gym_space_from_dict(data: Mapping[str, Any] | None) -> AnySpace | None:
    """The space in a dict of `gym_space_to_dict`; None stays None."""
    return None if data is None else space_from_ray(data)


def space_from_dict(data: Mapping[str, Any] | None) -> AnySpace | None:
    """The space in a dict of `space_to_dict`; None stays None."""
    return None if data is None else space_from_ray(data)


def space_from_ray(data: Any, *, max_bytes: int | None = None) -> AnySpace:
    """The space in any dict that some version of Ray wrote.

    Args:
        data: One of the forms above; a space is handed back as it is. Nothing is trusted.
        max_bytes: The most memory the space may take; None for what the load may still take.

    Returns:
        A gymnasium space, or one of `rllib_spaces`, with `original_space` where there was one.

    Raises:
        CorruptCheckpointError: The data describes no space.
        LimitExceededError: The space would be larger, or is nested deeper, than allowed.
        UnsafeCheckpointError: Its arrays hold pickled objects.
    """
    return _read(data, allowance(max_bytes))


def _write_multi_binary(space: Any) -> dict[str, Any]:
    n = int(space.n) if np.ndim(space.n) == 0 else tuple(int(size) for size in space.n)
    return {"space": "multi-binary", "n": n}


def _write_simplex(space: Any) -> dict[str, Any]:
    return {
        "space": "simplex",
        "shape": tuple(space.shape),
        "concentration": np.asarray(space.concentration),
        "dtype": space.dtype.str,
    }


def _write_dict(space: Any) -> dict[str, Any]:
    spaces = {key: gym_space_to_dict(child) for key, child in space.spaces.items()}
    return {"space": "dict", "spaces": spaces}


def _write_box(space: Any) -> dict[str, Any]:
    return {
        "space": "box",
        "low": encode_ray_array(space.low),
        "high": encode_ray_array(space.high),
        "shape": tuple(space.shape),
        "dtype": space.dtype.str,
    }


def _write_text(space: Any) -> dict[str, Any]:
    return {
        "space": "text",
        "min_length": int(space.min_length),
        "max_length": int(space.max_length),
        "charset": frozenset(space.character_set),
    }


_WRITE: Final[dict[str, Callable[[Any], dict[str, Any]]]] = {
    "Box": _write_box,
    "Discrete": lambda space: {
        "space": "discrete",
        "n": int(space.n),
        "start": int(getattr(space, "start", 0)),
    },
    "MultiBinary": _write_multi_binary,
    "MultiDiscrete": lambda space: {
        "space": "multi-discrete",
        "nvec": encode_ray_array(space.nvec),
        "dtype": np.dtype(space.dtype).str,
    },
    "Tuple": lambda space: {
        "space": "tuple",
        "spaces": [gym_space_to_dict(child) for child in space.spaces],
    },
    "Dict": _write_dict,
    "FlexDict": _write_dict,
    "Text": _write_text,
    "Simplex": _write_simplex,
    "Repeated": lambda space: {
        "space": "repeated",
        "child_space": gym_space_to_dict(space.child_space),
        "max_len": int(space.max_len),
    },
}


def _read(data: Any, budget: Budget) -> AnySpace:
    if isinstance(data, gym.Space):
        return data
    if not isinstance(data, Mapping):
        raise corrupt("a space is no mapping", expected="a mapping with a space", found=data)
    inner = data.get("space")
    with budget.level("a space"):
        if isinstance(inner, str):
            read = _READ.get(inner.replace("_", "-"))
            if read is None:
                raise corrupt("a space is of no known kind", expected=", ".join(_READ), found=inner)
            return read(data, budget)
        space: Any = _read(inner, budget)
        if data.get("original_space") is not None:
            space.original_space = _read(data["original_space"], budget)
        read_space: AnySpace = space
    return read_space


def _read_array(value: Any, budget: Budget, what: str) -> Array:
    """An array in any of the forms that were ever written into a space."""
    if isinstance(value, Mapping):
        value = decode_msgpack_object(value)
    if isinstance(value, np.ndarray):
        checked_dtype(value.dtype, what)
        return value
    if not isinstance(value, (list, tuple, int, float, np.integer, np.floating)):
        return decode_ray_array(value, budget=budget, what=what)
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError):
        raise corrupt(f"{what} is no array", expected="numbers", found=value) from None
    checked_dtype(array.dtype, what)
    return array


def _read_box(data: Mapping[str, Any], budget: Budget) -> AnySpace:
    dtype = checked_dtype(data.get("dtype"), "a Box", "biuf")
    shape = checked_shape(data.get("shape"), "a Box")
    bounds = []
    for side in ("low", "high"):
        bound = _read_array(data.get(side), budget, f"{side} of a Box")
        if bound.shape == () and shape != ():
            budget.spend(math.prod(shape) * bound.itemsize, f"{side} of a Box")
            bound = np.full(shape, bound)
        bounds.append(bound)
    return build_box(bounds[0], bounds[1], shape, dtype, budget)


def _read_multi_discrete(data: Mapping[str, Any], budget: Budget) -> AnySpace:
    nvec = _read_array(data.get("nvec"), budget, "nvec")
    dtype = checked_dtype(data.get("dtype", "int64"), "a MultiDiscrete", "iu")
    start = None if data.get("start") is None else _read_array(data["start"], budget, "start")
    return build_multi_discrete(nvec, start, dtype, budget)


def _read_tuple(data: Mapping[str, Any], budget: Budget) -> AnySpace:
    spaces = data.get("spaces")
    if not isinstance(spaces, (list, tuple)):
        raise corrupt("a Tuple space has no spaces", expected="a list", found=spaces)
    return build_tuple([_read(child, budget) for child in spaces], budget)


def _read_dict(data: Mapping[str, Any], budget: Budget) -> AnySpace:
    spaces = data.get("spaces")
    is_flexible = data["space"] != "dict"
    if is_flexible and not isinstance(spaces, Mapping):
        # Ray's reader of this kind takes every entry but "space" for a part.
        spaces = {key: child for key, child in data.items() if key != "space"}
    if not isinstance(spaces, Mapping):
        raise corrupt("a Dict space has no spaces", expected="a mapping", found=spaces)
    pairs = [(key, _read(child, budget)) for key, child in spaces.items()]
    return build_dict(pairs, budget, is_flexible=is_flexible)


def _read_text(data: Mapping[str, Any], budget: Budget) -> AnySpace:
    return build_text(
        data.get("min_length", 1), data.get("max_length"), data.get("charset"), budget
    )


def _read_simplex(data: Mapping[str, Any], budget: Budget) -> AnySpace:
    dtype = checked_dtype(data.get("dtype", "<f4"), "a Simplex", "f")
    shape = checked_shape(data.get("shape"), "a Simplex")
    given = data.get("concentration")
    shares = None if given is None else _read_array(given, budget, "a concentration")
    return build_simplex(shape, shares, dtype, budget)


def _read_repeated(data: Mapping[str, Any], budget: Budget) -> AnySpace:
    return build_repeated(_read(data.get("child_space"), budget), data.get("max_len"), budget)


_READ: Final[dict[str, Callable[[Mapping[str, Any], Budget], AnySpace]]] = {
    "box": _read_box,
    "discrete": lambda data, budget: build_discrete(data.get("n"), data.get("start", 0), budget),
    # Some versions wrote a dtype here that their own gymnasium then refused; it is always int8.
    "multi-binary": lambda data, budget: build_multi_binary(data.get("n"), budget),
    "multi-discrete": _read_multi_discrete,
    "tuple": _read_tuple,
    "dict": _read_dict,
    "flex-dict": _read_dict,
    "text": _read_text,
    "simplex": _read_simplex,
    "repeated": _read_repeated,
}
