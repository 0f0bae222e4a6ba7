"""Values at the corners of a space: what random values rarely reach and what breaks first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from ..data.budget import DEFAULT_MAX_BYTES, Budget
from ..errors import SpaceError
from ..types import Array, Nest
from .values import (
    MOST_CHARACTERS,
    MOST_ITEMS,
    draw_text,
    int_type,
    make_graph,
    stack_items,
    start_of,
    take_value,
)
from .walk import AnySpace, children_of, kind_of

_FAR: Final = 1000.0
"""Stands for infinity in the 'low' and 'high' corners; 'lowest' and 'highest' go to the end."""

_CORNERS: Final = ("zeros", "low", "high", "lowest", "highest")


def corners(space: AnySpace, *, max_bytes: int = DEFAULT_MAX_BYTES) -> Iterator[tuple[str, Nest]]:
    """Values at the corners of `space` by name, all finite: what random values rarely reach.

    `zeros` (or what is nearest to them), `low` and `high` with infinite bounds drawn in to
    +-1000, and where that is another value `lowest` and `highest` at the end of the dtype.

    Example:
        >>> from gymnasium.spaces import Box
        >>> [(name, value.tolist()) for name, value in corners(Box(-1, 1, (2,)))]
        [('zeros', [0.0, 0.0]), ('low', [-1.0, -1.0]), ('high', [1.0, 1.0])]
    """
    for name in _CORNERS[:3] if _is_finite(space) else _CORNERS:
        yield name, _corner(space, name, Budget.of_bytes(max_bytes))


def _is_finite(space: Any) -> bool:
    kind = kind_of(space)
    if kind == "Box":
        return bool(np.isfinite(space.low).all() and np.isfinite(space.high).all())
    inner = {
        "Sequence": "feature_space",
        "Repeated": "child_space",
        "Graph": "node_space",
    }.get(kind)
    if inner:
        return _is_finite(getattr(space, inner))
    below = space.spaces if kind == "OneOf" else [child for _, child in children_of(space)]
    return all(map(_is_finite, below))


def _corner(space: Any, name: str, budget: Budget) -> Nest:
    kind = kind_of(space)
    with budget.level("a space"):
        if kind == "Tuple":
            return tuple(_corner(child, name, budget) for _, child in children_of(space))
        if kind in ("Dict", "FlexDict"):
            return {key: _corner(child, name, budget) for key, child in children_of(space)}
        corner = _CORNER.get(kind)
        if corner is None:
            raise SpaceError("a space has no known corners", found=type(space).__name__)
        return corner(space, name, budget)


def _corner_box(space: Any, name: str, budget: Budget) -> Array:
    take_value(space, budget)
    low, high, dtype = space.low, space.high, space.dtype
    if name == "zeros":
        return np.asarray(np.clip(np.zeros(low.shape, dtype), low, high), dtype)
    value = np.array(low if name.startswith("low") else high)
    if dtype.kind == "f":
        end = np.finfo(dtype).max if name in ("lowest", "highest") else dtype.type(_FAR)
        value = np.clip(np.clip(value, -end, end), low, high)
    return np.asarray(value, dtype)


def _corner_discrete(space: Any, name: str, budget: Budget) -> Any:
    first, last = int(space.start), int(space.start) + int(space.n) - 1
    places = {"zeros": min(max(0, first), last), "low": first, "lowest": first}
    return int_type(space)(places.get(name, last))


def _corner_multi_discrete(space: Any, name: str, budget: Budget) -> Array:
    take_value(space, budget)
    first = np.zeros_like(space.nvec) + start_of(space)
    last = first + (space.nvec - 1)
    if name == "zeros":
        return np.asarray(np.clip(np.zeros_like(first), first, last), space.dtype)
    return np.asarray(first if name.startswith("low") else last, space.dtype)


def _corner_multi_binary(space: Any, name: str, budget: Budget) -> Array:
    take_value(space, budget)
    return np.full(space.shape, name.startswith("high"), np.int8)


def _corner_text(space: Any, name: str, budget: Budget) -> str:
    shortest = int(space.min_length)
    if name.startswith("high"):
        longest = max(shortest, min(int(space.max_length), shortest + MOST_CHARACTERS))
        return draw_text(space, longest, None, budget)
    return draw_text(space, shortest, None, budget)


def _corner_sequence(space: Any, name: str, budget: Budget) -> Any:
    count = 2 if name.startswith("high") else 1
    items = [_corner(space.feature_space, name, budget) for _ in range(count)]
    return stack_items(space.feature_space, items, budget) if space.stack else tuple(items)


def _corner_repeated(space: Any, name: str, budget: Budget) -> list[Any]:
    count = min(int(space.max_len), MOST_ITEMS) if name.startswith("high") else 0
    return [_corner(space.child_space, name, budget) for _ in range(count)]


def _corner_graph(space: Any, name: str, budget: Budget) -> Any:
    nodes, edges, links = [_corner(space.node_space, name, budget)], None, None
    if space.edge_space is not None and name.startswith("high"):
        edges, links = [_corner(space.edge_space, name, budget)], np.zeros((1, 2), np.int64)
    return make_graph(space, nodes, edges, links, budget)


def _corner_one_of(space: Any, name: str, budget: Budget) -> Any:
    place = len(space.spaces) - 1 if name.startswith("high") else 0
    return np.int64(place), _corner(space.spaces[place], name, budget)


def _corner_simplex(space: Any, name: str, budget: Budget) -> Array:
    take_value(space, budget)
    value = np.zeros(space.shape, space.dtype)
    if name == "zeros":
        value[...] = 1.0 / space.shape[-1]
    else:
        value[..., 0 if name.startswith("low") else -1] = 1.0
    return value


_CORNER: Final[dict[str, Callable[[Any, str, Budget], Any]]] = {
    "Box": _corner_box,
    "Discrete": _corner_discrete,
    "MultiDiscrete": _corner_multi_discrete,
    "MultiBinary": _corner_multi_binary,
    "Text": _corner_text,
    "Sequence": _corner_sequence,
    "Repeated": _corner_repeated,
    "Graph": _corner_graph,
    "OneOf": _corner_one_of,
    "Simplex": _corner_simplex,
}
