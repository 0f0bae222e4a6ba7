"""Rollouts that are filmed: every picture from reset to end, and nothing else changes."""

import gymnasium as gym
import numpy as np
import pytest
from rlconnect.bridge import Actor
from rlconnect.bridge.rollout import rollout
from rlconnect.core.errors import ConfigError, PieceError

from tests.core.test_video import Lamp, frames_in, picture


def actor():
    from tests.bridge.actor.test_actor import made

    return Actor.from_policy(made(Lamp.observation_space, Lamp.action_space))


def test_a_rollout_is_filmed_from_reset_to_end(tmp_path):
    """Two episodes of three steps are eight pictures, at the environment's own speed."""
    pytest.importorskip("PIL")
    played = actor().rollout(Lamp(), 2, video=tmp_path / "film.gif")

    found = frames_in(tmp_path / "film.gif")
    assert played.lengths == (3, 3)
    for number, (frame, duration) in zip([0, 1, 2, 3] * 2, found, strict=True):
        assert duration == 50
        np.testing.assert_allclose(frame, picture(number), atol=8)


def test_filming_changes_nothing_else(tmp_path):
    """Episodes are kept beside the film, and the returns are those without it."""
    pytest.importorskip("PIL")
    pytest.importorskip("pyarrow")
    from rlconnect.offline import open_dataset

    played = rollout(actor(), Lamp, episodes=2, video=tmp_path / "a.gif", record=tmp_path / "kept")

    assert played == rollout(actor(), Lamp, episodes=2)
    assert [len(each) for each in open_dataset(tmp_path / "kept").episodes()] == [3, 3]


def test_other_files_are_refused(tmp_path):
    """Before anything is played."""
    with pytest.raises(ConfigError, match=r"\.gif or \.mp4"):
        actor().rollout(Lamp(), 1, video=tmp_path / "film.avi")


def test_vectors_are_refused(tmp_path):
    """A film shows one environment."""
    env = gym.vector.SyncVectorEnv([Lamp, Lamp])
    with pytest.raises(PieceError, match="one environment"):
        actor().rollout(env, 2, video=tmp_path / "film.gif")
    env.close()


def test_an_environment_of_another_mode_is_refused(tmp_path):
    """With what to make it with, and no file is left."""
    pytest.importorskip("PIL")
    with pytest.raises(PieceError, match="rgb_array"):
        actor().rollout(Lamp(render_mode="human"), 1, video=tmp_path / "film.gif")
    assert list(tmp_path.iterdir()) == []
