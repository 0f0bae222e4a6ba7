"""Deterministic policies are squashed into bounded spaces only."""

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box
from rlconnect.legacy.heads.array_head import build_array_head
from rlconnect.legacy.heads.registry import build_head


@pytest.mark.parametrize("bounded", [True, False])
def test_actions_fill_a_bounded_space_and_no_other(bounded):
    """Large outputs land on the bounds; without bounds they pass unchanged, in numpy alike."""
    high = np.float32([3, 1]) if bounded else np.float32([np.inf, np.inf])
    low = np.float32([-2, 0]) if bounded else np.float32([-np.inf, -np.inf])
    spaces = Box(-1, 1, (3,)), Box(low, high)
    torch.manual_seed(0)
    config = {"actor_hiddens": [4], "critic_hiddens": [4]}
    head = build_head("TD3", *spaces, config)
    weights = {name: value.numpy() * 40 for name, value in head.model.state_dict().items()}
    for name in weights:
        if "action_out_squashed" in name:
            weights[name] = weights[name] / 40
    head.load_weights(weights)
    obs = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)

    with torch.no_grad():
        actions = head.policy_outputs({"obs": torch.from_numpy(obs)}).dist_inputs.numpy()
    by_numpy = build_array_head("TD3", *spaces, config, weights).run({"obs": obs}, (), None)

    assert ("policy_model.action_out_squashed.low_action" in weights) == bounded
    assert "twin_q_model.twin_q_out._model.0.weight" in weights
    inside = (actions >= low).all() and (actions <= high).all()
    assert inside
    assert (np.abs(actions).max() > 3) == (not bounded)
    np.testing.assert_allclose(by_numpy.dist_inputs, actions, rtol=1e-5, atol=1e-6)


def test_layer_norms_follow_parameter_noise():
    """Policies trained with parameter noise have a layer norm after each hidden layer."""
    config = {"actor_hiddens": [4], "exploration_config": {"type": "ParameterNoise"}}

    head = build_head("DDPG", Box(-1, 1, (3,)), Box(-1, 1, (1,)), config)

    assert "policy_model.LayerNorm_A_0.weight" in head.model.state_dict()


def test_a_state_preprocessor_is_a_trunk_of_its_own():
    """With `use_state_preprocessor` a network of the catalog makes 256 features first."""
    config = {"use_state_preprocessor": True, "model": {"fcnet_hiddens": [5]}, "actor_hiddens": [4]}

    head = build_head("DDPG", Box(-1, 1, (3,)), Box(-1, 1, (1,)), config)

    shapes = {name: tuple(value.shape) for name, value in head.model.state_dict().items()}
    assert shapes["_hidden_layers.0._model.0.weight"] == (256, 3)
    assert shapes["policy_model.action_0._model.0.weight"] == (4, 256)
