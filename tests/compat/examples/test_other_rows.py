"""Where the other agent stands becomes part of what each of the two sees."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete
from rlconnect.compat.examples.other_rows import AddOtherAgentsRowIndexToXYPos
from rlconnect.core.errors import SpaceError
from rlconnect.v2 import EnvToModulePipeline, FlattenObservations, MultiAgentEpisode

PLACE = Box(np.float32([0, 0]), np.float32([1, 9]))
AGENTS = Dict({"agent_0": PLACE, "agent_1": PLACE})
ACTIONS = Dict({"agent_0": Discrete(4), "agent_1": Discrete(4)})


def test_rows_are_told_and_spaces_keep_their_form():
    """Both agents' observations and the episode's space are the nested ones the piece declares."""
    piece = AddOtherAgentsRowIndexToXYPos(AGENTS, ACTIONS)
    episode = MultiAgentEpisode(observation_space=AGENTS, action_space=ACTIONS)
    episode.add_env_reset(
        observations={"agent_0": np.float32([0, 3]), "agent_1": np.float32([1, 7])}
    )

    piece(rl_module=None, batch={}, episodes=[episode], shared_data={})
    seen = episode.get_observations(-1)

    assert seen["agent_0"] == {"agent": 3.0, "other_agent_row": 1.0}
    assert seen["agent_1"].tolist() == [1, 7, 0]
    assert piece.observation_space["agent_0"]["agent"] == Discrete(20)
    assert episode.observation_space == piece.observation_space
    assert episode.agent_episodes["agent_0"].observation_space == piece.observation_space["agent_0"]


def test_an_agent_that_is_gone_stands_in_a_row_of_its_own():
    """Row 2 is nobody's."""
    piece = AddOtherAgentsRowIndexToXYPos(AGENTS, ACTIONS)

    assert piece.preprocess({"agent_0": np.float32([1, 2])}, None) == {
        "agent_0": {"agent": 12.0, "other_agent_row": 2}
    }


def test_other_observations_are_refused():
    """It knows two agents by name."""
    with pytest.raises(SpaceError, match="agent_1"):
        _ = AddOtherAgentsRowIndexToXYPos(Dict({"agent_0": PLACE}), ACTIONS).observation_space


def test_spaces_of_agents_may_be_a_plain_dict(rng):
    """What a piece before left as a dict, with dicts in it, is flattened like a Dict of Dicts."""
    plain = {"agent_0": {"x": PLACE, "y": {"k": Discrete(3)}}, "agent_1": PLACE}
    nested = Dict({"agent_0": Dict(x=PLACE, y=Dict(k=Discrete(3))), "agent_1": PLACE})

    pieces = [
        EnvToModulePipeline(space, ACTIONS, connectors=[FlattenObservations(multi_agent=True)])
        for space in (plain, nested)
    ]

    assert pieces[0].observation_space == pieces[1].observation_space
    assert pieces[0].observation_space["agent_0"].shape == (5,)
    with pytest.raises(SpaceError, match="several agents"):
        _ = FlattenObservations(PLACE, ACTIONS, multi_agent=True).observation_space
