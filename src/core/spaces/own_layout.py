"""Spaces as plain data that JSON and msgpack both hold exactly, and back, bit for bit.

    {"kind": "Box", "dtype": "float32", "shape": [2], "low": -1.0, "high": [1.0, "inf"]}
    {"kind": "Discrete", "n": 4, "start": -2}
    {"kind": "Dict", "spaces": {"a": {...}, "b": {...}}}
    {"kind": "Dict", "items": [["b", {...}], ["a", {...}]]}      keys unsorted, or no texts

Bounds are one number when all are alike, a flat list when they are few, else base64 of their bytes.
Every entry may hold `original_space` (what a preprocessor saw before) and `subclass`, the name of
the user's class that was written as its base.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from typing_extensions import override

from ..data.array_codec import array_from_data, array_to_data, dtype_name
from ..data.budget import DEFAULT_MAX_BYTES, Budget, allowance, corrupt
from ..errors import SpaceError
from ..types import Array
from .schema import FIELDS, Fields, field_of
from .walk import AnySpace, kind_of


def space_to_data(space: AnySpace) -> dict[str, Any]:
    """The space as plain data; a user's subclass is written as its base, with a note.

    Example:
        >>> space_to_data(gym.spaces.Box(-1, 1, (3,)))
        {'kind': 'Box', 'dtype': 'float32', 'shape': [3], 'low': -1.0, 'high': 1.0}
    """
    return _write(space, Budget.of_bytes(DEFAULT_MAX_BYTES))


def space_from_data(data: Any, *, max_bytes: int | None = None) -> AnySpace:
    """The space that `space_to_data` described.

    Nothing about the data is trusted. The space may take `max_bytes`, or what the load may still
    take.
    """
    return _read(data, allowance(max_bytes))


class _OwnFields(Fields):
    spelled: ClassVar = {
        "feature_space": "space",
        "child_space": "space",
        "node_space": "nodes",
        "edge_space": "edges",
    }

    @override
    def space(self, value: Any) -> AnySpace:
        return _read(value, self.budget)

    @override
    def array(self, name: str, dtype: np.dtype[Any] | None = None) -> Array:
        value = self.get(name)
        if self.kind != "Simplex":
            content = {"values" if isinstance(value, (list, tuple)) else "fill": value}
            if isinstance(value, Mapping):
                content = {"base64": value.get("base64")}
            kind = dtype_name(self.dtype("biuf") if dtype is None else dtype)
            value = {"dtype": kind, "shape": list(self.shape()), **content}
        return array_from_data(value, budget=self.budget, what=f"{name} of a space")

    @override
    def flags(self, name: str) -> Array | None:
        return self.array(name, np.dtype(np.bool_)) if name in self.data else None

    @override
    def pairs(self) -> list[tuple[Any, Any]]:
        if "items" not in self.data:
            return super().pairs()
        items = self.data["items"]
        if not isinstance(items, (list, tuple)):
            raise corrupt("a space has no list of spaces", expected="a list", found=items)
        if not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in items):
            raise corrupt("a Dict space has an item that is no pair")
        return [(key, self.space(child)) for key, child in items]


def _read(data: Any, budget: Budget) -> AnySpace:
    if not isinstance(data, Mapping):
        raise corrupt("a space is no mapping", expected="a mapping with a kind", found=data)
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in FIELDS:
        raise corrupt("a space is of no known kind", expected=", ".join(FIELDS), found=kind)
    with budget.level("a space"):
        space = _OwnFields(kind, data, budget).made()
        if data.get("original_space") is not None:
            vars(space)["original_space"] = _read(data["original_space"], budget)
    return space


def _write(space: AnySpace, budget: Budget) -> dict[str, Any]:
    kind = kind_of(space)
    if kind not in FIELDS:
        raise SpaceError(
            "a space cannot be written as data",
            expected=f"one of {', '.join(FIELDS)}",
            found=f"{type(space).__module__}.{type(space).__qualname__}",
            hint="derive it from a gymnasium space to have it written as that.",
        )
    data: dict[str, Any] = {"kind": kind}
    with budget.level("a space"):
        for name in FIELDS[kind]:
            value = field_of(space, name)
            if not _is_implied(space, kind, name, value):
                spelled = _OwnFields.spelled.get(name, name)
                data[spelled] = _plain(value, kind, name, budget)
        if isinstance(data.get("spaces"), dict):
            data |= _ordered(data.pop("spaces"))
        original = getattr(space, "original_space", None)
        if isinstance(original, gym.Space):
            data["original_space"] = _write(original, budget)
    if type(space).__name__ != kind:
        data["subclass"] = f"{type(space).__module__}.{type(space).__qualname__}"
    return data


def _is_implied(space: Any, kind: str, name: str, value: Any) -> bool:
    """True if this field follows from the others."""
    match name:
        case "start":
            return value == 0 if type(value) is int else not np.any(value)
        case "dtype":
            return kind == "Discrete" and bool(value == np.int64)
        case "bounded_below":
            return np.array_equal(value, -np.inf < space.low)
        case "bounded_above":
            return np.array_equal(value, space.high < np.inf)
    return False


def _plain(value: Any, kind: str, name: str, budget: Budget) -> Any:
    if isinstance(value, gym.Space):
        return _write(value, budget)
    if name == "charset":
        return "".join(value)
    if isinstance(value, Mapping):
        return {key: _write(child, budget) for key, child in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each, kind, name, budget) for each in value]
    if isinstance(value, np.dtype):
        return dtype_name(value)
    if not isinstance(value, (np.ndarray, np.generic)):
        return value
    if kind == "Box" and value.dtype.kind == "f" and bool(np.isnan(value).any()):
        raise SpaceError("a Box has bounds that are no numbers", found=f"NaN in {name}")
    data = array_to_data(np.asarray(value))
    if kind == "Simplex":
        return data
    # Its dtype and shape are the space's: what is left is one number, a list, or base64.
    content = {key: data[key] for key in data if key not in ("dtype", "shape")}
    return content if "base64" in content else content.popitem()[1]


def _ordered(spaces: dict[Any, Any]) -> dict[str, Any]:
    """The parts of a Dict: JSON knows only text keys, and tools that sort them change no order."""
    keys = list(spaces)
    if all(type(key) is str for key in keys) and keys == sorted(keys):
        return {"spaces": spaces}
    unusable = [key for key in keys if type(key) not in (str, int)]
    if unusable:
        raise SpaceError(
            "a Dict space has a key that data cannot hold",
            expected="text or integers",
            found=repr(unusable[0]),
        )
    return {"items": [list(pair) for pair in spaces.items()]}
