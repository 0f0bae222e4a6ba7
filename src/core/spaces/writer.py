"""Spaces as plain data that JSON and msgpack both hold exactly, and back, bit for bit.

    {"kind": "Box", "dtype": "float32", "shape": [2], "low": -1.0, "high": [1.0, "inf"]}
    {"kind": "Discrete", "n": 4, "start": -2}
    {"kind": "Dict", "spaces": {"a": {...}, "b": {...}}}
    {"kind": "Dict", "items": [["b", {...}], ["a", {...}]]}      keys unsorted, or no texts

Bounds are one number when all are alike, a flat list when they are few, else base64 of their bytes.
Every entry may hold `original_space` (what a preprocessor saw before) and `subclass`, the name of
the user's class that was written as its base. `space_reader` reads it back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import gymnasium as gym
import numpy as np

from ..data.array_codec import array_to_data, dtype_name
from ..data.budget import DEFAULT_MAX_BYTES, Budget
from ..errors import SpaceError
from ..types import Array
from .walk import AnySpace, children_of, kind_of


def space_to_data(space: AnySpace) -> dict[str, Any]:
    """The space as plain data; a user's subclass is written as its base, with a note.

    Raises:
        SpaceError: The space is of a class that is no gymnasium or RLlib space at heart.

    Example:
        >>> space_to_data(gym.spaces.Box(-1, 1, (3,)))
        {'kind': 'Box', 'dtype': 'float32', 'shape': [3], 'low': -1.0, 'high': 1.0}
    """
    return _write(space, Budget.of_bytes(DEFAULT_MAX_BYTES))


def _write(space: AnySpace, budget: Budget) -> dict[str, Any]:
    kind = kind_of(space)
    if kind not in _WRITE:
        raise SpaceError(
            "a space cannot be written as data",
            expected=f"one of {', '.join(_WRITE)}",
            found=f"{type(space).__module__}.{type(space).__qualname__}",
            hint="derive it from a gymnasium space to have it written as that.",
        )
    with budget.level("a space"):
        data = {"kind": kind, **_WRITE[kind](space, budget)}
        original = getattr(space, "original_space", None)
        if isinstance(original, gym.Space):
            data["original_space"] = _write(original, budget)
    if type(space).__name__ != kind:
        data["subclass"] = f"{type(space).__module__}.{type(space).__qualname__}"
    return data


def _write_box(space: Any, budget: Budget) -> dict[str, Any]:
    data = {"dtype": dtype_name(space.dtype), "shape": list(space.shape)}
    for side in ("low", "high"):
        bounds = getattr(space, side)
        if space.dtype.kind == "f" and bool(np.isnan(bounds).any()):
            raise SpaceError("a Box has bounds that are no numbers", found=f"NaN in {side}")
        data[side] = _write_bounds(bounds)
    for side, implied in (
        ("bounded_below", -np.inf < space.low),
        ("bounded_above", space.high < np.inf),
    ):
        flags = getattr(space, side)
        if not np.array_equal(flags, implied):
            data[side] = _write_bounds(flags)
    return data


def _write_bounds(bounds: Array) -> Any:
    """An array whose dtype and shape the space knows: one number, a list, or base64."""
    data = array_to_data(np.asarray(bounds))
    if "base64" in data:
        return {"base64": data["base64"]}
    return data["fill"] if "fill" in data else data["values"]


def _write_discrete(space: Any, budget: Budget) -> dict[str, Any]:
    data: dict[str, Any] = {"n": int(space.n)}
    if int(space.start):
        data["start"] = int(space.start)
    if space.dtype != np.int64:
        data["dtype"] = dtype_name(np.dtype(space.dtype))
    return data


def _write_multi_discrete(space: Any, budget: Budget) -> dict[str, Any]:
    data = {"dtype": dtype_name(np.dtype(space.dtype)), "shape": list(space.nvec.shape)}
    data["nvec"] = _write_bounds(space.nvec)
    if np.any(getattr(space, "start", 0)):
        data["start"] = _write_bounds(space.start)
    return data


def _write_multi_binary(space: Any, budget: Budget) -> dict[str, Any]:
    return {"n": int(space.n) if np.ndim(space.n) == 0 else [int(size) for size in space.n]}


def _write_text(space: Any, budget: Budget) -> dict[str, Any]:
    return {
        "min_length": int(space.min_length),
        "max_length": int(space.max_length),
        "charset": "".join(space.character_list),
    }


def _write_dict(space: Any, budget: Budget) -> dict[str, Any]:
    pairs = [(key, _write(child, budget)) for key, child in children_of(space)]
    keys = [key for key, _ in pairs]
    # JSON knows only text keys, and tools that sort them must not change the order of the space.
    if all(type(key) is str for key in keys) and keys == sorted(keys):
        return {"spaces": dict(pairs)}
    unusable = [key for key in keys if type(key) not in (str, int)]
    if unusable:
        raise SpaceError(
            "a Dict space has a key that data cannot hold",
            expected="text or integers",
            found=repr(unusable[0]),
        )
    return {"items": [list(pair) for pair in pairs]}


def _write_list(space: Any, budget: Budget) -> dict[str, Any]:
    return {"spaces": [_write(child, budget) for child in space.spaces]}


def _write_sequence(space: Any, budget: Budget) -> dict[str, Any]:
    return {"space": _write(space.feature_space, budget), "stack": bool(space.stack)}


def _write_graph(space: Any, budget: Budget) -> dict[str, Any]:
    edges = space.edge_space
    return {
        "nodes": _write(space.node_space, budget),
        "edges": None if edges is None else _write(edges, budget),
    }


def _write_simplex(space: Any, budget: Budget) -> dict[str, Any]:
    return {
        "dtype": dtype_name(space.dtype),
        "shape": list(space.shape),
        "concentration": array_to_data(np.asarray(space.concentration)),
    }


def _write_repeated(space: Any, budget: Budget) -> dict[str, Any]:
    return {"space": _write(space.child_space, budget), "max_len": int(space.max_len)}


_WRITE: Final[dict[str, Callable[[Any, Budget], dict[str, Any]]]] = {
    "Box": _write_box,
    "Discrete": _write_discrete,
    "MultiDiscrete": _write_multi_discrete,
    "MultiBinary": _write_multi_binary,
    "Text": _write_text,
    "Dict": _write_dict,
    "FlexDict": _write_dict,
    "Tuple": _write_list,
    "OneOf": _write_list,
    "Sequence": _write_sequence,
    "Graph": _write_graph,
    "Simplex": _write_simplex,
    "Repeated": _write_repeated,
}
