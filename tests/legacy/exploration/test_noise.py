"""Noise on real-valued actions has Ray's size, shape and limits."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.core.errors import ConfigError
from rlconnect.core.formulas.schedules import ConstantSchedule
from rlconnect.legacy.distributions.families import Deterministic
from rlconnect.legacy.exploration.exploration import ArraySource
from rlconnect.legacy.exploration.noise import GaussianNoise, OrnsteinUhlenbeckNoise

BOX = Box(np.float32([-2, 0]), np.float32([3, 1]))
CALM = np.float32([0.5, 0.9])


def noisy(exploration, *, timestep=1000, explore=True, rows=4000):
    rng = np.random.default_rng(0)
    source = ArraySource(Deterministic(2), np.tile(CALM, (rows, 1)), rng)
    return exploration.choose(source, explore=explore, timestep=timestep, rng=rng)


def test_gaussian_noise_is_stddev_times_scale_and_clipped():
    """Each row gets its own noise; the bounds hold; log-probabilities are zero."""
    actions, logp = noisy(GaussianNoise(BOX, stddev=0.1, scale_schedule=ConstantSchedule(2.0)))

    np.testing.assert_allclose(actions[:, 0].std(), 0.2, rtol=0.05)
    np.testing.assert_allclose(actions[:, 0].mean(), 0.5, atol=0.01)
    assert actions[:, 1].max() == 1.0
    assert not logp.any()
    assert actions.dtype == np.float32


def test_wandering_noise_is_one_for_the_batch_and_scaled_by_the_range():
    """All rows get the same noise: scale x base scale x state x (high - low)."""
    exploration = OrnsteinUhlenbeckNoise(
        BOX, ou_base_scale=0.1, scale_schedule=ConstantSchedule(2.0)
    )
    exploration.set_state({"ou_state": np.float32([0.2, -0.1])})

    actions, _ = noisy(exploration)

    assert (actions == actions[0]).all()
    state = exploration.get_state()["ou_state"]
    np.testing.assert_allclose(actions[0], CALM + 2.0 * 0.1 * state * [5.0, 1.0], atol=1e-6)
    kick = state - np.float32([0.2, -0.1]) * (1 - 0.15)
    assert 0 < np.abs(kick).max() < 0.2 * 5


def test_wandering_noise_in_an_unbounded_space_takes_a_range_of_one():
    """Infinite ranges do not blow the noise up."""
    free = Box(-np.inf, np.inf, (2,))
    exploration = OrnsteinUhlenbeckNoise(free, scale_schedule=ConstantSchedule(1.0))

    actions, _ = noisy(exploration)

    np.testing.assert_allclose(actions[0], CALM + 0.1 * exploration.ou_state, atol=1e-6)


@pytest.mark.parametrize("kind", [GaussianNoise, OrnsteinUhlenbeckNoise])
def test_random_phase_and_calm_actions(kind):
    """Before `random_timesteps` actions fill the space; without exploration they are calm."""
    exploration = kind(BOX, scale_schedule=ConstantSchedule(1.0), random_timesteps=10)

    wild, _ = noisy(exploration, timestep=9)
    calm, _ = noisy(exploration, timestep=20, explore=False)

    np.testing.assert_allclose(wild.min(0), [-2, 0], atol=0.05)
    np.testing.assert_allclose(wild.max(0), [3, 1], atol=0.05)
    np.testing.assert_array_equal(calm, np.tile(CALM, (4000, 1)))


def test_noise_needs_real_valued_actions():
    """A space of choices is refused when the exploration is built."""
    with pytest.raises(ConfigError, match="GaussianNoise"):
        GaussianNoise(Discrete(2), scale_schedule=ConstantSchedule(1.0))
