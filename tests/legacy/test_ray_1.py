"""Policies that Ray 1 saved act with the settings of their trial, which it kept elsewhere."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from rlconnect.core.errors import ConfigError
from rlconnect.legacy import Policy, local_policy_inference

TRIAL = Path(__file__).parents[1] / "golden" / "checkpoints" / "1.13.0-ppo_swish" / "trial"


@pytest.fixture
def bare(tmp_path):
    """The checkpoint alone, as people copy it out of the trial's folder."""
    return shutil.copytree(TRIAL / "checkpoint_000002", tmp_path / "checkpoint_000002")


def assert_as_ray(policy):
    """The policy answers as Ray 1.13 did, filter and swish among it."""
    want = json.loads((TRIAL / "answers.json").read_text(encoding="utf-8"))
    for i, obs in enumerate(want["obs"]):
        ((action, _, fetches),) = local_policy_inference(
            policy, i, "a", np.array(obs, np.float32), explore=False
        )
        assert action == want["actions"][i]
        for name in ("action_dist_inputs", "vf_preds"):
            np.testing.assert_allclose(fetches[name], want[name][i], atol=1e-6)


def test_settings_of_the_trial_are_used():
    """Network, activation and filter are those of params.pkl, one folder above."""
    policy = Policy.from_checkpoint(TRIAL / "checkpoint_000002")["default_policy"]

    assert sum(name.endswith("._beta") for name in policy.get_weights()) == 4
    assert_as_ray(policy)


def test_a_slope_of_swish_counts():
    """The slope is a weight like others: at zero, swish halves what it is given."""
    policy = Policy.from_checkpoint(TRIAL / "checkpoint_000002")["default_policy"]
    flat = {name: value * 0 for name, value in policy.get_weights().items() if "_beta" in name}
    policy.set_weights({**policy.get_weights(), **flat})
    obs = np.array([[0.1, -0.2, 0.3]], np.float32)

    _, _, fetches = policy.compute_actions(obs, explore=False)

    x = obs
    for name in ("_hidden_layers.0", "_hidden_layers.1", "_logits"):
        weights = policy.get_weights()
        x = x @ weights[f"{name}._model.0.weight"].T + weights[f"{name}._model.0.bias"]
        x = x if name == "_logits" else x / 2
    np.testing.assert_allclose(fetches["action_dist_inputs"], x, atol=1e-6)


def test_lost_settings_are_an_error_that_says_how_to_give_them(bare):
    """The activation of a network is not in its weights: nothing is made up."""
    with pytest.raises(ConfigError, match=r"(?s)lost its config.*params\.json"):
        Policy.from_checkpoint(bare)


def test_given_settings_stand_for_lost_ones(bare):
    """What the author remembers is enough."""
    config = json.loads((TRIAL / "params.json").read_text(encoding="utf-8"))

    policy = Policy.from_checkpoint(bare, config=config)["default_policy"]

    assert_as_ray(policy)


def test_given_settings_are_laid_over_those_that_are_there():
    """Single settings change, others stay; `model` by key."""
    changed = {"explore": False, "model": {"max_seq_len": 7}}
    path = TRIAL / "checkpoint_000002"

    policy = Policy.from_checkpoint(path, ["default_policy"], config=changed)["default_policy"]

    assert policy.config["explore"] is False
    assert policy.config["model"]["max_seq_len"] == 7
    assert_as_ray(policy)


def test_a_policy_with_learned_swish_is_exported_whole(tmp_path):
    """Its slopes travel with its weights."""
    Policy.from_checkpoint(TRIAL / "checkpoint_000002")["default_policy"].export_checkpoint(
        tmp_path / "own"
    )

    assert_as_ray(Policy.from_checkpoint(tmp_path / "own"))
