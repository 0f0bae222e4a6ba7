"""Observations as the old stack's preprocessors make them, in the new stack."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Tuple
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.core.errors import SpaceError
from rlconnect.core.spaces.rllib_spaces import Repeated
from rlconnect.legacy import (
    AgentConnectorDataType,
    ConnectorContext,
    ObsPreprocessorConnector,
    get_preprocessor,
)
from rlconnect.v2 import MultiAgentEpisode, PreprocessObservations, SingleAgentEpisode

NESTED = Dict({"b": Discrete(3), "a": Box(-1, 1, (2,), np.float32)})
SPACES = [
    NESTED,
    Discrete(4),
    MultiDiscrete([2, 3]),
    Tuple([NESTED, Discrete(2)]),
    Box(-1, 1, (3,), np.float32),
    Box(0, 255, (128,), np.uint8),
]


def episodes_of(observations):
    made = []
    for number, observation in enumerate(observations):
        episode = SingleAgentEpisode(id_=f"e{number}")
        episode.add_env_reset(observation)
        made.append(episode)
    return made


@given(place=st.integers(0, len(SPACES) - 1), seed=st.integers(0, 99), count=st.integers(1, 4))
def test_it_gives_what_the_old_preprocessor_gives(place, seed, count):
    """One episode or several at once: each observation is the old one, in the declared space."""
    space = SPACES[place]
    space.seed(seed)
    drawn = [space.sample() for _ in range(count)]
    piece = PreprocessObservations(space)
    old = get_preprocessor(space)(space, {})
    episodes = episodes_of(drawn)

    piece(rl_module=None, batch={}, episodes=episodes)

    for episode, observation in zip(episodes, drawn, strict=True):
        found = episode.get_observations(-1)
        np.testing.assert_array_equal(found, old.transform(observation))
        assert found.shape == piece.observation_space.shape


@pytest.mark.parametrize("lists", [([1, 0], [2]), ([1, 0], [2, 2])])
def test_lists_in_a_nest_are_each_episodes_own(lists):
    """Lists of several episodes are not taken for parts of one nest, in either stack."""
    space = Dict(a=Repeated(Discrete(3), 2), b=Box(-1, 1, (2,), np.float32))
    drawn = [{"a": own, "b": np.ones(2, np.float32)} for own in lists]
    episodes = episodes_of(drawn)
    connector = ObsPreprocessorConnector(ConnectorContext(observation_space=space))
    records = [AgentConnectorDataType("e", i, {"new_obs": obs}) for i, obs in enumerate(drawn)]

    PreprocessObservations(space)(rl_module=None, batch={}, episodes=episodes)
    found = connector(records)

    old = get_preprocessor(space)(space, {})
    for episode, record, observation in zip(episodes, found, drawn, strict=True):
        wanted = old.transform(observation)
        np.testing.assert_array_equal(episode.get_observations(-1), wanted)
        np.testing.assert_array_equal(record.data["new_obs"], wanted)


def test_pictures_are_scaled_as_asked():
    """Settings are those of the old model config."""
    space = Box(0, 255, (210, 160, 3), np.uint8)
    settings = {"dim": 42, "grayscale": True, "zero_mean": False}
    picture = np.random.default_rng(0).integers(0, 255, space.shape, np.uint8)
    (episode,) = episodes_of([picture])

    PreprocessObservations(space, **settings)(rl_module=None, batch={}, episodes=[episode])

    wanted = get_preprocessor(space)(space, settings).transform(picture)
    np.testing.assert_array_equal(episode.get_observations(-1), wanted)


def test_each_agent_has_its_own_space():
    """Several agents: each observation by its agent's preprocessor."""
    space = Dict({"x": Discrete(3), "y": NESTED})
    episode = MultiAgentEpisode(agent_module_ids={"x": "p", "y": "p"})
    episode.add_env_reset(observations={"x": 2, "y": {"b": 0, "a": np.float32([1, -1])}}, infos={})
    piece = PreprocessObservations(space, multi_agent=True)

    piece(rl_module=None, batch={}, episodes=[episode])

    found = episode.get_observations(-1)
    np.testing.assert_array_equal(found["x"], [0, 0, 1])
    np.testing.assert_array_equal(found["y"], [1, -1, 1, 0, 0])


def test_an_unknown_space_is_told():
    """Without a space there is no telling what to do."""
    with pytest.raises(SpaceError, match="does not know the observation space"):
        PreprocessObservations()(rl_module=None, batch={}, episodes=episodes_of([1]))
