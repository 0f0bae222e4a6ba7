"""RLlib's functions around policies and checkpoints do what the methods of a policy do."""

from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.core.errors import UnknownNameError
from rlconnect.legacy import (
    Policy,
    compute_log_likelihoods_from_input_dict,
    create_policy_for_framework,
    load_policies_from_checkpoint,
    parse_policy_specs_from_checkpoint,
    restore_connectors_for_policy,
)

GOLDEN = Path(__file__).parents[2] / "golden" / "checkpoints"
BOTH = GOLDEN / "2.3.1-ppo_multiagent/algo_checkpoint"
ONE = GOLDEN / "2.5.1-ppo_msgpack/msgpack_policy/default_policy"


def test_policies_come_by_id_from_any_folder():
    """An algorithm's folder gives all of them or some, a policy's folder its one."""
    assert set(load_policies_from_checkpoint(BOTH)) == {"pol_0", "pol_1"}
    assert set(load_policies_from_checkpoint(BOTH, ["pol_1"])) == {"pol_1"}
    assert set(load_policies_from_checkpoint(ONE)) == {"default_policy"}


def test_specs_and_states_are_told_without_building():
    """Spaces, settings, weights and connectors are those the policies are built with."""
    config, specs, states = parse_policy_specs_from_checkpoint(BOTH)
    policies = load_policies_from_checkpoint(BOTH)

    assert set(specs) == set(states) == set(policies)
    assert "model" in config
    for name, policy in policies.items():
        assert specs[name].action_space == policy.action_space
        assert states[name]["weights"].keys() == policy.get_weights().keys()
        assert states[name]["connector_configs"]["agent"][0] == "AgentConnectorPipeline"


@pytest.mark.parametrize("kind", ["PPO", "PPOTorchPolicy", Policy])
def test_a_policy_is_made_of_class_config_and_spaces(kind):
    """The class may be a name or our own; the seed makes samples repeat."""
    made = [
        create_policy_for_framework(
            "p", kind, {"model": {"fcnet_hiddens": [4]}}, Box(-1, 1, (2,)), Discrete(3), seed=1
        )
        for _ in range(2)
    ]

    assert made[0].name == "p"
    made[1].set_weights(made[0].get_weights())
    obs = np.zeros((8, 2), np.float32)
    first, second = (policy.compute_actions(obs)[0] for policy in made)
    np.testing.assert_array_equal(first, second)


def test_log_likelihoods_of_a_batch_are_those_of_its_columns():
    """A batch as policies are trained with gives what its columns give one by one."""
    policy = Policy(Box(-1, 1, (2,)), Discrete(3), {"seed": 0})
    columns = {"obs": np.eye(2, dtype=np.float32), "actions": np.array([0, 2])}

    found = compute_log_likelihoods_from_input_dict(policy, columns)

    expected = policy.compute_log_likelihoods(columns["actions"], columns["obs"])
    np.testing.assert_array_equal(found, expected)


def test_an_unknown_connector_is_told_with_its_policy():
    """Whose pipeline cannot be rebuilt is said beside what is missing."""
    policy = Policy(Box(-1, 1, (2,)), Discrete(3), name="striker")

    with pytest.raises(UnknownNameError, match=r"'striker'.*'Nowhere'"):
        restore_connectors_for_policy(policy, ("AgentConnectorPipeline", [("Nowhere", None)]))
