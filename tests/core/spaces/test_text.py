"""Spaces in words: one line each, every difference named."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple
from rlconnect.core.spaces.text import describe, space_differences

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


@pytest.mark.parametrize("name", SPACES)
def test_a_space_equals_only_itself(name):
    """No difference to a twin, some difference to every other space of the table."""
    space = make_space(name)

    assert space_differences(space, make_space(name), check_order=True) == []
    for other in SPACES:
        if other != name:
            assert space_differences(space, make_space(other)), other


@pytest.mark.parametrize(
    ("expected", "found", "lines"),
    [
        (Box(-1, 1, (4,)), Box(-1, 1, (6,)), ["space: shape: expected (4,), found (6,)"]),
        (
            Box(-1, 1, (4,)),
            Box(np.array([-1, -1, -2, -3], np.float32), np.ones(4, np.float32)),
            ["space: low: 2 of 4 differ, first at [2]: expected -1, found -2"],
        ),
        (
            Box(0, 1, (2,), np.float32),
            Box(0, 1, (2,), np.float64),
            ["space: dtype: expected float32, found float64"],
        ),
        (Discrete(4), Discrete(4, start=1), ["space: start: expected 0, found 1"]),
        (
            Discrete(4),
            Box(0, 1, ()),
            ["space: expected Discrete(4), found Box() float32 in [0, 1]"],
        ),
        (
            Dict(a=Discrete(2), b=Discrete(3)),
            Dict(b=Discrete(4), c=Discrete(5)),
            [
                "space['a']: missing Discrete(2)",
                "space['b']: n: expected 3, found 4",
                "space['c']: new Discrete(5)",
            ],
        ),
        (Tuple((Discrete(2),)), Tuple(()), ["space[0]: missing Discrete(2)"]),
        (
            Text(3, charset="ab"),
            Text(3, charset="ac"),
            ["space: character_set: expected ab, found ac"],
        ),
    ],
)
def test_differences_say_where_and_what(expected, found, lines):
    """One line a difference: the place, the fact, both values."""
    assert space_differences(expected, found) == lines


def test_the_order_of_keys_matters_only_on_request():
    """Values fit whatever the order; a flattened vector does not."""
    one = Dict([("a", Discrete(2)), ("b", Discrete(3))])
    other = Dict([("b", Discrete(3)), ("a", Discrete(2))])

    assert space_differences(one, other) == []
    assert space_differences(one, other, check_order=True) == [
        "space: order of keys: expected ['a', 'b'], found ['b', 'a']"
    ]
