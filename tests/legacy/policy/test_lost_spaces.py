"""Spaces that a checkpoint has lost: the weights suggest them, and the right ones are accepted."""

import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.core.errors import ConfigError, SpaceError
from rlconnect.legacy import Policy

from tests.core.vault.recorded import write_policy
from tests.legacy.heads.test_tf_weights import DQN, DUELING, arrays_for

SEES, ACTS = Box(-1, 1, (5,)), Discrete(2)


def saved(folder, weights, config, policy_class="DQNTorchPolicy"):
    """A policy folder without spaces."""
    spec = {"policy_class": policy_class, "config": config}
    return write_policy(folder / "policy", {"weights": weights, "policy_spec": spec})


def of_tensorflow(folder):
    """A dueling DQN of TensorFlow's, whose trunk ends in 6 features."""
    arrays = arrays_for(DUELING)
    weights = {f"default_policy/{name}": array for name, array in arrays.items()}
    return saved(folder, weights, {**DQN, "framework": "tf"}, "DQNTFPolicy")


def with_lstm_and_noise(folder):
    """A dueling DQN with noisy layers behind an LSTM, which ends in 6 features."""
    model = {"fcnet_hiddens": [8, 6], "use_lstm": True, "lstm_cell_size": 4}
    config = {"framework": "torch", "model": model, "hiddens": [4], "noisy": True}
    policy = Policy(SEES, ACTS, config, algorithm="DQN")
    return saved(folder, policy.get_weights(), config)


@pytest.mark.torch
@pytest.mark.parametrize("made", [of_tensorflow, with_lstm_and_noise])
def test_the_head_of_a_dueling_network_is_its_advantage_head(made, tmp_path):
    """The features that the trunk ends in are not taken for actions."""
    path = made(tmp_path)
    with pytest.raises(ConfigError) as lost:
        Policy.from_checkpoint(path, observation_space=SEES)

    assert "action_space=Discrete(2)" in str(lost.value)
    with pytest.raises(SpaceError, match="needs 6"):
        Policy.from_checkpoint(path, observation_space=SEES, action_space=Discrete(6))
    policy = Policy.from_checkpoint(path, observation_space=SEES, action_space=ACTS)
    assert policy.action_space == ACTS
