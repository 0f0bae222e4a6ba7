"""Spaces in states and pickles: written once, read once, and never mistaken for another."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple
from rlconnect.v2.episodes.space_state import (
    REWARD_SPACE,
    space_from_pickle,
    space_from_state,
    space_to_pickle,
    space_to_state,
)

SPACES = [
    Box(-1, 1, (2,), np.float32),
    Box(np.arange(40.0), np.arange(40.0) + 1, dtype=np.float64),
    Discrete(5),
    Discrete(5, start=-2),
    MultiDiscrete([2, 3]),
    MultiBinary(4),
    Dict(b=Discrete(2), a=Tuple([Box(0, 255, (2, 2), np.uint8), Discrete(3)])),
    REWARD_SPACE,
]


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_spaces_come_back_equal(space):
    """Through states and through pickles, and equal ones as one object."""
    by_state = space_from_state(space_to_state(space))
    by_pickle = space_from_pickle(space_to_pickle(space))

    assert by_state == space
    assert by_pickle == space
    assert by_pickle.dtype == space.dtype
    assert space_from_state(space_to_state(space)) is by_state


def test_a_state_may_be_changed():
    """Who edits the state of one episode does not edit another's."""
    space = Dict(a=Discrete(2))

    space_to_state(space)["spaces"]["a"]["n"] = 99

    assert space_to_state(space)["spaces"]["a"]["n"] == 2


def test_what_has_no_form_is_kept():
    """None, spaces RLlib has no layout for and a user's own class stay themselves."""
    text = Text(5)

    assert space_to_state(None) is space_to_pickle(None) is None
    assert space_from_state(space_to_state(text)) == text
    assert space_to_pickle(Own(-1, 1)).__class__ is Own
    assert space_from_state(Dict(a=text)) == Dict(a=text)


class Own(Box):
    """A user's space."""
