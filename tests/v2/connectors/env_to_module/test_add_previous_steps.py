"""Columns of the last action and reward."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from rlconnect.core.errors import PieceError
from rlconnect.v2 import AddPreviousSteps, MultiAgentEpisode, SingleAgentEpisode


def called(piece, *episodes):
    return piece(rl_module=None, batch={}, episodes=list(episodes))


def test_the_last_step_and_zeros_before_the_first():
    """What was done and earned last; zeros like the space where nothing was."""
    old = SingleAgentEpisode(id_="old", observations=[0, 1], actions=[2], rewards=[0.5])
    new = SingleAgentEpisode(id_="new", observations=[0])

    batch = called(AddPreviousSteps(input_action_space=Discrete(3)), old, new)

    assert batch["prev_actions"] == {("old",): [2], ("new",): [0]}
    assert batch["prev_rewards"] == {("old",): [0.5], ("new",): [0.0]}
    assert batch["prev_actions"]["new",][0].dtype == np.int64


def test_columns_may_be_named_or_left_out():
    """A module may know them by other names, or look at one of them only."""
    episode = SingleAgentEpisode(id_="e", observations=[0, 1], actions=[1], rewards=[0.5])

    batch = called(AddPreviousSteps(actions=None, rewards="earned"), episode)

    assert batch == {"earned": {("e",): [0.5]}}


def test_each_agent_has_its_own():
    """Several agents: zeros of each agent's own space."""
    space = Dict({"x": Discrete(3), "y": Box(-1, 1, (2,), np.float32)})
    episode = MultiAgentEpisode(agent_module_ids={"x": "p", "y": "q"})
    episode.add_env_reset(observations={"x": 0, "y": 0}, infos={})

    batch = called(AddPreviousSteps(input_action_space=space), episode)

    shapes = {key[1]: items[0].shape for key, items in batch["prev_actions"].items()}
    assert shapes == {"x": (), "y": (2,)}


def test_an_unknown_action_space_is_told():
    """Before the first step nobody knows what an action looks like."""
    with pytest.raises(PieceError, match="action space"):
        called(AddPreviousSteps(), SingleAgentEpisode(id_="e", observations=[0]))
