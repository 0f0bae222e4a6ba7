"""The flat parts of an action space, in the order their distribution inputs are laid out.

Dict spaces are walked in sorted key order, Tuple spaces in their own. Rebuilt values are plain
dicts (in the space's key order) and tuples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from gymnasium.spaces import Dict, Space, Tuple

T = TypeVar("T")


def leaf_spaces(space: Space[Any]) -> list[Space[Any]]:
    """The spaces at the ends of a nested space; a flat space is its own only leaf.

    Example:
        >>> from gymnasium.spaces import Discrete
        >>> leaf_spaces(Dict(b=Discrete(2), a=Tuple([Discrete(3), Discrete(4)])))
        [Discrete(3), Discrete(4), Discrete(2)]
    """
    if isinstance(space, Dict):
        return [leaf for key in sorted(space.spaces) for leaf in leaf_spaces(space[key])]
    if isinstance(space, Tuple):
        return [leaf for child in space.spaces for leaf in leaf_spaces(child)]
    return [space]


def nest_leaves(space: Space[Any], leaves: Sequence[T]) -> Any:
    """Values of all leaves, in leaf order, put back into the shape of `space`."""
    return _nest(space, iter(leaves))


def _nest(space: Space[Any], leaves: Iterator[T]) -> Any:
    if isinstance(space, Dict):
        built = {key: _nest(space[key], leaves) for key in sorted(space.spaces)}
        return {key: built[key] for key in space.spaces}
    if isinstance(space, Tuple):
        return tuple(_nest(child, leaves) for child in space.spaces)
    return next(leaves)


def map_actions(change: Callable[[Any], Any], value: Any) -> Any:
    """Each leaf of a nested action replaced by `change(leaf)`."""
    if isinstance(value, dict):
        return {key: map_actions(change, item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(map_actions(change, item) for item in value)
    return change(value)
