"""The object people hold: what it is made of, what it says of itself, how it is reset."""

import pickle

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete
from rlconnect.core.errors import ConfigError, UnknownNameError
from rlconnect.legacy import (
    Policy,
    create_connectors_for_policy,
    get_preprocessor_for_space,
    local_policy_inference,
)

VECTOR = Box(-1, 1, (3,), np.float32)


def test_a_policy_tells_what_it_is():
    """Its repr names algorithm, id and spaces; it always computes with torch's names."""
    policy = Policy(VECTOR, Discrete(2), algorithm="DQN", name="left")

    assert repr(policy) == "<DQN policy 'left': Box(3,) float32 -> Discrete(2)>"
    assert policy.framework == "torch"
    assert not policy.is_recurrent()
    assert policy.get_initial_state() == []


@pytest.mark.parametrize("spelling", ["PPO", "ppo", "PPOTorchPolicy", "PPOTF2Policy"])
def test_an_algorithm_is_found_in_any_spelling(spelling):
    """Registry names and policy classes of every age mean the algorithm."""
    assert Policy(VECTOR, Discrete(2), algorithm=spelling).algorithm == "PPO"


def test_an_unknown_algorithm_suggests_one():
    """A misspelt one is named with a near one."""
    with pytest.raises(UnknownNameError, match="did you mean 'PPO'"):
        Policy(VECTOR, Discrete(2), algorithm="PPPO")


def test_noise_is_one_of_two():
    """What noisy layers do is spelled out or refused."""
    with pytest.raises(ConfigError, match="'mean' or 'ray'"):
        Policy(VECTOR, Discrete(2), noise="some")


def test_the_config_is_the_policys_own():
    """Settings are copied: changing the caller's dict later changes nothing."""
    config = {"explore": False}
    policy = Policy(VECTOR, Discrete(2), config)

    config["explore"] = True

    assert policy.config["explore"] is False


def test_structs_mirror_nested_spaces():
    """`action_space_struct` and its sibling are the nests of leaf spaces, as in RLlib."""
    raw = Dict({"a": VECTOR, "b": Discrete(2)})
    policy = Policy(get_preprocessor_for_space(raw).observation_space, raw)

    assert set(policy.action_space_struct) == {"a", "b"}
    assert policy.observation_space_struct is policy.observation_space
    assert policy.observation_space.original_space == raw


def test_reset_connectors_resets_both_pipelines():
    """Ray's own call fails, because its action pipelines know no reset; here it is one call."""
    policy = Policy(VECTOR, Discrete(2), {"model": {"use_lstm": True}, "seed": 0})
    create_connectors_for_policy(policy, policy.config)
    obs = np.ones(3, np.float32)
    first = local_policy_inference(policy, "e", "a", obs, explore=False)[0]
    local_policy_inference(policy, "e", "a", obs, explore=False)

    policy.reset_connectors("e")

    again = local_policy_inference(policy, "e", "a", obs, explore=False)[0]
    assert np.array_equal(first[1][0], again[1][0])


def test_reset_without_connectors_is_harmless():
    """A bare policy has nothing to forget."""
    Policy(VECTOR, Discrete(2)).reset_connectors("e")


def test_the_torch_network_is_there_for_who_wants_it():
    """`model` and `dist_class` are torch's, also where numpy does the acting."""
    made = Policy(VECTOR, Discrete(2), {"seed": 0})
    policy = Policy(VECTOR, Discrete(2), weights=made.get_weights())
    obs = np.ones((2, 3), np.float32)
    assert policy.networks.numpy is not None

    logits, _ = policy.model({"obs": torch.from_numpy(obs)}, [], None)

    _, _, fetches = policy.compute_actions(obs, explore=False)
    np.testing.assert_allclose(logits.detach(), fetches["action_dist_inputs"], atol=1e-6)
    best = policy.dist_class(logits, policy.model).deterministic_sample()
    assert best.tolist() == fetches["action_dist_inputs"].argmax(-1).tolist()


def test_initial_states_are_copies():
    """Writing into a state given out changes no later episode."""
    policy = Policy(VECTOR, Discrete(2), {"model": {"use_lstm": True}})

    policy.get_initial_state()[0][...] = 7

    assert not policy.get_initial_state()[0].any()


def test_pipelines_come_back_from_a_state():
    """restore_connectors() takes what get_state() tells of both pipelines, and only that."""
    policy = Policy(Box(-1, 1, (2,)), Discrete(2), {"clip_rewards": True})
    create_connectors_for_policy(policy, policy.config)
    state = policy.get_state()
    other = Policy(Box(-1, 1, (2,)), Discrete(2))

    other.restore_connectors(state)

    assert str(other.agent_connectors) == str(policy.agent_connectors)
    assert str(other.action_connectors) == str(policy.action_connectors)


def test_the_shared_timestep_is_taken():
    """Exploration goes on from the timestep that all policies share."""
    policy = Policy(Box(-1, 1, (2,)), Discrete(2))

    policy.on_global_var_update({"timestep": 77})

    assert policy.global_timestep == 77
    assert policy.get_session() is None
    assert isinstance(policy.get_host(), str)


def test_a_pickled_policy_remembers_as_many_sessions():
    """How many are remembered is a setting of its owner's, and travels."""
    policy = Policy(Box(-1, 1, (3,)), Discrete(2), {})
    create_connectors_for_policy(policy, policy.config)
    policy.agent_connectors.sessions.most = 7

    assert pickle.loads(pickle.dumps(policy)).agent_connectors.sessions.most == 7
