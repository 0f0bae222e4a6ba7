"""Random actions lie in their space, spread as Gymnasium spreads them."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple
from rlconnect.core.errors import SpaceError
from rlconnect.legacy.distributions.action_leaves import map_actions
from rlconnect.legacy.exploration.random_actions import random_actions

SPACES = [
    Discrete(3, start=2),
    MultiDiscrete([2, 5]),
    MultiBinary(3),
    Box(-1, 2, (2,)),
    Box(-1, 1, ()),
    Box(0, 5, (2, 2), np.int32),
    Box(0, 5, (2,), np.int64),
    Box(-np.inf, np.inf, (2,)),
    Box(np.float32([0, -np.inf]), np.float32([np.inf, 1])),
    Dict(b=Discrete(2), a=Tuple([Box(-3, 3, (1,)), MultiDiscrete([2, 2])])),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_every_row_lies_in_the_space(space):
    """Each row is a member; one seed gives one batch."""
    batch = random_actions(space, 64, np.random.default_rng(0))
    again = random_actions(space, 64, np.random.default_rng(0))

    for i in range(64):
        assert space.contains(map_actions(lambda leaf, i=i: _item(leaf[i]), batch))
    assert repr(batch) == repr(again)


def _item(value):
    return np.asarray(value) if value.ndim or value.dtype.kind == "f" else int(value)


def test_bounded_components_are_filled_evenly():
    """A bounded Box is uniform, its integer kin includes both ends."""
    rng = np.random.default_rng(1)

    real = random_actions(Box(-1, 2, (2,)), 5000, rng)
    whole = random_actions(Box(0, 5, (1,), np.int32), 5000, rng)

    np.testing.assert_allclose(real.mean(0), 0.5, atol=0.05)
    np.testing.assert_allclose(real.std(0), 3 / np.sqrt(12), atol=0.03)
    assert set(whole.ravel()) == {0, 1, 2, 3, 4, 5}


def test_other_spaces_are_refused():
    """A space without random actions is named."""
    with pytest.raises(SpaceError, match="Text"):
        random_actions(Text(3), 2, np.random.default_rng(0))
