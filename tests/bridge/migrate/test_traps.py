"""Where RLlib's own migration guide changes numbers, a migration does not: recorded from Ray."""

import json
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Tuple
from rlconnect.bridge import plan_migration
from rlconnect.bridge.twins.step_order import agent_twin
from rlconnect.core.formulas.running_stat import RunningStat
from rlconnect.legacy import (
    ClipRewardAgentConnector,
    ConnectorContext,
    MeanStdObservationFilterAgentConnector,
    ObsPreprocessorConnector,
    Policy,
)
from rlconnect.v2 import MeanStdFilter, SingleAgentEpisode

GOLDEN = Path(__file__).parents[2] / "golden" / "migrate"
OLD = json.loads((GOLDEN / "old.json").read_text(encoding="utf-8"))
NEW = json.loads((GOLDEN / "new.json").read_text(encoding="utf-8"))
ASKED = {
    "float32": np.array([[1.0, 2e-7, 3.0], [900.0, 1.0, 3.5], [-7.0, 0.0, -3.0]], np.float32),
    "float64": np.array([[1.0, 2e-7, 3.0], [900.0, 1.0, 3.5], [-7.0, 0.0, -3.0]], np.float64),
    "int32": np.array([[1, 0, 3], [900, 1, 4], [-7, 2, -3]], np.int32),
}


def given(piece, observation, space):
    """What a piece makes of one observation."""
    piece.input_action_space, piece.input_observation_space = Discrete(2), space
    episode = SingleAgentEpisode()
    episode.add_env_reset(observation)
    piece(rl_module=None, batch={}, episodes=[episode])
    return episode.get_observations(-1)


def filter_policy(recorded, dtype="float32"):
    """A policy whose filter is the recorded one."""
    space = Box(-9, 9, (3,), dtype)
    policy = Policy(space, Discrete(2), {"seed": 0})
    ctx = ConnectorContext(observation_space=space)
    connector = MeanStdObservationFilterAgentConnector(ctx, **recorded["settings"])
    stat = RunningStat.from_state(recorded["running_stats"])
    connector.filter.set_moments([stat.total])
    return policy, connector


@pytest.mark.parametrize("name", OLD["filters"])
@pytest.mark.parametrize("dtype", ASKED)
def test_filters_give_the_numbers_of_the_old_stack(name, dtype):
    """The source's clip, epsilon outside the root, n-1, no statistics, and the input's dtype."""
    recorded = OLD["filters"][name]
    policy, connector = filter_policy(recorded, dtype)
    (piece,) = agent_twin(policy, connector).make()

    found = [given(piece, row, policy.observation_space) for row in ASKED[dtype]]

    wanted = recorded["answers"][dtype]
    np.testing.assert_allclose(found, wanted["values"], rtol=1e-6)
    assert {str(row.dtype) for row in found} == {wanted["dtype"]}


def test_filters_stand_still():
    """An observation asked again gives the same: nothing was counted."""
    recorded = OLD["filters"]["4 seen, no clip"]
    policy, connector = filter_policy(recorded)
    (piece,) = agent_twin(policy, connector).make()

    for row in ASKED["float32"]:
        given(piece, row, policy.observation_space)
    again = given(piece, ASKED["float32"][0], policy.observation_space)

    np.testing.assert_allclose(again, recorded["asked again"]["values"], rtol=1e-6)


def test_the_guides_way_gives_other_numbers():
    """What Ray 2.60 gives for its guide's MeanStdFilter() is far from what the old filter gave."""
    ours = MeanStdFilter()
    seen = [[0.5, 1e-7, 3.0], [1.5, 3e-7, 3.0], [2.5, 2e-7, 3.0], [0.0, 9e-7, 3.0]]
    space = Box(-9, 9, (3,), np.float32)

    for row in seen:
        given(ours, np.float32(row), space)
    found = [given(ours, row, space) for row in ASKED["float32"]]

    np.testing.assert_allclose(found, NEW["what the guide gives"]["values"], rtol=1e-5, atol=1e-6)
    apart = np.abs(np.subtract(found, NEW["what it should"]["values"]))
    assert apart.max() > 1e6


def test_nested_observations_are_flattened_as_before():
    """Discrete parts one-hot, each part where the network was trained to find it."""
    space = Dict(
        {
            "b": Discrete(3),
            "a": Box(-1, 1, (2,), np.float32),
            "c": Tuple([Discrete(2), MultiDiscrete([2, 3])]),
        }
    )
    value = {"b": 2, "a": np.float32([0.5, -0.5]), "c": (1, np.array([0, 2]))}
    connector = ObsPreprocessorConnector(ConnectorContext(observation_space=space))
    policy = Policy(connector.preprocessor.observation_space, Discrete(2), {"seed": 0})
    (piece,) = agent_twin(policy, connector).make()

    found = given(piece, value, space)

    np.testing.assert_array_equal(found, np.float32(OLD["nested"]["values"]))


@pytest.mark.parametrize(("name", "how"), [("sign", {"sign": True}), ("limit", {"limit": 1.5})])
def test_rewards_are_clipped_for_the_learner(name, how):
    """The learner sees the old stack's rewards; the acting pipeline has nothing to do with it."""
    policy = Policy(Box(-1, 1, (2,), np.float32), Discrete(2), {"seed": 0})
    twin = agent_twin(policy, ClipRewardAgentConnector(ConnectorContext(), **how))
    rewards = OLD["rewards"]["given"]
    episode = SingleAgentEpisode(
        observations=[0] * 5, actions=[0] * 4, rewards=rewards, len_lookback_buffer=0
    )
    (piece,) = twin.learner()

    piece(rl_module=None, batch={}, episodes=[episode])

    assert twin.make() == []
    np.testing.assert_allclose(episode.get_rewards(), OLD["rewards"][name])


@pytest.mark.parametrize("explore", [True, False])
def test_explore_is_the_training_configs_word(explore):
    """Nobody said whether to explore: the policy's config does, here as in the old stack."""
    policy = Policy(Box(-1, 1, (2,), np.float32), Discrete(2), {"seed": 0, "explore": explore})

    assert plan_migration(policy).explore is explore
