"""Environments need no more than what a policy is run with."""

import gymnasium as gym
import numpy as np
import pytest
import rlconnect
from rlconnect.bridge.teach.student import agent_spaces, random_play
from rlconnect.core.errors import PieceError
from rlconnect.core.video import frame_of

from ..core.vault.recorded import ROOT

SAMPLE = ROOT / "examples/checkpoints/ppo-cartpole-ray-2.60"


class Unclosable:
    """An environment without `close` and `render`."""

    observation_space = gym.make("CartPole-v1").observation_space
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return np.zeros(4, np.float32), {}

    def step(self, action):
        return np.zeros(4, np.float32), 1.0, True, False, {}


@pytest.mark.torch
def test_an_environment_needs_no_close():
    """Rollouts, adaptations and teaching close only what can be closed."""
    policy = rlconnect.load(SAMPLE).only

    played = rlconnect.rollout(policy, Unclosable, episodes=1)
    adapted = rlconnect.adapt(policy, env=Unclosable)

    assert played.mean == 1.0
    assert adapted.observation_space == Unclosable.observation_space
    assert agent_spaces(Unclosable)[None][1] == Unclosable.action_space
    assert random_play(Unclosable, episodes=1, seed=0).mean == 1.0


def test_an_environment_without_render_cannot_be_filmed():
    """The error names what `render` has to return."""
    with pytest.raises(PieceError, match="no frame of a film"):
        frame_of(Unclosable())
