"""Random values of a space; `corners` has its corners, `fit` says what does not fit.

Nothing here touches the space: its random generator is left alone, and two calls with one seed
give the same values. What a value takes in memory is checked before it is allocated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import gymnasium as gym
import numpy as np

from ..data.budget import DEFAULT_MAX_BYTES, Budget
from ..errors import SpaceError
from ..types import Array, Nest
from .walk import AnySpace, children_of, kind_of

MOST_ITEMS: Final = 3
"""The longest sequence that is drawn."""

MOST_CHARACTERS: Final = 32
"""How much longer than its shortest a text may be drawn."""


def sample(
    space: AnySpace,
    seed: int | np.random.Generator | None = None,
    *,
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> Nest:
    """A random value of `space`, the same for the same seed.

    Args:
        space: Any space; it is not changed, its own generator neither.
        seed: A seed, or a generator to draw from.
        max_bytes: The most memory the value may take.

    Raises:
        LimitExceededError: The space declares a larger value than allowed.

    Example:
        >>> from gymnasium.spaces import Discrete
        >>> bool(sample(Discrete(10), 3) == sample(Discrete(10), 3))
        True
    """
    return _sample(space, np.random.default_rng(seed), Budget.of_bytes(max_bytes))


def _sample(space: AnySpace, rng: np.random.Generator, budget: Budget) -> Nest:
    kind = kind_of(space)
    with budget.level("a space"):
        if kind == "Tuple":
            return tuple(_sample(child, rng, budget) for _, child in children_of(space))
        if kind in ("Dict", "FlexDict"):
            return {key: _sample(child, rng, budget) for key, child in children_of(space)}
        return _SAMPLE.get(kind, _sample_unknown)(space, rng, budget)


def take_value(space: Any, budget: Budget) -> None:
    """Spend what one array of `space` takes, before it is made."""
    budget.spend(
        math.prod(space.shape) * space.dtype.itemsize, f"a value of {type(space).__name__}"
    )


def _sample_box(space: Any, rng: np.random.Generator, budget: Budget) -> Array:
    take_value(space, budget)
    low, high, dtype = space.low, space.high, space.dtype
    if dtype.kind == "b":
        return np.asarray(np.where(rng.random(low.shape) < 0.5, low, high), dtype)
    if dtype.kind in "iu":
        native = dtype.newbyteorder("=")
        drawn = rng.integers(
            low.astype(native), high.astype(native), low.shape, dtype=native.type, endpoint=True
        )
        return np.asarray(drawn, dtype)
    low64, high64 = low.astype(np.float64), high.astype(np.float64)
    share, tail = rng.random(low.shape), rng.exponential(size=low.shape)
    bell = rng.standard_normal(low.shape)
    below, above = np.isfinite(low64), np.isfinite(high64)
    with np.errstate(invalid="ignore", over="ignore"):
        between = low64 * (1.0 - share) + high64 * share
        one_sided = np.where(below, low64 + tail, np.where(above, high64 - tail, bell))
        value = np.where(below & above, between, one_sided).astype(dtype)
    return np.asarray(np.clip(value, low, high), dtype)


def _sample_discrete(space: Any, rng: np.random.Generator, budget: Budget) -> Any:
    drawn = int(rng.integers(0, int(space.n), dtype=np.uint64))
    return int_type(space)(int(space.start) + drawn)


def int_type(space: Any) -> Any:
    """The numpy integer class of the space's values."""
    return np.dtype(space.dtype).type


def _sample_multi_discrete(space: Any, rng: np.random.Generator, budget: Budget) -> Array:
    take_value(space, budget)
    choices = np.asarray(space.nvec).astype(np.uint64)
    drawn = np.asarray(rng.integers(0, choices, choices.shape, dtype=np.uint64))
    return np.asarray(drawn.astype(space.dtype) + start_of(space), space.dtype)


def start_of(space: Any) -> Any:
    """The first element of a discrete space; older gymnasium has none but zero."""
    return getattr(space, "start", 0)


