"""Old configs and the default connectors they stand for."""

from types import SimpleNamespace

import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.core.errors import ConfigError
from rlconnect.legacy.connectors.agent.mean_std_filter import (
    MeanStdObservationFilterAgentConnector,
)
from rlconnect.legacy.connectors.context import ConnectorContext
from rlconnect.legacy.policy.config import AlgorithmConfig
from rlconnect.legacy.policy.default_connectors import (
    create_connectors_for_policy,
    get_action_connectors_from_config,
    get_agent_connectors_from_config,
    maybe_get_filters_for_syncing,
    restore_connectors_for_policy,
)

CTX = ConnectorContext({}, [], Box(-1, 1, (2,)), Discrete(2), {})
SHORT = {
    "C": "ClipRewardAgentConnector",
    "P": "ObsPreprocessorConnector",
    "F": "MeanStdObservationFilterAgentConnector",
    "K": "ConcurrentMeanStdObservationFilterAgentConnector",
    "S": "StateBufferConnector",
    "V": "ViewRequirementAgentConnector",
    "n": "ConvertToNumpyConnector",
    "u": "NormalizeActionsConnector",
    "c": "ClipActionsConnector",
    "i": "ImmutableActionsConnector",
}


def letters(pipeline):
    long = {name: letter for letter, name in SHORT.items()}
    return "".join(long[str(connector)] for connector in pipeline.connectors)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, "PSV"),
        ({"clip_rewards": True}, "CPSV"),
        ({"clip_rewards": 2.0}, "CPSV"),
        ({"clip_rewards": 1}, "PSV"),
        ({"clip_rewards": False}, "PSV"),
        ({"observation_filter": "MeanStdFilter"}, "PFSV"),
        ({"observation_filter": "ConcurrentMeanStdFilter"}, "PKSV"),
        ({"_disable_preprocessor_api": True}, "SV"),
        ({"preprocessor_pref": None}, "SV"),
        ({"env": "ALE/Pong-v5"}, "CSV"),
        ({"is_atari": True, "preprocessor_pref": "rllib", "clip_rewards": False}, "PSV"),
        (AlgorithmConfig().rollouts(observation_filter="MeanStdFilter"), "PFSV"),
        (AlgorithmConfig().environment(clip_rewards=True), "CPSV"),
    ],
)
def test_agent_connectors_follow_the_config(config, expected):
    """Which connectors an old trainer gives its policies, and in which order."""
    assert letters(get_agent_connectors_from_config(CTX, config)) == expected


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, "nui"),
        ({"normalize_actions": False}, "ni"),
        ({"clip_actions": True}, "nuci"),
        (AlgorithmConfig().environment(normalize_actions=False, clip_actions=True), "nci"),
    ],
)
def test_action_connectors_follow_the_config(config, expected):
    """Normalising is on by default, clipping off."""
    assert letters(get_action_connectors_from_config(CTX, config)) == expected


def test_clip_settings_come_from_the_config():
    """True keeps the sign, a float is the limit, the filter does not clip."""
    sign = get_agent_connectors_from_config(CTX, {"clip_rewards": True})
    limit = get_agent_connectors_from_config(CTX, {"clip_rewards": -2.0})
    mean_std = get_agent_connectors_from_config(CTX, {"observation_filter": "MeanStdFilter"})

    assert sign[0][0].to_state()[1] == {"sign": True, "limit": None}
    assert limit[0][0].to_state()[1] == {"sign": False, "limit": 2.0}
    assert mean_std[MeanStdObservationFilterAgentConnector][0].filter.clip is None


def test_an_unknown_filter_is_refused():
    """A filter without a connector cannot be passed over in silence."""
    with pytest.raises(ConfigError, match="observation_filter"):
        get_agent_connectors_from_config(CTX, {"observation_filter": "MedianFilter"})


def policy():
    return SimpleNamespace(
        config={"observation_filter": "MeanStdFilter"},
        get_initial_state=list,
        observation_space=Box(-1, 1, (2,)),
        action_space=Discrete(2),
        view_requirements={},
        is_recurrent=lambda: False,
        agent_connectors=None,
        action_connectors=None,
    )


def test_policies_get_and_restore_their_connectors():
    """Connectors made from a config are saved and restored as equal ones; not made twice."""
    one = policy()
    create_connectors_for_policy(one, one.config)

    again = restore_connectors_for_policy(one, one.agent_connectors.to_state())

    assert str(again) == str(one.agent_connectors)
    assert letters(one.action_connectors) == "nui"
    with pytest.raises(ConfigError, match="connectors already"):
        create_connectors_for_policy(one, one.config)


def test_workers_find_the_filter_to_share():
    """The filter of a policy's pipeline is the one its worker synchronises."""
    one = policy()
    create_connectors_for_policy(one, one.config)
    worker = SimpleNamespace(policy_map={"p": one}, filters={})

    maybe_get_filters_for_syncing(worker, "p")

    assert worker.filters == {
        "p": one.agent_connectors["MeanStdObservationFilterAgentConnector"][0].filter
    }
