"""Spaces from what a pickle says about them: the name of their class and their attributes.

The vault's unpickler never makes a gym or gymnasium object; it hands over `("gym.spaces.box.Box",
{"low": array, "_shape": (4,), ...})` and gets a gymnasium space of today. Attributes of every
release since gym 0.17 are understood; random generators and other luggage are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import gymnasium as gym
import numpy as np
from typing_extensions import override

from ..data.budget import allowance, checked_dtype, checked_shape, corrupt
from ..errors import SpaceError
from ..types import Array
from .schema import FIELDS, Fields, charge_tree
from .walk import AnySpace

_PACKAGES: Final = ("gym", "gymnasium", "ray", "rlconnect")


def space_from_pickled(class_name: str, state: Any) -> AnySpace:
    """The space a pickle describes.

    A class nobody knows is read as the space whose attributes it has: a user's subclass of Box as a
    Box. In the state arrays are ndarrays, child spaces already gymnasium spaces. An
    `original_space` stays on it.

    Example:
        >>> space_from_pickled("gym.spaces.discrete.Discrete", {"n": 4, "_shape": ()})
        Discrete(4)
    """
    if not isinstance(state, Mapping):
        raise corrupt(f"a pickled {class_name} has no attributes", found=type(state).__name__)
    kind = _kind(class_name, state)
    budget = allowance()
    space = _Attributes(kind, state, budget).made()
    original = state.get("original_space")
    if isinstance(original, gym.Space):
        vars(space)["original_space"] = original
    charge_tree(space, budget)
    return space


def is_space(state: Mapping[Any, Any]) -> bool:
    """Return True if an object has the attributes of a gym space, whatever its class."""
    return "dtype" in state and ("_shape" in state or "shape" in state)


def _kind(class_name: str, state: Mapping[str, Any]) -> str:
    package, _, name = class_name.partition(".")
    name = name.rpartition(".")[2]
    if package in _PACKAGES and name in FIELDS:
        return name
    for kind, needed in _SIGNS.items():
        if all(attribute in state for attribute in needed):
            return kind
    if package not in _PACKAGES and is_space(state):
        raise SpaceError(
            f"{class_name} is a space class of the author's own, which rlconnect does not have",
            hint="give the space of its values: rlconnect.load(path, observation_space=...), "
            "action_space=... for actions.",
        )
    raise SpaceError(
        f"a pickled {class_name} is no known space",
        expected=f"one of {', '.join(FIELDS)}",
        found=f"attributes {', '.join(sorted(map(str, state))[:8]) or 'none'}",
    )


class _Attributes(Fields):
    @override
    def get(self, name: str, default: Any = None) -> Any:
        if name == "charset":
            named = ("_char_list", "_char_set", "charset", "_char_str")
            values = (self.data.get(spelled) for spelled in named)
            return next((characters for characters in values if characters is not None), None)
        value = self.data.get(name, default)
        is_number_array = isinstance(value, np.ndarray) and value.ndim == 0
        return value[()] if is_number_array and name in ("n", "start") else value

    @override
    def dtype(self, kinds: str, default: Any = None) -> np.dtype[Any]:
        saved = self.data.get("dtype")
        if saved is None:
            saved = {"Box": self.data.get("low"), "MultiDiscrete": self.data.get("nvec")}
            saved = getattr(saved.get(self.kind), "dtype", default)
        if isinstance(saved, type) and issubclass(saved, (np.generic, bool, int, float)):
            saved = np.dtype(saved)
        return checked_dtype(saved, self.what, kinds)

    @override
    def shape(self) -> tuple[int, ...]:
        saved = self.data.get("_shape", self.data.get("shape"))
        if saved is None:
            return self.array("low").shape if self.kind == "Box" else ()
        return checked_shape(saved, self.what)

    @override
    def array(self, name: str, dtype: np.dtype[Any] | None = None) -> Array:
        value = self.data.get(name)
        if isinstance(value, (int, float, np.generic)):
            value = np.asarray(value)
        if not isinstance(value, np.ndarray):
            raise corrupt(f"a pickled space has no {name}", expected="an array", found=value)
        checked_dtype(value.dtype, name, "iu" if self.kind == "MultiDiscrete" else "biuf")
        return value

    @override
    def flags(self, name: str) -> Array | None:
        saved = self.data.get(name)
        if not isinstance(saved, np.ndarray) or (saved.dtype, saved.shape) != (bool, self.shape()):
            return None
        return None if self.dtype("biuf").kind == "f" else saved  # floats' bounds themselves tell

    @override
    def space(self, value: Any) -> Any:
        return value


_SIGNS: Final = {
    "Box": ("low", "high", "dtype"),
    "MultiDiscrete": ("nvec", "dtype"),
    "Discrete": ("n", "start", "_shape"),
    "Text": ("min_length", "max_length", "_char_list"),
}
