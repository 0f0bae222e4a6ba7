"""Random values: inside their space, the same for the same seed, and the space untouched."""

import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, Text
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.core.errors import LimitExceededError
from rlconnect.core.spaces.values import sample

from tests.spaces_table import SPACES, make_space


@given(st.sampled_from(sorted(SPACES)), st.integers(0, 2**31))
def test_values_lie_in_their_space(name, seed):
    """gymnasium's own check accepts every value, at odd bounds too."""
    space = make_space(name)

    assert space.contains(sample(space, seed))


@pytest.mark.parametrize("name", SPACES)
def test_a_seed_decides(name):
    """One seed gives one value, whatever the space did before; the space stays as it was."""
    space, other = make_space(name), make_space(name)
    other.seed(3)
    before = pickle.dumps(space)

    first, second, third = sample(space, 7), sample(space, 7), sample(other, 7)

    assert repr(first) == repr(second) == repr(third)
    assert pickle.dumps(space) == before


def test_seeds_differ():
    """Other seeds give other values; a generator moves on from one call to the next."""
    space = make_space("nested")
    rng = np.random.default_rng(0)

    assert repr(sample(space, 0)) != repr(sample(space, 1))
    assert repr(sample(space, rng)) != repr(sample(space, rng))


def test_values_spread_over_the_space():
    """Bounds are reached on both sides, unbounded sides are left open."""
    rng = np.random.default_rng(0)
    values = np.array([sample(Box(-3.0, 5.0, (4,)), rng) for _ in range(500)])
    free = np.array([sample(Box(0.0, np.inf, (4,)), rng) for _ in range(500)])
    whole = np.array([sample(Box(-2, 2, (4,), np.int64), rng) for _ in range(500)])

    assert values.min() < -2.9
    assert values.max() > 4.9
    assert abs(values.mean() - 1.0) < 0.2
    assert free.min() >= 0.0
    assert free.max() > 3.0
    assert set(whole.ravel().tolist()) == {-2, -1, 0, 1, 2}


def test_declared_sizes_get_no_memory():
    """What a space merely declares is refused or kept short."""
    with pytest.raises(LimitExceededError):
        sample(MultiBinary(2**40), 0)
    with pytest.raises(LimitExceededError):
        sample(Text(2**40, min_length=2**39), 0)
    with pytest.raises(LimitExceededError):
        sample(Dict(a=Box(0, 1, (50,)), b=Box(0, 1, (50,))), 0, max_bytes=399)
    assert len(sample(Text(2**40), 0)) < 100
    assert 0 <= sample(Discrete(2**62), 0) < 2**62


def test_a_space_of_the_users_own_draws_from_our_generator():
    """Its class decides what a value is; its own generator is put back untouched."""

    class Dice(gym.Space):
        def sample(self, mask=None, probability=None):
            return int(self.np_random.integers(1, 7))

    dice = Dice()
    dice.seed(5)
    state = dice.np_random.bit_generator.state

    rolls = [sample(dice, seed) for seed in range(20)]

    assert rolls == [sample(dice, seed) for seed in range(20)]
    assert set(rolls) <= set(range(1, 7))
    assert len(set(rolls)) > 2
    assert dice.np_random.bit_generator.state == state
