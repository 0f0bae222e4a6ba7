"""Values of a space: random ones, and those at its corners, where conversions overflow first.

Nothing here touches the space: its random generator is left alone, and two calls with one seed
give the same values. What a value takes in memory is checked before it is allocated; `fit` says why
a value does not lie in a space.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import gymnasium as gym
import numpy as np

from .. import nest
from ..data.budget import DEFAULT_MAX_BYTES, Budget
from ..errors import SpaceError
from ..types import Array, Nest
from .schema import spaces_in
from .walk import AnySpace, children_of, kind_of

_MOST_ITEMS: Final = 3
"""The longest sequence that is drawn."""

_MOST_CHARACTERS: Final = 32
"""How much longer than its shortest a text may be drawn."""

_FAR: Final = 1000.0
"""Stands for infinity in the 'low' and 'high' corners; 'lowest' and 'highest' go to the end."""

_CORNERS: Final = ("zeros", "low", "high", "lowest", "highest")


def sample(
    space: AnySpace,
    seed: int | np.random.Generator | None = None,
    *,
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> Nest:
    """A random value of `space`, the same for the same seed.

    Example:
        >>> from gymnasium.spaces import Discrete
        >>> bool(sample(Discrete(10), 3) == sample(Discrete(10), 3))
        True
    """
    return _value(space, _Random(np.random.default_rng(seed)), Budget.of_bytes(max_bytes))


def corners(space: AnySpace) -> Iterator[tuple[str, Nest]]:
    """Values at the corners of `space` by name, all finite: what random values rarely reach.

    `zeros` (or what is nearest to them), `low` and `high` with infinite bounds drawn in to
    +-1000, and where that is another value `lowest` and `highest` at the end of the dtype.

    Example:
        >>> from gymnasium.spaces import Box
        >>> [(name, value.tolist()) for name, value in corners(Box(-1, 1, (2,)))]
        [('zeros', [0.0, 0.0]), ('low', [-1.0, -1.0]), ('high', [1.0, 1.0])]
    """
    for name in _CORNERS[:3] if _is_finite(space) else _CORNERS:
        yield name, _value(space, _Corner(name), Budget.of_bytes(DEFAULT_MAX_BYTES))


def _is_finite(space: Any) -> bool:
    if kind_of(space) == "Box":
        return bool(np.isfinite(space.low).all() and np.isfinite(space.high).all())
    original = getattr(space, "original_space", None)
    return all(_is_finite(part) for part in spaces_in(space) if part is not original)


class _Random:
    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def numbers(self, space: Any) -> Array:
        rng, low, high, dtype = self.rng, space.low, space.high, space.dtype
        if dtype.kind == "b":
            return np.asarray(np.where(rng.random(low.shape) < 0.5, low, high), dtype)
        if dtype.kind in "iu":
            native = dtype.newbyteorder("=")
            ends = low.astype(native), high.astype(native)
            drawn = rng.integers(*ends, low.shape, dtype=native.type, endpoint=True)
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

    def whole(self, first: Any, choices: Any, shape: tuple[int, ...]) -> Any:
        """Whole numbers from `first` on, each one of `choices`."""
        drawn = self.rng.integers(0, np.asarray(choices, np.uint64), shape, dtype=np.uint64)
        return np.asarray(drawn).astype(np.asarray(first).dtype) + first

    def count(self, least: int, most: int) -> int:
        return int(self.rng.integers(least, most + 1))

    def shares(self, space: Any) -> Array:
        return np.asarray(self.rng.dirichlet(space.concentration, space.shape[:-1]), space.dtype)

    def unknown(self, space: Any) -> Any:
        """Drawn by the space itself, with our generator."""
        generator = space._np_random
        space._np_random = self.rng
        try:
            return space.sample()
        finally:
            space._np_random = generator


class _Corner:
    def __init__(self, name: str) -> None:
        self.name = name
        self.is_high = name.startswith("high")

    def numbers(self, space: Any) -> Array:
        low, high, dtype = space.low, space.high, space.dtype
        if self.name == "zeros":
            return np.asarray(np.clip(np.zeros(low.shape, dtype), low, high), dtype)
        value = np.array(high if self.is_high else low)
        if dtype.kind == "f":
            is_end = self.name in ("lowest", "highest")
            end = np.finfo(dtype).max if is_end else dtype.type(_FAR)
            value = np.clip(np.clip(value, -end, end), low, high)
        return np.asarray(value, dtype)

    def whole(self, first: Any, choices: Any, shape: tuple[int, ...]) -> Any:
        last = first + (choices - 1)
        nearest = np.clip(np.zeros_like(last), first, last)
        return last if self.is_high else nearest if self.name == "zeros" else last - (choices - 1)

    def count(self, least: int, most: int) -> int:
        return most if self.is_high else least

    def shares(self, space: Any) -> Array:
        value = np.zeros(space.shape, space.dtype)
        if self.name == "zeros":
            value[...] = 1.0 / space.shape[-1]
        else:
            value[..., -1 if self.is_high else 0] = 1.0
        return value

    def unknown(self, space: Any) -> Any:
        raise SpaceError("a space has no known corners", found=type(space).__name__)


_Choice: TypeAlias = _Random | _Corner


def _value(space: Any, choice: _Choice, budget: Budget) -> Any:
    kind = kind_of(space)
    with budget.level("a space"):
        if kind == "Tuple":
            return tuple(_value(child, choice, budget) for _, child in children_of(space))
        if kind in ("Dict", "FlexDict"):
            return {key: _value(child, choice, budget) for key, child in children_of(space)}
        if kind in ("Box", "MultiDiscrete", "MultiBinary", "Simplex"):
            size = math.prod(space.shape) * space.dtype.itemsize
            budget.spend(size, f"a value of {type(space).__name__}")
        make = _VALUES.get(kind)
        return choice.unknown(space) if make is None else make(space, choice, budget)


def _discrete(space: Any, choice: _Choice, budget: Budget) -> Any:
    return np.dtype(space.dtype).type(choice.whole(int(space.start), int(space.n), ()))


def _multi_discrete(space: Any, choice: _Choice, budget: Budget) -> Array:
    start = getattr(space, "start", 0)  # older gymnasium has none but zero
    return np.asarray(choice.whole(start, space.nvec, space.shape), space.dtype)


def _text(space: Any, choice: _Choice, budget: Budget) -> str:
    shortest = int(space.min_length)
    longest = max(shortest, min(int(space.max_length), shortest + _MOST_CHARACTERS))
    length, characters = choice.count(shortest, longest), space.character_list
    if not characters:
        if shortest:
            raise SpaceError("a Text space without characters has no values")
        return ""
    budget.spend(8 * length, "a text")
    if isinstance(choice, _Random):
        return "".join(characters[at] for at in choice.rng.integers(0, len(characters), length))
    return str(characters[0]) * length


def _items(space: AnySpace, count: int, choice: _Choice, budget: Budget) -> list[Any]:
    return [_value(space, choice, budget) for _ in range(count)]


def _sequence(space: Any, choice: _Choice, budget: Budget) -> Any:
    items = _items(space.feature_space, choice.count(1, _MOST_ITEMS), choice, budget)
    return _stacked(space.feature_space, items, budget) if space.stack else tuple(items)


def _repeated(space: Any, choice: _Choice, budget: Budget) -> list[Any]:
    count = choice.count(0, min(int(space.max_len), _MOST_ITEMS))
    return _items(space.child_space, count, choice, budget)


def _graph(space: Any, choice: _Choice, budget: Budget) -> Any:
    nodes = _items(space.node_space, choice.count(1, _MOST_ITEMS), choice, budget)
    edges, links = None, None
    if space.edge_space is not None:
        count = choice.count(1, _MOST_ITEMS)
        edges = _stacked(space.edge_space, _items(space.edge_space, count, choice, budget), budget)
        links = choice.whole(np.zeros((count, 2), np.int64), np.int64(len(nodes)), (count, 2))
    return gym.spaces.GraphInstance(_stacked(space.node_space, nodes, budget), edges, links)


def _stacked(space: AnySpace, items: list[Any], budget: Budget) -> Any:
    """Items in one batch, as gymnasium's vector environments stack them."""
    with budget.level("a space"):
        empty: Any = gym.vector.utils.create_empty_array(space, len(items))
        return gym.vector.utils.concatenate(space, items, empty)


