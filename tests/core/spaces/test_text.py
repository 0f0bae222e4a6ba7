"""Spaces in words: one line each, every difference named."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple
from rlconnect.core.spaces.text import describe

from tests.spaces_table import SPACES, make_space


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("box", "Box(3,) float32 in [-1, 2]"),
        ("box_cartpole", "Box(4,) float32 within [-4.8, 4.8], 2 of 4 not bounded"),
        ("box_unbounded", "Box(3,) float32 unbounded"),
        ("box_float64", "Box(1, 2) float64 within [-1e+308, 1e+308], bounds vary"),
        ("box_empty", "Box(0, 3) float32, empty"),
        ("image", "image 8x6x3 uint8"),
        ("ram", "Box(128,) uint8 in [0, 255]"),
        ("discrete_start", "Discrete(3) from -2"),
        ("multi_discrete", "MultiDiscrete([2, 3, 4])"),
        ("multi_discrete_2d", "MultiDiscrete(2, 2) of 2 to 5 choices"),
        ("text", "Text(1 to 5 of 3 characters)"),
        ("tuple", "Tuple(Discrete(2), Box(2,) float32 in [0, 1])"),
        ("repeated", "Repeated(Box(2,) float32 in [0, 1], up to 4)"),
        ("graph_no_edges", "Graph(nodes: Discrete(2), edges: none)"),
    ],
)
def test_descriptions(name, line):
    """What a person wants to know, and no more."""
    assert describe(make_space(name)) == line


def test_half_bounded_intervals_show_which_side():
    """Infinity stands with a round bracket."""
    assert describe(Box(0, np.inf, (2,))) == "Box(2,) float32 in [0, inf)"


@pytest.mark.parametrize("name", SPACES)
def test_a_description_is_one_line(name):
    """No space of the table breaks the line."""
    line = describe(make_space(name))

    assert line
    assert "\n" not in line


def test_large_and_deep_spaces_stay_short():
    """A thousand parts or fifty levels are summed up; huge sizes cost nothing."""
    wide = Dict({f"part{place}": Discrete(2) for place in range(1000)})
    deep = Discrete(2)
    for _ in range(50):
        deep = Tuple((deep, deep))

    assert describe(wide).endswith("... 994 more)")
    assert len(describe(deep)) < 300
    assert describe(MultiBinary(2**50)) == f"MultiBinary({2**50})"
    assert describe(MultiDiscrete(np.full(1000, 3))) == "MultiDiscrete(1000,) of 3 to 3 choices"
    assert len(describe(Text(2**50))) < 80


def test_a_bound_of_negative_zero_is_zero():
    """Files have it; nobody reads it as another number."""
    assert describe(Box(-0.0, 1, (2,))) == "Box(2,) float32 in [0, 1]"
