"""Walk a space, alone or beside its value: leaves with their paths, flat size, zeros.

Only Dict and Tuple are opened; every other space, a Sequence too, is a leaf. A space that a user
gave is read and never rebuilt, copied, seeded or sampled here: a subclass keeps what it carries.
Read next: `text` (a space in words), `values` and `fit` (what lies in it, and what does not),
`own_layout`, `ray_layouts` and `ray_pickles` (to and from what files hold).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

import gymnasium as gym
import numpy as np

from ..data.budget import DEFAULT_MAX_BYTES, MAX_DEPTH, Budget
from ..errors import LimitExceededError, SpaceError
from ..nest import path_text
from ..types import Array, Nest, Path
from .rllib_spaces import FlexDict, Repeated, Simplex

AnySpace: TypeAlias = gym.Space[Any]

_KINDS: Final = (
    ("gymnasium", "Box Discrete MultiDiscrete MultiBinary Text Tuple Dict Sequence Graph OneOf"),
    ("ray", "Simplex Repeated FlexDict"),
)
_OWN: Final = {Simplex: "Simplex", Repeated: "Repeated", FlexDict: "FlexDict"}


@lru_cache(maxsize=512)
def _kind_of_type(space_type: Any) -> str:
    for base in space_type.__mro__:
        if base in _OWN:
            return _OWN[base]
        for package, names in _KINDS:
            if base.__module__.split(".")[0] == package and base.__name__ in names.split():
                return str(base.__name__)
    return ""


def kind_of(space: AnySpace) -> str:
    """The kind of a space: 'Box', 'Dict', ... or '' for a class of the user's own.

    Subclasses count as their base; RLlib's Simplex, Repeated and FlexDict are known by name.
    """
    space_type: Any = type(space)
    return _kind_of_type(space_type)


def children_of(space: AnySpace, *, sort_keys: bool = False) -> list[tuple[str | int, AnySpace]]:
    """Keys and spaces right below a Dict or Tuple, else nothing.

    `sort_keys` orders a Dict by its keys, as RLlib orders leaves.
    """
    if not _is_open(space):
        return []
    spaces: Any = vars(space)["spaces"]
    if not isinstance(spaces, Mapping):
        return list(enumerate(spaces))
    pairs = list(spaces.items())
    if sort_keys:
        try:
            pairs.sort(key=lambda pair: pair[0])
        except TypeError:  # keys of several types have no order but their own
            return pairs
    return pairs


def leaf_spaces(space: AnySpace, *, sort_keys: bool = True) -> list[tuple[Path, AnySpace]]:
    """All leaf spaces with the keys and positions leading to them, depth first.

    `sort_keys` sorts the keys of Dicts, as flattening a plain dict does; False keeps the space's
    own order, as RLlib's flattening preprocessor does.

    Example:
        >>> from gymnasium.spaces import Dict, Discrete
        >>> leaf_spaces(Dict({"b": Discrete(2), "a": Discrete(3)}))
        [(('a',), Discrete(3)), (('b',), Discrete(2))]
    """
    return [(path, leaf) for path, leaf, _ in _walk(space, (), None, sort_keys)]


def walk(
    space: AnySpace, value: Nest, *, sort_keys: bool = True
) -> Iterator[tuple[Path, AnySpace, Any]]:
    """The leaf spaces beside their values: `(path, leaf space, leaf value)`, depth first.

    A value that is not built like the space is refused; leaves themselves are not checked.
    """
    return _walk(space, (), (value,), sort_keys)


def map_leaves(function: Callable[..., Any], space: AnySpace, *values: Nest) -> Nest:
    """A nest built like `space` of what `function(leaf_space, *leaf_values)` returns.

    Dict spaces become plain dicts in the space's own order, Tuple spaces tuples.

    Example:
        >>> from gymnasium.spaces import Dict, Discrete
        >>> map_leaves(lambda leaf, x: x / int(leaf.n), Dict(a=Discrete(4)), {"a": 2})
        {'a': 0.5}
    """
    return _map(function, space, values, ())


def same_space(one: AnySpace, other: AnySpace) -> bool:
    """True if two spaces are equal, the type of their numbers too.

    gymnasium 0.29 takes Boxes of other types for equal.

    Example:
        >>> from gymnasium.spaces import Box
        >>> same_space(Box(-1, 1, (2,)), Box(-1, 1, (2,), np.float64))
        False
    """
    if one != other:
        return False
    pairs = zip(leaf_spaces(one), leaf_spaces(other), strict=True)
    return all(mine.dtype == theirs.dtype for (_, mine), (_, theirs) in pairs)


def struct_of(space: AnySpace) -> Nest:
    """The leaf spaces themselves, in plain dicts and tuples instead of Dict and Tuple spaces."""
    return map_leaves(lambda leaf: leaf, space)


def flat_dim(space: AnySpace) -> int:
    """Length of the vector a value becomes when flattened, Discrete parts as one-hot.

    Parts without a fixed length (Text, Sequence, Graph, ...) are refused.

    Example:
        >>> from gymnasium.spaces import MultiDiscrete
        >>> flat_dim(MultiDiscrete([2, 3]))
        5
    """
    return sum(_flat_leaf(path, leaf) for path, leaf in leaf_spaces(space))


def zeros_like(
    space: AnySpace, batch_shape: tuple[int, ...] = (), *, max_bytes: int = DEFAULT_MAX_BYTES
) -> Nest:
    """Arrays of zeros with the shapes and dtypes of the space's values.

    Zeros may lie outside the space; for a value inside see `values.corners`.

    Example:
        >>> from gymnasium.spaces import Discrete
        >>> zeros_like(Discrete(4), (2,))
        array([0, 0])
    """
    budget = Budget.of_bytes(max_bytes)

    def zeros(leaf: AnySpace) -> Array:
        shape, dtype = leaf.shape, leaf.dtype
        if shape is None or dtype is None or kind_of(leaf) == "Text":
            raise SpaceError(
                "zeros need a fixed shape", expected="numbers", found=f"a {type(leaf).__name__}"
            )
        full = (*batch_shape, *shape)
        budget.spend(math.prod(full) * dtype.itemsize, "a batch of zeros")
        return np.zeros(full, dtype)

    return map_leaves(zeros, space)


def _walk(
    space: AnySpace, path: Path, value: tuple[Nest] | None, sort_keys: bool
) -> Iterator[tuple[Path, AnySpace, Any]]:
    if not _is_open(space):
        yield path, space, value[0] if value else None
        return
    _check_depth(path)
    if value:
        _check_form(space, value[0], path)
    for key, child in children_of(space, sort_keys=sort_keys):
        below = (value[0][key],) if value else None
        yield from _walk(child, (*path, key), below, sort_keys)


def _map(
    function: Callable[..., Any], space: AnySpace, values: tuple[Nest, ...], path: Path
) -> Nest:
    if not _is_open(space):
        return function(space, *values)
    _check_depth(path)
    for value in values:
        _check_form(space, value, path)
    mapped = {
        key: _map(function, child, tuple(value[key] for value in values), (*path, key))
        for key, child in children_of(space)
    }
    return tuple(mapped.values()) if kind_of(space) == "Tuple" else mapped


def _is_open(space: AnySpace) -> bool:
    return kind_of(space) in ("Tuple", "Dict", "FlexDict")


def _check_depth(path: Path) -> None:
    if len(path) >= MAX_DEPTH:
        raise LimitExceededError(
            "a space is nested too deeply", expected=f"at most {MAX_DEPTH} levels"
        )


def _check_form(space: AnySpace, value: Nest, path: Path) -> None:
    reason = form_mismatch(space, value)
    if reason:
        expected, found = reason
        raise SpaceError(f"{path_text(path)} does not fit", expected=expected, found=found)


def form_mismatch(space: AnySpace, value: Nest) -> tuple[str, str] | None:
    """The expected and the found form of a value of a Dict or Tuple, or None if it fits."""
    if kind_of(space) == "Tuple":
        count = len(children_of(space))
        if not isinstance(value, (tuple, list, np.ndarray)):
            return f"a tuple of {count}", f"a {type(value).__name__}"
        if isinstance(value, np.ndarray) and value.ndim == 0:
            return f"a tuple of {count}", "a single number"
        return None if len(value) == count else (f"a tuple of {count}", f"{len(value)} items")
    if not isinstance(value, Mapping):
        return "a dict", f"a {type(value).__name__}"
    children = [key for key, _ in children_of(space)]
    missing = [key for key in children if key not in value]
    if missing:
        return f"keys {_some(children)}", f"no {_some(missing)}"
    extra = [key for key in value if key not in children]
    return (f"keys {_some(children)}", f"{_some(extra)} besides") if extra else None


def _some(keys: Any, limit: int = 8) -> str:
    listed = [repr(key) for key in keys]
    more = [f"and {len(listed) - limit} more"] if len(listed) > limit else []
    return ", ".join(listed[:limit] + more) or "none"


def _flat_leaf(path: Path, leaf: Any) -> int:
    kind = kind_of(leaf)
    if kind == "Discrete":
        return int(leaf.n)
    if kind == "MultiDiscrete":
        return sum(leaf.nvec.ravel().tolist())
    if kind in ("Box", "MultiBinary", "Simplex") and leaf.shape is not None:
        return math.prod(leaf.shape)
    raise SpaceError(
        f"{path_text(path, 'space')} has no fixed flat length",
        expected="Box, Discrete, MultiDiscrete, MultiBinary or Simplex",
        found=kind or type(leaf).__name__,
    )
