"""Spaces from what a pickle says about them: the name of their class and their attributes.

The vault's unpickler never makes a gym or gymnasium object; it hands over `("gym.spaces.box.Box",
{"low": array, "_shape": (4,), ...})` and gets a gymnasium space of today. Attributes of every
release since gym 0.17 are understood; random generators and other luggage are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import gymnasium as gym
import numpy as np

from ..data.budget import Budget, allowance, checked_dtype, checked_shape, corrupt
from ..errors import SpaceError
from ..types import Array
from .build import (
    build_box,
    build_dict,
    build_discrete,
    build_graph,
    build_multi_binary,
    build_multi_discrete,
    build_one_of,
    build_repeated,
    build_sequence,
    build_simplex,
    build_text,
    build_tuple,
    charge_tree,
)
from .walk import AnySpace

_State = Mapping[str, Any]


def space_from_pickled(class_name: str, state: Any, *, max_bytes: int | None = None) -> AnySpace:
    """The space a pickle describes.

    Args:
        class_name: Qualified name, such as 'gym.spaces.box.Box'. A class nobody knows is read as
            the space whose attributes it has: a user's subclass of Box as a Box.
        state: The attributes; arrays as ndarrays, child spaces already as gymnasium spaces.
        max_bytes: The most memory the space may take; None for what the load may still take.

    Returns:
        A gymnasium space, or one of `rllib_spaces`, with `original_space` where there was one.

    Raises:
        SpaceError: Neither the name nor the attributes are those of a space.
        CorruptCheckpointError: The attributes contradict each other.
        LimitExceededError: The space would be larger than allowed.

    Example:
        >>> space_from_pickled("gym.spaces.discrete.Discrete", {"n": 4, "_shape": ()})
        Discrete(4)
    """
    if not isinstance(state, Mapping):
        raise corrupt(f"a pickled {class_name} has no attributes", found=type(state).__name__)
    kind = _kind(class_name, state)
    budget = allowance(max_bytes)
    space: Any = _READ[kind](state, budget)
    original = state.get("original_space")
    if isinstance(original, gym.Space):
        space.original_space = original
    charge_tree(space, budget)
    known: AnySpace = space
    return known


def _kind(class_name: str, state: _State) -> str:
    package, _, name = class_name.partition(".")
    name = name.rpartition(".")[2]
    if package in ("gym", "gymnasium", "ray", "rlconnect") and name in _READ:
        return name
    for kind, needed in _SIGNS.items():
        if all(attribute in state for attribute in needed):
            return kind
    raise SpaceError(
        f"a pickled {class_name} is no known space",
        expected=f"one of {', '.join(_READ)}",
        found=f"attributes {', '.join(sorted(map(str, state))[:8]) or 'none'}",
    )


def _array(state: _State, name: str, kinds: str = "biuf") -> Array:
    value = state.get(name)
    if isinstance(value, (int, float, np.generic)):
        value = np.asarray(value)
    if not isinstance(value, np.ndarray):
        raise corrupt(f"a pickled space has no {name}", expected="an array", found=value)
    checked_dtype(value.dtype, name, kinds)
    return value


def _dtype(state: _State, default: np.dtype[Any], kinds: str) -> np.dtype[Any]:
    given = state.get("dtype")
    if given is None:
        return checked_dtype(default, "a pickled space", kinds)
    if isinstance(given, type) and issubclass(given, (np.generic, bool, int, float)):
        given = np.dtype(given)
    return checked_dtype(given, "a pickled space", kinds)


def _shape(state: _State, default: tuple[int, ...]) -> tuple[int, ...]:
    given = state.get("_shape", state.get("shape"))
    return default if given is None else checked_shape(given, "a pickled space")


def _read_box(state: _State, budget: Budget) -> AnySpace:
    low, high = _array(state, "low"), _array(state, "high")
    dtype = _dtype(state, low.dtype, "biuf")
    shape = _shape(state, low.shape)
    below, above = (_flags(state, side, shape) for side in ("bounded_below", "bounded_above"))
    if dtype.kind == "f":  # the bounds themselves tell
        below, above = None, None
    return build_box(low, high, shape, dtype, budget, (below, above))


def _flags(state: _State, side: str, shape: tuple[int, ...]) -> Array | None:
    flags = state.get(side)
    is_usable = isinstance(flags, np.ndarray) and flags.dtype == np.bool_ and flags.shape == shape
    return flags if is_usable else None


def _read_discrete(state: _State, budget: Budget) -> AnySpace:
    dtype = _dtype(state, np.dtype(np.int64), "iu")
    return build_discrete(_number(state, "n"), _number(state, "start", 0), budget, dtype)


def _number(state: _State, name: str, default: int | None = None) -> Any:
    value = state.get(name, default)
    is_number_array = isinstance(value, np.ndarray) and value.ndim == 0
    return value[()] if is_number_array else value


def _read_multi_discrete(state: _State, budget: Budget) -> AnySpace:
    nvec = _array(state, "nvec", "iu")
    start = None if state.get("start") is None else _array(state, "start", "iu")
    return build_multi_discrete(nvec, start, _dtype(state, nvec.dtype, "iu"), budget)


def _read_text(state: _State, budget: Budget) -> AnySpace:
    named = (state.get(name) for name in ("_char_list", "_char_set", "charset", "_char_str"))
    characters = next((given for given in named if given is not None), None)
    return build_text(state.get("min_length", 1), state.get("max_length"), characters, budget)


def _items(state: _State) -> list[Any]:
    spaces = state.get("spaces")
    if not isinstance(spaces, (list, tuple)):
        raise corrupt("a pickled space has no spaces", expected="a list", found=type(spaces))
    return list(spaces)


def _read_dict(state: _State, budget: Budget, *, is_flexible: bool = False) -> AnySpace:
    spaces = state.get("spaces")
    if not isinstance(spaces, Mapping):
        raise corrupt("a pickled Dict has no spaces", expected="a mapping", found=type(spaces))
    return build_dict(spaces.items(), budget, is_flexible=is_flexible)


def _read_sequence(state: _State, budget: Budget) -> AnySpace:
    return build_sequence(lambda: state.get("feature_space"), state.get("stack", False), budget)


def _read_graph(state: _State, budget: Budget) -> AnySpace:
    return build_graph(lambda: state.get("node_space"), lambda: state.get("edge_space"), budget)


def _read_simplex(state: _State, budget: Budget) -> AnySpace:
    shares = None
    if state.get("concentration") is not None:
        shares = _array(state, "concentration", "iuf")
    dtype = _dtype(state, np.dtype(np.float32), "f")
    return build_simplex(_shape(state, ()), shares, dtype, budget)


_READ: Final[dict[str, Callable[[_State, Budget], AnySpace]]] = {
    "Box": _read_box,
    "Discrete": _read_discrete,
    "MultiDiscrete": _read_multi_discrete,
    "MultiBinary": lambda state, budget: build_multi_binary(_number(state, "n"), budget),
    "Text": _read_text,
    "Tuple": lambda state, budget: build_tuple(_items(state), budget),
    "Dict": _read_dict,
    "FlexDict": lambda state, budget: _read_dict(state, budget, is_flexible=True),
    "OneOf": lambda state, budget: build_one_of(_items(state), budget),
    "Sequence": _read_sequence,
    "Graph": _read_graph,
    "Simplex": _read_simplex,
    "Repeated": lambda state, budget: build_repeated(
        state.get("child_space"), state.get("max_len"), budget
    ),
}

_SIGNS: Final = {
    "Box": ("low", "high", "dtype"),
    "MultiDiscrete": ("nvec", "dtype"),
    "Discrete": ("n", "start", "_shape"),
    "Text": ("min_length", "max_length", "_char_list"),
}