def _one_of(space: Any, choice: _Choice, budget: Budget) -> Any:
    place = choice.count(0, len(space.spaces) - 1)
    return np.int64(place), _value(space.spaces[place], choice, budget)


_VALUES: Final[dict[str, Callable[[Any, _Choice, Budget], Any]]] = {
    "Box": lambda space, choice, budget: choice.numbers(space),
    "Discrete": _discrete,
    "MultiDiscrete": _multi_discrete,
    "MultiBinary": lambda space, choice, budget: np.asarray(
        choice.whole(np.zeros(space.shape, np.int8), 2, space.shape), np.int8
    ),
    "Text": _text,
    "Sequence": _sequence,
    "Repeated": _repeated,
    "Graph": _graph,
    "OneOf": _one_of,
    "Simplex": lambda space, choice, budget: choice.shares(space),
}


_LARGE: Final = 1e6
_NEAR: Final = 1e3

Course = list[Nest]
"""The observations of one episode, in order."""


def sampled_courses(
    space: Any, *, count: int, length: int, seed: int, with_corners: bool = True
) -> list[Course]:
    """Random episodes of a space, and one for each of its corners.

    Numbers beyond a million are drawn in to a thousand: spaces whose bounds are those of float32
    would only show that networks overflow. The space's own generator is left as it was.
    """
    seeded = copy.deepcopy(space)
    seeded.seed(seed)
    courses = [[_reachable(seeded.sample()) for _ in range(length)] for _ in range(count)]
    if not with_corners:
        return courses
    return courses + [[_reachable(value)] * length for _, value in corners(space)]


def _reachable(value: Nest) -> Nest:
    def drawn_in(leaf: Any) -> Any:
        if not isinstance(leaf, np.ndarray) or leaf.dtype.kind != "f":
            return leaf
        return np.where(np.abs(leaf) > _LARGE, np.sign(leaf) * _NEAR, leaf).astype(leaf.dtype)

    return nest.map_structure(drawn_in, value)


def recorded_courses(observations: Sequence[Any]) -> list[Course]:
    """Recorded episodes: a list of lists, or else one episode."""
    if len(observations) and isinstance(observations[0], list):
        return [list(course) for course in observations]
    return [list(observations)]
