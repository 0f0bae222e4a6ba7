"""Corners: the values where conversions overflow first, all of them inside the space."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary
from rlconnect.core import nest
from rlconnect.core.errors import LimitExceededError, SpaceError
from rlconnect.core.spaces.values import corners

from tests.spaces_table import SPACES, make_space


@pytest.mark.parametrize("name", SPACES)
def test_corners_lie_in_their_space(name):
    """gymnasium accepts each of them, and no number in them is infinite."""
    space = make_space(name)

    found = dict(corners(space))

    assert {"zeros", "low", "high"} <= set(found)
    for corner, value in found.items():
        assert space.contains(value), corner
        for leaf in nest.flatten(value):
            if isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f":
                assert np.isfinite(leaf).all(), corner


def test_infinite_sides_are_drawn_in():
    """Low and high stay where a network still computes; lowest and highest go to the end."""
    space = Box(np.array([-1, -np.inf], np.float32), np.full(2, np.inf, np.float32))
    largest = float(np.finfo(np.float32).max)

    found = {name: value.tolist() for name, value in corners(space)}

    assert found == {
        "zeros": [0.0, 0.0],
        "low": [-1.0, -1000.0],
        "high": [1000.0, 1000.0],
        "lowest": [-1.0, -largest],
        "highest": [largest, largest],
    }


def test_zeros_are_what_is_nearest_to_zero():
    """Where zero lies outside, the closest bound stands in for it."""
    space = Dict(a=Box(2.0, 3.0, (1,)), b=Discrete(3, start=-9), c=Discrete(3, start=5))

    zeros = dict(corners(space))["zeros"]

    assert (zeros["a"].tolist(), int(zeros["b"]), int(zeros["c"])) == ([2.0], -7, 5)


def test_integers_reach_the_ends_of_their_dtype():
    """Integer bounds are exact, unlike their float twins."""
    found = dict(corners(make_space("box_int_extremes")))

    assert (int(found["low"][0]), int(found["high"][0])) == (-(2**63), 2**63 - 1)


def test_corners_are_bounded_and_need_a_known_space():
    """Declared sizes get no memory; a space of the user's own has no corners we know of."""
    with pytest.raises(LimitExceededError):
        list(corners(MultiBinary(2**40)))
    with pytest.raises(SpaceError, match="no known corners"):
        list(corners(gym.Space()))
