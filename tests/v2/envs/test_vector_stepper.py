"""Vector environments of others, in both of gymnasium's ways of resetting."""

import gymnasium as gym
import numpy as np
import pytest
from rlconnect.core.errors import ConfigError
from rlconnect.v2.envs.vector_stepper import VectorStepper, split_infos

from ..env_runners.counting import Count

MODES = getattr(gym.vector, "AutoresetMode", None)
NEEDS_MODES = pytest.mark.skipif(MODES is None, reason="gymnasium before 1.1")


def vector(mode):
    """A vector of two counting environments that resets in a way."""
    return lambda: gym.vector.SyncVectorEnv([Count, Count], autoreset_mode=mode)


@NEEDS_MODES
def test_a_reset_in_the_next_step_has_no_last_observations_apart():
    """The end is what the step returns, the reset what the next one does."""
    envs = VectorStepper(vector(MODES.NEXT_STEP))
    envs.reset_all(seed=0)
    made = [envs.advance(np.array([0, 0])) for _ in range(4)]
    assert not envs.is_same_step
    assert (made[2].terminateds, made[2].finals) == ([True, True], {})
    assert np.array_equal(made[3].observations[0], [1, 0])


@NEEDS_MODES
def test_a_reset_in_the_same_step_gives_the_last_observations():
    """They are taken out of the infos of the end, with the infos that belong to them."""
    envs = VectorStepper(vector(MODES.SAME_STEP))
    envs.reset_all(seed=0)
    made = [envs.advance(np.array([0, 0])) for _ in range(3)]
    assert envs.is_same_step
    assert np.array_equal(made[2].observations[1], [1, 0])
    observation, infos = made[2].finals[1]
    assert np.array_equal(observation, [0, 3])
    assert infos["time"] == 3
    assert made[2].infos[1] == {"episode": 1}


@NEEDS_MODES
def test_a_vector_that_does_not_reset_is_refused():
    """Nobody would reset its environments."""
    with pytest.raises(ConfigError, match="does not reset"):
        VectorStepper(vector(MODES.DISABLED))


def test_a_vector_that_raises_is_made_anew_as_a_whole():
    """All episodes are lost, and told of as failed."""
    make = lambda: gym.vector.SyncVectorEnv([lambda: Count({"raise_at": (0, 2)})] * 2)  # noqa: E731
    envs = VectorStepper(make, is_restarting=True)
    first = envs.vector_env
    envs.reset_all(seed=0)
    envs.advance(np.array([0, 0]))
    made = envs.advance(np.array([0, 0]))
    assert sorted(made.failed) == [0, 1]
    assert envs.vector_env is not first
    assert envs.num_restarts == 2


def test_infos_are_split_as_their_owners_say():
    """Nested infos and those without a list of owners are split, too."""
    infos = {
        "a": np.array([1, 2]),
        "_a": np.array([True, False]),
        "deep": {"b": np.array([3, 4]), "_b": np.array([False, True])},
        "_deep": np.array([False, True]),
    }
    assert split_infos(infos, 2) == [{"a": 1}, {"deep": {"b": 4}}]
    assert split_infos([{"a": 1}, {}], 2) == [{"a": 1}, {}]
