"""Observations of a changed environment reach a module as it knows them."""

import numpy as np
import pytest
from gymnasium import spaces
from rlconnect.core.adapters import AdapterChain, DropFeatures, PickKey, StackFrames
from rlconnect.core.errors import PieceError, SpaceError
from rlconnect.v2 import (
    AdaptObservations,
    EnvToModulePipeline,
    MultiAgentEpisode,
    SingleAgentEpisode,
)

WIDE = spaces.Box(-1, 1, (3,), np.float32)


def begun(observation, name="e0"):
    episode = SingleAgentEpisode(id_=name)
    episode.add_env_reset(observation=observation)
    return episode


def test_space_flows_through_a_pipeline():
    """The pieces behind it see the adapted space, and the episode has it, too."""
    piece = AdaptObservations(chain=AdapterChain(obs=[DropFeatures([0])]))
    pipeline = EnvToModulePipeline(WIDE, connectors=[piece])
    episode = begun(np.float32([9, 1, 2]))

    pipeline(rl_module=None, episodes=[episode])

    assert pipeline.observation_space.shape == (2,)
    assert episode.observation_space == pipeline.observation_space
    assert episode.get_observations(-1).tolist() == [1, 2]


def test_agents_of_their_own():
    """Only the agents it is for are adapted, each by its own space."""
    space = spaces.Dict({"a": WIDE, "b": spaces.Dict({"x": WIDE}), "c": WIDE})
    chain = AdapterChain(obs=[PickKey("x")])
    piece = AdaptObservations(space, chain=chain, multi_agent=True, agent_ids=["b"])
    episode = MultiAgentEpisode(
        observation_space=space, action_space=spaces.Dict(dict.fromkeys("abc", spaces.Discrete(2)))
    )
    seen = np.float32([1, 0, 0])
    episode.add_env_reset(observations={"a": seen, "b": {"x": seen}, "c": seen})

    piece(rl_module=None, batch={}, episodes=[episode])

    assert piece.observation_space == spaces.Dict(dict.fromkeys("abc", WIDE))
    for agent, observation in episode.get_observations(-1).items():
        np.testing.assert_array_equal(observation, seen, err_msg=agent)


def test_frames_begin_anew_with_an_episode():
    """Memory is by episode, is dropped at its end, and never reaches the next one."""
    piece = AdaptObservations(WIDE, chain=AdapterChain(obs=[StackFrames(2)]))
    episode = begun(np.ones(3, np.float32))
    piece(rl_module=None, batch={}, episodes=[episode])
    episode.add_env_step(np.full(3, 0.5, np.float32), 0, 0.0, terminated=True)

    piece(rl_module=None, batch={}, episodes=[episode])

    assert set(np.unique(episode.get_observations(-1))) == {0.5, 1.0}
    assert piece.get_state() == {}
    again = begun(np.full(3, 0.25, np.float32))
    piece(rl_module=None, batch={}, episodes=[again])
    assert 0.5 not in again.get_observations(-1)


def test_says_what_it_does_not_know():
    """Without a space, or with one the steps cannot work on, it says so."""
    chain = AdapterChain(obs=[DropFeatures([0])])
    with pytest.raises(PieceError, match="input_observation_space"):
        AdaptObservations(chain=chain)(rl_module=None, batch={}, episodes=[begun(1)])
    with pytest.raises(SpaceError, match="DropFeatures"):
        AdaptObservations(spaces.Discrete(2), chain=chain)


def test_saved_alone(tmp_path):
    """A folder brings back the piece with its steps."""
    piece = AdaptObservations(WIDE, chain=AdapterChain(obs=[DropFeatures([0])]))
    piece.save_to_path(tmp_path / "piece")

    restored = AdaptObservations.from_checkpoint(tmp_path / "piece")

    assert restored.chain == piece.chain
    assert restored.observation_space == piece.observation_space
