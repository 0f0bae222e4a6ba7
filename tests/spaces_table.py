"""The shared table of spaces: every kind, nested, odd bounds, integers, images, unbounded sides.

Tests parametrize over `SPACES` (all), `FIXED` (leaves of fixed shape, so that values can be
flattened and batched) or `BOXES`. Each entry is made anew by `make_space(name)`, so a test may do
with it what it likes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.spaces import (
    Box,
    Dict,
    Discrete,
    Graph,
    MultiBinary,
    MultiDiscrete,
    Sequence,
    Text,
    Tuple,
)
from rlconnect.core.spaces.rllib_spaces import FlexDict, Repeated, Simplex

INF = np.inf


def _box(low: Any, high: Any, dtype: Any = np.float32) -> Box:
    return Box(np.array(low, dtype), np.array(high, dtype), dtype=dtype)


def _preprocessed() -> Box:
    space = Box(-1.0, 1.0, (5,), np.float32)
    space.original_space = Dict(a=Discrete(3), b=Box(0, 1, (2,)))  # type: ignore[attr-defined]
    return space


BOXES: dict[str, Callable[[], gym.Space[Any]]] = {
    "box": lambda: Box(-1.0, 2.0, (3,), np.float32),
    "box_cartpole": lambda: _box([-4.8, -INF, -0.42, -INF], [4.8, INF, 0.42, INF]),
    "box_unbounded": lambda: Box(-INF, INF, (3,), np.float32),
    "box_half_bounded": lambda: _box([0.0, -INF, 1.5], [INF, 0.0, 1.5]),
    "box_odd_bounds": lambda: _box([-0.0, 1e-45, 0.1, -3.4e38], [0.0, 2e-45, 0.3, 3.4e38]),
    "box_float64": lambda: _box([[-0.1, -1e308]], [[1 / 3, 1e308]], np.float64),
    "box_float16": lambda: _box([-1.5, -INF], [6.1e-05, INF], np.float16),
    "box_scalar": lambda: Box(0.0, 1.0, (), np.float32),
    "box_empty": lambda: Box(0.0, 1.0, (0, 3), np.float32),
    "box_long": lambda: Box(-np.arange(1.0, 41.0), np.arange(1.0, 41.0), dtype=np.float64),
    "box_int": lambda: _box([-5, 0], [5, 0], np.int64),
    "box_int_extremes": lambda: _box([-(2**63)], [2**63 - 1], np.int64),
    "box_int8": lambda: Box(-128, 127, (2, 2), np.int8),
    "box_uint64": lambda: _box([0], [2**64 - 1], np.uint64),
    "box_bool": lambda: _box([False, False], [False, True], np.bool_),
    "image": lambda: Box(0, 255, (8, 6, 3), np.uint8),
    "image_gray": lambda: Box(0, 255, (8, 6), np.uint8),
    "ram": lambda: Box(0, 255, (128,), np.uint8),
}

FIXED: dict[str, Callable[[], gym.Space[Any]]] = {
    **BOXES,
    "discrete": lambda: Discrete(4),
    "discrete_start": lambda: Discrete(3, start=-2),
    "discrete_one": lambda: Discrete(1, start=7),
    "multi_discrete": lambda: MultiDiscrete([2, 3, 4]),
    "multi_discrete_2d": lambda: MultiDiscrete([[2, 3], [4, 5]], dtype=np.int32),
    "multi_discrete_start": lambda: MultiDiscrete([2, 3], start=[1, -1]),
    "multi_binary": lambda: MultiBinary(5),
    "multi_binary_2d": lambda: MultiBinary([2, 3]),
    "simplex": lambda: Simplex((3,)),
    "simplex_weighted": lambda: Simplex((2, 3), np.array([1.0, 2.0, 0.5]), np.float64),
    "tuple": lambda: Tuple((Discrete(2), Box(0, 1, (2,)))),
    "tuple_empty": lambda: Tuple(()),
    "dict": lambda: Dict({"b": Discrete(2), "a": Box(-1, 1, (2, 2))}),
    "dict_own_order": lambda: Dict([("b", Discrete(2)), ("a", Discrete(3))]),
    "dict_int_keys": lambda: Dict({1: Discrete(2), 0: Discrete(3)}),
    "dict_empty": lambda: Dict({}),
    "nested": lambda: Dict(
        {
            "pos": Box(-1, 1, (3,)),
            "mode": Discrete(4),
            "pair": Tuple(
                (Discrete(3), Dict(x=MultiBinary(2), y=Box(0, 255, (4, 4, 1), np.uint8)))
            ),
        }
    ),
    "flex_dict": lambda: FlexDict({"z": Discrete(2), "y": Box(0, 1, (1,))}),
    "preprocessed": _preprocessed,
}

SPACES: dict[str, Callable[[], gym.Space[Any]]] = {
    **FIXED,
    "text": lambda: Text(5, min_length=1, charset="abc"),
    "text_order": lambda: Text(3, min_length=0, charset="zyxé☃"),
    "text_default": lambda: Text(7),
    "sequence": lambda: Sequence(Discrete(3)),
    "sequence_stacked": lambda: Sequence(Box(0, 1, (2,)), stack=True),
    "sequence_of_dicts": lambda: Sequence(Dict(a=Discrete(2), b=Box(0, 1, (1,)))),
    "graph": lambda: Graph(Box(-1, 1, (3,)), Discrete(3)),
    "graph_no_edges": lambda: Graph(Discrete(2), None),
    "repeated": lambda: Repeated(Box(0, 1, (2,)), max_len=4),
    "repeated_nested": lambda: Repeated(Dict(a=Discrete(2)), max_len=2),
    "open_parts": lambda: Tuple((Text(4), Sequence(Discrete(2)), Discrete(2))),
}

if hasattr(gym.spaces, "OneOf"):
    SPACES["one_of"] = lambda: gym.spaces.OneOf((Discrete(2), Box(0, 1, (2,))))
    SPACES["one_of_nested"] = lambda: Dict(
        choice=gym.spaces.OneOf((Text(3), Tuple((Discrete(2), Discrete(3)))))
    )


def make_space(name: str) -> gym.Space[Any]:
    """A new space of the table."""
    return SPACES[name]()
