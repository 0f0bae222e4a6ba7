"""Single policies of the old stack: weights, settings and connectors in any form."""

import numpy as np
import pytest
from rlconnect.core.vault import open_checkpoint
from rlconnect.core.vault.decode.standins import GlobalRef, Opaque
from rlconnect.core.vault.readers.old_policy import connectors_of, merged_config, plain_config

from .recorded import RECORDINGS, open_once, policy_state, write_policy


@pytest.mark.parametrize(
    "state", [[1, 2], {}, {"weights": None}, {"weights": {}}, {"weights": "none"}]
)
def test_a_state_without_weights_says_so(state, tmp_path):
    """A policy state that holds no arrays is opened and its lack is named."""
    path = write_policy(tmp_path / "policy", policy_state(weights=None))
    write_policy(path, state or {"weights": {}})

    checkpoint = open_checkpoint(path)

    assert not checkpoint.has_weights
    assert "holds no weights" in checkpoint.problems[0].what


def test_weights_may_be_nested_or_a_list(tmp_path):
    """Nested names are joined by dots; a bare list is numbered and said to be unnamed."""
    one = np.ones(2, np.float32)
    nested = write_policy(tmp_path / "a", policy_state(weights={"net": {"w": one}, "b": one}))
    listed = write_policy(tmp_path / "b", policy_state(weights=[one, one]))

    assert sorted(open_checkpoint(nested).policies["default_policy"].weights) == ["b", "net.w"]
    table = open_checkpoint(listed).policies["default_policy"].weights
    assert (list(table), table.named) == (["0", "1"], False)


def test_a_configs_attributes_get_their_old_names():
    """`PPOConfig` of any release reads as the plain dict it would have given."""
    config = Opaque(GlobalRef("ray.rllib.algorithms.ppo.ppo", "PPOConfig"))
    config.state = {
        "lambda_": 0.9,
        "framework_str": "torch",
        "num_rollout_workers": 2,
        "callbacks_class": None,
        "algo_class": None,
        "_is_frozen": True,
    }

    assert plain_config(config) == {
        "lambda": 0.9,
        "framework": "torch",
        "num_workers": 2,
        "num_rollout_workers": 2,
        "callbacks": None,
    }


def test_a_policys_settings_go_before_the_algorithms():
    """The model is merged by key, everything else replaced."""
    base = {"a": 1, "model": {"x": 1, "y": 1}}

    merged = merged_config(base, {"a": 2, "model": {"y": 2}})

    assert merged == {"a": 2, "model": {"x": 1, "y": 2}}
    assert base == {"a": 1, "model": {"x": 1, "y": 1}}


def test_connectors_nest():
    """Pipelines inside pipelines keep their order, and unfold flat."""
    pair = ["AgentConnectorPipeline", [["A", {"x": 1}], ["InnerPipeline", [("B", None)]], "bad", 7]]

    pipeline = connectors_of(pair)

    assert [piece.name for piece in pipeline.children] == ["A", "InnerPipeline"]
    assert [piece.name for piece in pipeline.flat()] == ["A", "B"]
    assert connectors_of({"not": "a pair"}) is None


@pytest.mark.parametrize(
    ("case", "algorithm", "policy_class"),
    [("2.7.2/td3", "TD3", "DDPGTorchPolicy"), ("2.7.2/sac_cont", "SAC", "SACTorchPolicy")],
)
def test_an_algorithm_that_borrows_a_policy_class_keeps_its_name(case, algorithm, policy_class):
    """TD3 trains DDPG's policy class: its policies are TD3's all the same."""
    policy = open_once(RECORDINGS / "legacy" / case / "algo_checkpoint").policies["default_policy"]

    assert policy.algorithm == algorithm
    assert policy.policy_class.endswith(policy_class)