def _sample_multi_binary(space: Any, rng: np.random.Generator, budget: Budget) -> Array:
    take_value(space, budget)
    return np.asarray(rng.integers(0, 2, space.shape, dtype=np.int8))


def _sample_text(space: Any, rng: np.random.Generator, budget: Budget) -> str:
    shortest = int(space.min_length)
    longest = max(shortest, min(int(space.max_length), shortest + MOST_CHARACTERS))
    return draw_text(space, int(rng.integers(shortest, longest + 1)), rng, budget)


def draw_text(space: Any, length: int, rng: np.random.Generator | None, budget: Budget) -> str:
    """A text of `length` characters; without a generator all of them the first there is."""
    characters = space.character_list
    if not characters:
        if space.min_length:
            raise SpaceError("a Text space without characters has no values")
        return ""
    budget.spend(8 * length, "a text")
    if rng is None:
        return str(characters[0]) * length
    return "".join(characters[place] for place in rng.integers(0, len(characters), length))


def _sample_sequence(space: Any, rng: np.random.Generator, budget: Budget) -> Any:
    count = int(rng.integers(1, MOST_ITEMS + 1))
    items = [_sample(space.feature_space, rng, budget) for _ in range(count)]
    return stack_items(space.feature_space, items, budget) if space.stack else tuple(items)


def _sample_repeated(space: Any, rng: np.random.Generator, budget: Budget) -> list[Any]:
    count = int(rng.integers(0, min(int(space.max_len), MOST_ITEMS) + 1))
    return [_sample(space.child_space, rng, budget) for _ in range(count)]


def _sample_graph(space: Any, rng: np.random.Generator, budget: Budget) -> Any:
    node_count = int(rng.integers(1, MOST_ITEMS + 1))
    nodes = [_sample(space.node_space, rng, budget) for _ in range(node_count)]
    edges = None
    if space.edge_space is not None:
        edges = [_sample(space.edge_space, rng, budget) for _ in range(rng.integers(1, 4))]
    links = None if edges is None else rng.integers(0, node_count, (len(edges), 2))
    return make_graph(space, nodes, edges, links, budget)


def make_graph(space: Any, nodes: Any, edges: Any, links: Any, budget: Budget) -> Any:
    """A value of a Graph space from lists of nodes and edges."""
    stacked = None if edges is None else stack_items(space.edge_space, edges, budget)
    return gym.spaces.GraphInstance(stack_items(space.node_space, nodes, budget), stacked, links)


def stack_items(space: AnySpace, items: list[Any], budget: Budget) -> Any:
    """Items of `space` in one batch, as gymnasium's vector environments stack them."""
    with budget.level("a space"):
        empty: Any = gym.vector.utils.create_empty_array(space, len(items))
        return gym.vector.utils.concatenate(space, items, empty)


def _sample_one_of(space: Any, rng: np.random.Generator, budget: Budget) -> Any:
    place = int(rng.integers(0, len(space.spaces)))
    return np.int64(place), _sample(space.spaces[place], rng, budget)


def _sample_simplex(space: Any, rng: np.random.Generator, budget: Budget) -> Array:
    take_value(space, budget)
    return np.asarray(rng.dirichlet(space.concentration, space.shape[:-1]), space.dtype)


def _sample_unknown(space: Any, rng: np.random.Generator, budget: Budget) -> Any:
    """A value of a space class we do not know, drawn by itself with our generator."""
    own = space._np_random
    space._np_random = rng
    try:
        return space.sample()
    finally:
        space._np_random = own


_SAMPLE: Final[dict[str, Callable[[Any, np.random.Generator, Budget], Any]]] = {
    "Box": _sample_box,
    "Discrete": _sample_discrete,
    "MultiDiscrete": _sample_multi_discrete,
    "MultiBinary": _sample_multi_binary,
    "Text": _sample_text,
    "Sequence": _sample_sequence,
    "Repeated": _sample_repeated,
    "Graph": _sample_graph,
    "OneOf": _sample_one_of,
    "Simplex": _sample_simplex,
}
