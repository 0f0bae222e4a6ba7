"""Numpy heads give what Ray recorded, or step aside for torch; they never load torch."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from rlconnect.core.errors import WeightsError
from rlconnect.legacy.heads.array_head import build_array_head
from rlconnect.legacy.heads.registry import build_head

TORCH_ONLY = {
    "oracle-dqn-parameter-noise",
    "oracle-dqn-vision",
    "oracle-sac-matrix",
    "oracle-sac-vision",
}


def array_head_of(recorded):
    algorithm, spaces = recorded.meta["algorithm"], recorded.spaces
    return build_array_head(algorithm, *spaces, recorded.config, recorded.weights)


def outputs(head, recorded):
    state = [v for k, v in sorted(recorded.columns.items()) if k.startswith("state_in")]
    return head.run(recorded.columns, state, None)


def test_outputs_are_rays(case, recording):
    """Inputs of the distribution, states and fetches equal the recorded ones at 1e-6."""
    recorded = recording(case)

    head = array_head_of(recorded)

    assert (head is None) == (case in TORCH_ONLY)
    if head is None:
        return
    if recorded.config.get("noisy"):
        want = mean_outputs(recorded)
    else:
        want = recorded.greedy["fetches"]["action_dist_inputs"]
        soft = recorded.config["exploration_config"].get("temperature", 1.0)
        want = want * np.float32(soft)
    got = outputs(head, recorded)
    scale = max(1.0, np.abs(want).max())
    # A fresh noisy net has logits in the hundreds: the last digits of a softmax of them are noise.
    near = 1e-5 if recorded.config.get("noisy") else 1e-6
    np.testing.assert_allclose(got.dist_inputs, want, rtol=0, atol=near * scale)
    assert got.dist_inputs.dtype == np.float32
    for name in ("vf_preds", "q_values"):
        assert (name in got.extra) == (name in recorded.greedy["fetches"])
    if "vf_preds" in got.extra:
        value = recorded.greedy["fetches"]["vf_preds"]
        np.testing.assert_allclose(got.extra["vf_preds"], value, rtol=1e-5, atol=2e-6)
    states = recorded.greedy.get("states", ())
    for one, other in zip(got.state_out, states, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def mean_outputs(recorded):
    """What torch gives for a noisy net without its noise."""
    head = build_head("DQN", *recorded.spaces, recorded.config, weights=recorded.weights)
    with torch.no_grad():
        obs = torch.from_numpy(recorded.columns["obs"])
        return head.policy_outputs({"obs": obs}).dist_inputs.numpy()


def test_missing_weights_are_named(recording):
    """Weights that lack a layer are an error, not another network."""
    recorded = recording("2.7.2-ddpg")
    del recorded.weights["policy_model.action_out._model.0.bias"]

    with pytest.raises(WeightsError, match=r"action_out\._model\.0\.bias"):
        array_head_of(recorded)


def test_flat_weight_vectors_are_left_to_torch():
    """ES keeps one vector; without names there is no numpy head."""
    found = build_array_head("ES", Box(-1, 1, (4,)), Discrete(2), {}, np.zeros(5, np.float32))

    assert found is None


def test_numpy_heads_do_not_load_torch():
    """Building a head and acting with it never imports torch."""
    code = (
        "import sys, numpy as np, gymnasium as gym\n"
        "from rlconnect.legacy.heads.array_head import build_array_head\n"
        "from rlconnect.legacy.policy.acting import choose_actions\n"
        "from rlconnect.legacy.exploration.config import exploration_for\n"
        "w = {f'_{n}._model.0.{p}': np.zeros(s, np.float32) for n, p, s in [\n"
        "    ('hidden_layers.0', 'weight', (3, 4)), ('hidden_layers.0', 'bias', (3,)),\n"
        "    ('logits', 'weight', (2, 3)), ('logits', 'bias', (2,)),\n"
        "    ('value_branch', 'weight', (1, 3)), ('value_branch', 'bias', (1,))]}\n"
        "act = gym.spaces.Discrete(2)\n"
        "config = {'model': {'fcnet_hiddens': [3]}}\n"
        "head = build_array_head('A2C', gym.spaces.Box(-1, 1, (4,)), act, config, w)\n"
        "out = head.run({'obs': np.zeros((1, 4), np.float32)}, (), None)\n"
        "choose_actions(head.distribution, out.dist_inputs, out.extra,\n"
        "    exploration_for(act), explore=True, timestep=0, rng=np.random.default_rng(0))\n"
        "sys.exit('torch' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
