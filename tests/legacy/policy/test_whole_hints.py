"""Hints that can be pasted: the values that a checkpoint shows are in the call."""

import ast
import re

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.core.errors import ConfigError, MissingPartError, WeightsError
from rlconnect.legacy import Policy

from tests.core.vault.recorded import MULTI_AGENT, copy_of, policy_state, write_policy

SEES, ACTS = Box(-1, 1, (4,)), Discrete(2)


def weights(**model):
    """Those of a new policy with hidden layers of 16 and 32 units."""
    config = {"model": {"fcnet_hiddens": [16, 32], **model}}
    return Policy(SEES, ACTS, config).get_weights()


def config_in(error):
    """The config that a hint tells to pass."""
    return ast.literal_eval(re.search(r"config=(\{.*?\})\)", error.hint)[1])


@pytest.mark.parametrize(
    ("model", "wrong"),
    [
        ({}, {"fcnet_hiddens": [2]}),
        ({"use_lstm": True, "lstm_cell_size": 8}, {"use_lstm": True, "lstm_cell_size": 4}),
        ({"use_lstm": True}, {"use_lstm": False}),
    ],
    ids=["hiddens", "cells", "lstm"],
)
@pytest.mark.torch
def test_settings_that_disagree_with_the_weights_come_with_those_that_fit(model, wrong, tmp_path):
    """The config of the hint loads the policy."""
    config = {"framework": "torch", "model": {"fcnet_hiddens": [16, 32], **wrong}}
    state = {"weights": weights(**model), "policy_spec": {
        "policy_class": "PPOTorchPolicy", "config": config,
    }}  # fmt: skip
    path = write_policy(tmp_path / "policy", state)
    spaces = {"observation_space": SEES, "action_space": ACTS}
    with pytest.raises(WeightsError) as caught:
        Policy.from_checkpoint(path, **spaces)

    policy = Policy.from_checkpoint(path, config=config_in(caught.value), **spaces)

    assert policy.compute_single_action(np.zeros(4, np.float32))[0] in (0, 1)


def test_a_lost_config_comes_with_the_layer_sizes(tmp_path):
    """The sizes of the hidden layers are in the call."""
    state = {"weights": weights(), "policy_spec": {"policy_class": "PPOTorchPolicy"}}
    path = write_policy(tmp_path / "policy", state)

    with pytest.raises(ConfigError) as caught:
        Policy.from_checkpoint(path, observation_space=SEES, action_space=ACTS)

    assert config_in(caught.value) == {"model": {"fcnet_hiddens": [16, 32]}}


def test_a_policy_without_weights_names_the_others(tmp_path):
    """The call loads those that have some."""
    path = copy_of(MULTI_AGENT, tmp_path)
    (path / "policies/pol_1/policy_state.pkl").unlink()
    write_policy(path / "policies/pol_1", policy_state(weights={}))

    with pytest.raises(MissingPartError, match="holds no weights") as caught:
        Policy.from_checkpoint(path)

    assert "Policy.from_checkpoint(path, policy_ids=['pol_0'])" in caught.value.hint
