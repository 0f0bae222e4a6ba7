"""Spaces in the dicts Ray writes into policy checkpoints, read from any version and written alike.

    {"space": "box", "low": text, "high": text, "shape": (3,), "dtype": "<f4"}    one space
    {"space": {the above}, "original_space": {...}}                               what a policy has

`low`, `high` and `nvec` are texts as in `ray_arrays`; the earliest files have the inner form alone.
Sets of characters and shapes come as sets and tuples from pickles and as lists from msgpack. Ray
drops the start and dtype of discrete spaces where its layout has no place for them; so do we here.
Our own lossless layout is `own_layout`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import gymnasium as gym
import numpy as np
from typing_extensions import override

from ..data.budget import Budget, allowance, checked_dtype, corrupt
from ..data.msgpack_arrays import decode_msgpack_object
from ..data.ray_arrays import decode_ray_array, encode_ray_array
from ..errors import SpaceError
from ..types import Array
from .schema import Fields, field_of
from .walk import AnySpace, kind_of

_LAYOUTS: Final = {
    "Box": ("box", ("low", "high", "shape", "dtype")),
    "Discrete": ("discrete", ("n", "start")),
    "MultiBinary": ("multi-binary", ("n",)),
    "MultiDiscrete": ("multi-discrete", ("nvec", "dtype")),
    "Tuple": ("tuple", ("spaces",)),
    "Dict": ("dict", ("spaces",)),
    "FlexDict": ("dict", ("spaces",)),
    "Text": ("text", ("min_length", "max_length", "charset")),
    "Simplex": ("simplex", ("shape", "concentration", "dtype")),
    "Repeated": ("repeated", ("child_space", "max_len")),
}
"""What Ray calls a kind, and what it writes of it, in its order."""

_KINDS: Final = {spelled: kind for kind, (spelled, _) in reversed(_LAYOUTS.items())} | {
    "flex-dict": "FlexDict"
}


def gym_space_to_dict(space: AnySpace | None) -> dict[str, Any] | None:
    """The dict Ray writes for one space; None stays None.

    Raises:
        SpaceError: Ray has no layout for such a space; `space_to_data` may have one.
    """
    if space is None:
        return None
    kind = kind_of(space)
    if kind not in _LAYOUTS:
        raise SpaceError(
            "Ray has no layout for a space",
            expected=f"one of {', '.join(_LAYOUTS)}",
            found=type(space).__name__,
            hint="space_to_data() writes every space of gymnasium.",
        )
    spelled, names = _LAYOUTS[kind]
    return {"space": spelled, **{name: _plain(field_of(space, name), name) for name in names}}


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


def space_from_ray(data: Any) -> AnySpace:
    """The space in any dict that some version of Ray wrote.

    It has its `original_space` where there was one; what is a space already is handed back. Nothing
    is trusted.
    """
    return _read(data, allowance())


def _plain(value: Any, name: str) -> Any:
    if isinstance(value, gym.Space):
        return gym_space_to_dict(value)
    if name == "charset":
        return frozenset(value)
    if name == "spaces":
        if isinstance(value, Mapping):
            return {key: gym_space_to_dict(child) for key, child in value.items()}
        return [gym_space_to_dict(child) for child in value]
    if isinstance(value, np.dtype):
        return value.str
    return encode_ray_array(value) if name in ("low", "high", "nvec") else value


class _RayFields(Fields):
    @override
    def dtype(self, kinds: str, default: Any = None) -> np.dtype[Any]:
        # Ray writes no dtype of a Discrete, and takes none.
        return np.dtype(np.int64) if self.kind == "Discrete" else super().dtype(kinds, default)

    @override
    def array(self, name: str, dtype: np.dtype[Any] | None = None) -> Array:
        what = f"{name} of {self.what}"
        array = _read_array(self.get(name), self.budget, what)
        if self.kind == "Box" and array.shape == () and self.shape():
            self.budget.spend(math.prod(self.shape()) * array.itemsize, what)
            array = np.full(self.shape(), array)
        return array

    @override
    def space(self, value: Any) -> AnySpace:
        return _read(value, self.budget)

    @override
    def pairs(self) -> list[tuple[Any, Any]]:
        if self.kind == "FlexDict" and not isinstance(self.get("spaces"), Mapping):
            # Ray's reader of this kind takes every entry but "space" for a part.
            rest = [(key, child) for key, child in self.data.items() if key != "space"]
            return [(key, self.space(child)) for key, child in rest]
        return super().pairs()


def _read(data: Any, budget: Budget) -> AnySpace:
    if isinstance(data, gym.Space):
        return data
    if not isinstance(data, Mapping):
        raise corrupt("a space is no mapping", expected="a mapping with a space", found=data)
    inner = data.get("space")
    with budget.level("a space"):
        if isinstance(inner, str):
            kind = _KINDS.get(inner.replace("_", "-"))
            if kind is None:
                kinds = ", ".join(_KINDS)
                raise corrupt("a space is of no known kind", expected=kinds, found=inner)
            return _RayFields(kind, data, budget).made()
        space = _read(inner, budget)
        if data.get("original_space") is not None:
            vars(space)["original_space"] = _read(data["original_space"], budget)
    return space


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
