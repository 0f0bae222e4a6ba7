"""Spaces and observations in words: one line each, at no more cost than the arrays they hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from .. import nest
from ..types import Array, Nest
from .walk import AnySpace, children_of, kind_of

_MAX_CHILDREN: Final = 6
_MAX_LEVELS: Final = 3
_MAX_NUMBERS: Final = 8


def describe(space: AnySpace) -> str:
    """One short line for people.

    Example:
        >>> from gymnasium.spaces import Box, Dict, Discrete
        >>> describe(Dict({"eye": Box(0, 255, (84, 84, 4), np.uint8), "gear": Discrete(5)}))
        'Dict(eye: image 84x84x4 uint8, gear: Discrete(5))'
        >>> describe(Box(-4.8, 4.8, (4,)))
        'Box(4,) float32 in [-4.8, 4.8]'
    """
    return _describe(space, 0)


def short_space(space: Any) -> str:
    """A space in a few words, its bounds left out.

    Example:
        >>> from gymnasium.spaces import Box
        >>> short_space(Box(-1.0, 1.0, (3,)))
        'Box(3,) float32'
    """
    shape = getattr(space, "shape", None)
    if type(space).__name__ == "Box" and shape is not None:
        return f"Box{tuple(shape)} {space.dtype}"
    if type(space).__name__ in ("Dict", "Tuple"):
        return f"{type(space).__name__} of {len(space)}"
    return " ".join(str(space).split())


def _describe(space: AnySpace, level: int) -> str:
    kind = kind_of(space)
    if kind in ("Dict", "FlexDict", "Tuple"):
        return f"{kind}({_describe_children(space, kind, level)})"
    describe_kind = _DESCRIBE.get(kind)
    if describe_kind is None:
        shape = "" if space.shape is None else f" {space.shape}"
        return f"{type(space).__name__}{shape}"
    return describe_kind(space, level)


def _describe_children(space: AnySpace, kind: str, level: int) -> str:
    children = children_of(space)
    if level >= _MAX_LEVELS and children:
        return f"{len(children)} parts"
    shown = [
        _describe(child, level + 1) if kind == "Tuple" else f"{key}: {_describe(child, level + 1)}"
        for key, child in children[:_MAX_CHILDREN]
    ]
    return ", ".join([*shown, *_more(children)])


def _more(children: Sequence[Any]) -> list[str]:
    count = len(children) - _MAX_CHILDREN
    return [f"... {count} more"] if count > 0 else []


def _describe_box(space: Any, level: int) -> str:
    low, high, shape, dtype = space.low, space.high, space.shape or (), space.dtype
    sizes = "x".join(str(size) for size in shape)
    if dtype == np.uint8 and len(shape) in (2, 3) and _is_all(low, 0) and _is_all(high, 255):
        return f"image {sizes} uint8"
    name = f"Box{shape} {dtype}"
    if low.size == 0:
        return f"{name}, empty"
    bounded = np.isfinite(low) & np.isfinite(high)
    if not bounded.any() and np.isneginf(low).all() and np.isposinf(high).all():
        return f"{name} unbounded"
    alike = _is_all(low, low.flat[0]) and _is_all(high, high.flat[0])
    if alike:
        return f"{name} in {_interval(low.flat[0], high.flat[0])}"
    reach = _interval(_extreme(low, np.min), _extreme(high, np.max))
    unbounded = low.size - int(bounded.sum())
    detail = f", {unbounded} of {low.size} not bounded" if unbounded else ", bounds vary"
    return f"{name} within {reach}{detail}"


def _is_all(bounds: Array, value: Any) -> bool:
    return bool((bounds == value).all())


def _extreme(bounds: Array, pick: Callable[[Array], Any]) -> Any:
    finite = bounds[np.isfinite(bounds)]
    return pick(finite if finite.size else bounds)


def _interval(low: Any, high: Any) -> str:
    left, right = ("(" if np.isneginf(low) else "["), (")" if np.isposinf(high) else "]")
    return f"{left}{_number(low)}, {_number(high)}{right}"


def _number(value: Any) -> str:
    return f"{value + 0.0:.4g}" if isinstance(value, np.floating) else str(value)  # no -0


def _describe_discrete(space: Any, level: int) -> str:
    start = int(getattr(space, "start", 0))
    return f"Discrete({int(space.n)})" + (f" from {start}" if start else "")


def _describe_multi_discrete(space: Any, level: int) -> str:
    nvec, start = space.nvec, getattr(space, "start", None)
    shifted = " shifted" if start is not None and np.any(start) else ""
    if nvec.ndim == 1 and nvec.size <= _MAX_NUMBERS:
        return f"MultiDiscrete({nvec.tolist()}){shifted}"
    choices = f" of {nvec.min()} to {nvec.max()} choices" if nvec.size else ""
    return f"MultiDiscrete{nvec.shape}{choices}{shifted}"


def _describe_text(space: Any, level: int) -> str:
    characters = len(space.character_set)
    return f"Text({space.min_length} to {space.max_length} of {characters} characters)"


def _describe_sequence(space: Any, level: int) -> str:
    stacked = ", stacked" if getattr(space, "stack", False) else ""
    return f"Sequence({_inner(space.feature_space, level)}{stacked})"


def _describe_graph(space: Any, level: int) -> str:
    edges = space.edge_space
    shown = "none" if edges is None else _inner(edges, level)
    return f"Graph(nodes: {_inner(space.node_space, level)}, edges: {shown})"


def _describe_one_of(space: Any, level: int) -> str:
    shown = [_inner(child, level) for child in space.spaces[:_MAX_CHILDREN]]
    return f"OneOf({' | '.join([*shown, *_more(space.spaces)])})"


def _inner(space: AnySpace, level: int) -> str:
    return "..." if level >= _MAX_LEVELS else _describe(space, level + 1)


_DESCRIBE: Final[dict[str, Callable[[Any, int], str]]] = {
    "Box": _describe_box,
    "Discrete": _describe_discrete,
    "MultiDiscrete": _describe_multi_discrete,
    "MultiBinary": lambda space, level: f"MultiBinary({space.n})",
    "Text": _describe_text,
    "Sequence": _describe_sequence,
    "Graph": _describe_graph,
    "OneOf": _describe_one_of,
    "Simplex": lambda space, level: f"Simplex{space.shape} {space.dtype}",
    "Repeated": lambda space, level: (
        f"Repeated({_inner(space.child_space, level)}, up to {space.max_len})"
    ),
}


def shown(observation: Nest) -> str:
    """An observation on one line, its numbers with six digits; large arrays in part.

    Example:
        >>> shown({"a": np.array([1.0, 0.5]), "b": 2})
        'a: [1. 0.5], b: 2'
    """
    parts = nest.flatten_with_path(observation)
    return ", ".join(
        ": ".join(filter(None, (".".join(map(str, path)), _leaf(leaf)))) for path, leaf in parts
    )


def short_shape(value: Nest) -> str:
    """Shape and type of an array; of several in a structure how many there are.

    Example:
        >>> short_shape(np.zeros((2, 3), np.float32)), short_shape({"a": 1, "b": 2})
        ('(2, 3) float32', '2 arrays')
    """
    leaves = nest.flatten(value)
    if len(leaves) != 1:
        return f"{len(leaves)} arrays"
    array = np.asarray(leaves[0])
    return f"{array.shape} {array.dtype}" if array.ndim else str(array.dtype)


def _leaf(leaf: object) -> str:
    if not isinstance(leaf, np.ndarray):
        return str(leaf)
    text = np.array2string(leaf.reshape(-1), precision=6, threshold=12, edgeitems=4)
    return " ".join(text.split())
