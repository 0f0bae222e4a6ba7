"""Rewards clipped in front of learning."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.core.errors import ConfigError
from rlconnect.v2 import ClipRewards, SingleAgentEpisode


def episode_of(rewards):
    count = len(rewards)
    return SingleAgentEpisode(
        observations=[0] * (count + 1),
        actions=[0] * count,
        rewards=list(rewards),
        len_lookback_buffer=0,
    )


@given(st.lists(st.floats(-9, 9), min_size=1, max_size=6), st.booleans())
def test_rewards_are_the_clipped_ones(rewards, is_numpy):
    """Both kinds of episodes hold clipped rewards afterwards, and the same number of them."""
    episodes = [episode_of(rewards), episode_of(rewards)]
    if is_numpy:
        episodes = [episode.to_numpy() for episode in episodes]

    ClipRewards(limit=1.5)(rl_module=None, batch={}, episodes=episodes[:1])
    ClipRewards(sign=True)(rl_module=None, batch={}, episodes=episodes[1:])

    np.testing.assert_allclose(episodes[0].get_rewards(), np.clip(rewards, -1.5, 1.5))
    np.testing.assert_allclose(episodes[1].get_rewards(), np.sign(rewards))


def test_without_a_setting_nothing_changes():
    """The piece may stand in a pipeline and do nothing."""
    episode = episode_of([3.0])

    ClipRewards()(rl_module=None, batch={}, episodes=[episode])

    assert episode.get_rewards() == [3.0]


def test_sign_and_limit_exclude_each_other():
    """Both at once contradict each other."""
    with pytest.raises(ConfigError, match="sign and to a limit"):
        ClipRewards(sign=True, limit=1.0)
