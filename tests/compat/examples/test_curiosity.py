"""Rewards for what was seldom seen; numbers are Ray 2.60's."""

import numpy as np
import pytest
from rlconnect.compat.examples.curiosity import (
    CountBasedCuriosity,
    EuclidianDistanceBasedCuriosity,
)
from rlconnect.v2 import SingleAgentEpisode


def episode_of(seen, rewards):
    """An episode that has ended."""
    return SingleAgentEpisode(
        observations=[np.array(each, np.float32) for each in seen],
        actions=[0] * len(rewards),
        rewards=list(rewards),
        terminated=True,
        len_lookback_buffer=0,
    )


def rewards_after(piece, *episodes):
    """What a learner connector makes of the rewards."""
    piece(rl_module=None, batch={}, episodes=list(episodes), explore=True, shared_data={})
    return [list(map(float, episode.get_rewards())) for episode in episodes]


@pytest.mark.parametrize("is_numpy", [False, True])
def test_seldom_observations(is_numpy):
    """Each time an observation is met it is worth less; the last one is not acted on."""
    piece = CountBasedCuriosity(intrinsic_reward_coeff=2.0)
    episode = episode_of([[0, 1], [0, 1], [2, 2]], [1.0, 0.0])
    if is_numpy:
        episode.to_numpy()

    found = rewards_after(piece, episode)
    again = rewards_after(piece, episode_of([[0, 1], [2, 2]], [0.0]))

    assert found == [[3.0, 1.0]]
    assert again == [[pytest.approx(2 / 3)]]


def test_distant_observations():
    """The distance from the nearest that is kept; the furthest of each episode is kept."""
    piece = EuclidianDistanceBasedCuriosity()

    first = rewards_after(
        piece, episode_of([[1, 0], [2, 0]], [0.0]), episode_of([[5, 0], [6, 0]], [0.0])
    )
    piece.obs_buffer.clear()
    piece.obs_buffer.extend(np.array(each, np.float32) for each in ([0, 0], [3, 4], [6, 8]))
    second = rewards_after(piece, episode_of([[0, 0], [3, 4], [0, 1], [9, 9]], [1.0, 0.0, 0.0]))

    assert first == [[0.0], [4.0]]
    assert second == [[1.0, 0.0, 1.0]]
    assert np.array_equal(piece.obs_buffer[-1], [0, 1])
