"""Ray 2.5 to 2.9 kept a policy and its module side by side: either one survives the other."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from rlconnect.core.vault import open_checkpoint
from rlconnect.core.vault.decode.load_limits import DEFAULT_LIMITS
from rlconnect.core.vault.decode.standins import GlobalRef, Opaque
from rlconnect.core.vault.decoding import Decoding
from rlconnect.core.vault.readers.old_policy import policy_record

CHECKPOINT = (
    Path(__file__).parents[2] / "golden/recordings/legacy/2.7.2/ppo_rlmodule/algo_checkpoint"
)


def test_learner_copy_is_listed_beside_the_policy():
    """The learner's module has the policy's parameters (the values may lag behind a sync)."""
    checkpoint = open_checkpoint(CHECKPOINT)

    policy, module = checkpoint.policies["default_policy"], checkpoint.modules["default_policy"]

    assert {n: policy.weights.describe(n) for n in policy.weights} == {
        n: module.weights.describe(n) for n in module.weights
    }


def test_learner_copy_survives_lost_policies(tmp_path):
    """Where the policies' folder is lost, the learner's weights are offered, and the loss told."""
    shutil.copytree(CHECKPOINT, tmp_path / "c")
    shutil.rmtree(tmp_path / "c/policies")

    checkpoint = open_checkpoint(tmp_path / "c")

    assert list(checkpoint.acting) == ["default_policy"]
    assert checkpoint.has_weights
    assert any("default_policy" in problem.what for problem in checkpoint.problems)


@pytest.mark.parametrize(
    ("below", "kind"),
    [
        ("learner", "component"),
        ("learner/module_state", "multi_module"),
        ("learner/module_state/default_policy", "module"),
        ("learner/module_state/default_policy/module_state_dir", "module"),
    ],
)
def test_each_folder_of_the_learner_opens_alone(below, kind):
    """A part of the checkpoint is a checkpoint of its own."""
    checkpoint = open_checkpoint(CHECKPOINT / below)

    assert checkpoint.kind == kind
    assert checkpoint.modules["default_policy"].weights.parameter_count == 2531


@pytest.mark.parametrize("as_object", [False, True])
def test_policy_spec_of_a_named_tuple(as_object):
    """Up to Ray 1.13 a policy spec is a named tuple: its fields are found by position."""
    fields = ("PPOTorchPolicy", {"space": "discrete", "n": 3}, {"space": "discrete", "n": 2}, {})
    spec = Opaque(GlobalRef("ray.rllib.policy.policy", "PolicySpec"), fields)
    decoding = Decoding(Path("."), DEFAULT_LIMITS)
    state = {"weights": {"w": np.zeros(2, np.float32)}}

    record = policy_record("p", state, decoding, "x", spec=spec if as_object else fields)

    assert record.policy_class == "PPOTorchPolicy"
    assert (record.observation_space.n, record.action_space.n) == (3, 2)
    assert record.algorithm == "PPO"
