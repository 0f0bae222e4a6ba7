"""What `open_checkpoint` says of recorded checkpoints of every layout is what is known of them."""

import dataclasses

import numpy as np
import pytest
import rlconnect

from .recorded import (
    RECORDINGS,
    REFERENCE,
    differences,
    facts_in,
    name_of,
    open_once,
    recordings,
    truth_differences,
    truths,
)

NEW = RECORDINGS / "new"
MODULE_SHAPES = {
    "encoder.encoder.net.mlp.0.weight": (8, 4),
    "encoder.encoder.net.mlp.0.bias": (8,),
    "encoder.encoder.net.mlp.2.weight": (8, 8),
    "encoder.encoder.net.mlp.2.bias": (8,),
    "pi.log_std_clip_param_const": (1,),
    "pi.net.mlp.0.weight": (2, 8),
    "pi.net.mlp.0.bias": (2,),
    "vf.log_std_clip_param_const": (1,),
    "vf.net.mlp.0.weight": (1, 8),
    "vf.net.mlp.0.bias": (1,),
}


@pytest.mark.parametrize(("facts", "path"), recordings(RECORDINGS), ids=name_of)
def test_an_old_checkpoint_is_described_as_recorded(facts, path):
    """Algorithm, Ray, spaces, weights, model, connectors, filters, config: all as Ray had them."""
    assert differences(open_once(path), facts_in(facts)) == []


@pytest.mark.parametrize(("facts", "path"), recordings(REFERENCE), ids=name_of)
def test_every_reference_checkpoint_is_described_as_recorded(facts, path):
    """The same holds for all of the reference (where it lies beside this repository)."""
    assert differences(rlconnect.open_checkpoint(path), facts_in(facts)) == []


@pytest.mark.parametrize(("truth", "path"), [*truths(RECORDINGS), *truths(REFERENCE)], ids=name_of)
def test_a_strangers_checkpoint_is_described_as_it_was_found(truth, path):
    """Weights, roles, spaces and model config of files others wrote, TensorFlow's among them."""
    assert truth_differences(open_once(path), facts_in(truth)) == []


def test_the_comparison_sees_every_difference():
    """A record changed in one place differs from its recording in that place, so tests can fail."""
    facts, path = recordings(RECORDINGS)[0]
    checkpoint = open_once(path)
    policy = checkpoint.policies["default_policy"]
    changes = {
        "class": {"policy_class": "Other"},
        "framework": {"framework": "tf"},
        "observation": {"observation_space": policy.action_space},
        "action": {"action_space": policy.observation_space},
        "weights": {"weights": dataclasses.replace(policy, weights=type(policy.weights)()).weights},
        "model": {"config": {**policy.config, "model": {}}},
        "agent": {"agent_connectors": policy.action_connectors},
        "config": {"config": {**policy.config, "framework": "tf"}},
    }

    for what, change in changes.items():
        other = {"default_policy": dataclasses.replace(policy, **change)}
        changed = dataclasses.replace(checkpoint, policies=other)
        found = differences(changed, facts_in(facts))
        assert any(line.startswith(f"default_policy: {what}:") for line in found), what


@pytest.mark.parametrize(
    ("case", "stage"), [("2.7.2/ppo_pendulum_norm_meanstd", 2)], ids=["pendulum"]
)
def test_filter_statistics_give_the_recorded_observations(case, stage):
    """Mean and deviation that are read turn raw observations into what Ray's filter put out."""
    folder = RECORDINGS / "legacy" / case
    arrays = np.load(folder / "io.npz")
    policy = open_once(folder / "algo_checkpoint").policies["default_policy"]

    name = f"default_policy|agent{stage}:MeanStdObservationFilterAgentConnector|new_obs"
    before = arrays["default_policy|agent0:ClipRewardAgentConnector|new_obs"]

    (found,) = policy.filters
    said = (before - found.mean[0]) / (found.std[0] + 1e-8)

    np.testing.assert_allclose(said, arrays[name], rtol=1e-4, atol=1e-4)
    assert found.count == (150,)
    assert found.clip is None


def test_a_worker_keeps_the_filter_where_no_connector_does():
    """Ray 2.0 has no filter connector: the rollout worker's own filter is what is read."""
    path = RECORDINGS / "legacy/2.0.1/ppo_cartpole_meanstd/algo_checkpoint"

    (found,) = open_once(path).policies["default_policy"].filters

    assert (found.kind, found.count, found.is_from_worker) == ("MeanStdFilter", (0,), True)
    assert found.mean[0].shape == (4,)


@pytest.mark.parametrize(
    ("case", "names"),
    [
        (
            "2.7.2/ppo_user_module/algo_checkpoint",
            {
                "warehouse_sim.training.WarehouseEnv": "class or function",
                "warehouse_sim.training.RewardShaper": "class or function",
                "warehouse_sim.training.AuditCallbacks": "class or function",
            },
        ),
        (
            "2.7.2/ppo_multiagent/algo_checkpoint",
            {"__main__.base_config.<locals>.<lambda>": "function by value"},
        ),
        (
            "2.7.2/ppo_multiagent/policy_checkpoint",
            {"__main__.base_config.<locals>.<lambda>": "function by value"},
        ),
        ("2.7.2/ppo_rlmodule/algo_checkpoint", {}),
        ("2.0.1/sac_cont/algo_checkpoint", {}),
    ],
)
def test_foreign_references_name_what_is_the_authors_own(case, names):
    """The author's classes and functions are named, with their place; RLlib's own are no news."""
    checkpoint = open_once(RECORDINGS / "legacy" / case)

    assert {found.name: found.kind for found in checkpoint.foreign} == names
    assert all(": " in found.where for found in checkpoint.foreign)
    assert all(
        found.python == "3.11 or newer"
        for found in checkpoint.foreign
        if found.kind == "function by value"
    )


@pytest.mark.parametrize("name", ["2.60.0-algo_pkl", "2.60.0-algo_msgpack"])
def test_a_new_stack_algorithm_is_described_as_it_was_made(name):
    """Module, catalog, spaces, model config, weights, pipelines, filter: pickle or msgpack."""
    checkpoint = open_once(NEW / name)
    module = checkpoint.modules["default_policy"]
    pieces = {part.path: [piece.name for piece in part.pieces] for part in checkpoint.components}
    filters = [found for part in checkpoint.components for found in part.filters]

    assert (checkpoint.kind, checkpoint.stack, checkpoint.version) == ("algorithm", "new", "2.1")
    assert (checkpoint.ray_version, checkpoint.algorithm) == ("2.60.0", "PPO")
    assert (checkpoint.environment, checkpoint.training_iteration) == ("CartPole-v1", 1)
    assert checkpoint.problems == ()
    assert module.module_class.endswith(".DefaultPPOTorchRLModule")
    assert module.catalog_class.endswith(".PPOCatalog")
    assert repr(module.observation_space) == "Box(-10.0, 10.0, (4,), float32)"
    assert repr(module.action_space) == "Discrete(2)"
    assert module.model_config["fcnet_hiddens"] == [8, 8]
    assert module.model_config["fcnet_activation"] == "tanh"
    assert {key: array.shape for key, array in module.weights.items()} == MODULE_SHAPES
    assert pieces["env_runner/env_to_module_connector"] == [
        "MeanStdFilter",
        "AddObservationsFromEpisodesToBatch",
        "AddTimeDimToBatchAndZeroPad",
        "AddStatesFromEpisodesToBatch",
        "BatchIndividualItems",
        "NumpyToTensor",
    ]
    assert pieces["env_runner/module_to_env_connector"] == [
        "GetActions",
        "TensorToNumpy",
        "UnBatchToIndividualItems",
        "RemoveSingleTsTimeRankFromBatch",
        "NormalizeAndClipActions",
        "ListifyDataForVectorEnv",
    ]
    assert [(found.kind, found.count, found.clip) for found in filters] == [
        ("MeanStdFilter", (70,), 10.0)
    ]
    assert [found.name for found in checkpoint.foreign] == ["warehouse_pieces.normalise"]


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("2.60.0-ppo_module", {"pi.net.mlp.0.weight": (3, 4), "vf.net.mlp.0.weight": (1, 4)}),
        ("2.60.0-module_msgpack", {"pi.net.mlp.0.weight": (2, 8), "pi.net.mlp.0.bias": (2,)}),
    ],
)
def test_a_module_saved_alone_is_one_module(name, shapes):
    """A module's own folder gives its class, spaces, config and arrays, without an algorithm."""
    checkpoint = open_once(NEW / name)
    (module,) = checkpoint.modules.values()

    assert (checkpoint.kind, checkpoint.algorithm) == ("module", "PPO")
    assert module.observation_space is not None
    assert {key: module.weights[key].shape for key in shapes} == shapes
    assert checkpoint.problems == ()


@pytest.mark.parametrize(
    ("name", "pieces"), [("2.60.0-pipe", 6), ("2.60.0-filter", 0)], ids=["pipeline", "piece"]
)
def test_a_part_saved_alone_keeps_its_statistics(name, pieces):
    """A pipeline whose saving failed halfway in Ray, and a filter by itself, are still read."""
    checkpoint = open_once(NEW / name)
    (found,) = (found for part in checkpoint.components for found in part.filters)

    assert checkpoint.kind == "component"
    assert len(checkpoint.components[0].pieces) == pieces
    assert found.count == (70,)
    np.testing.assert_allclose(
        found.mean[0], [-0.03479117, -0.09699086, 0.02730617, 0.16689054], atol=1e-8
    )


@pytest.mark.parametrize(
    ("case", "version", "holds_module"),
    [("2.7.2/ppo_rlmodule", "1.2", True), ("2.5.1/ppo_rlmodule", "1.1", False)],
)
def test_an_rlmodule_inside_an_old_policy_is_seen(case, version, holds_module):
    """A 1.2 policy holds an RLModule's weights and says so; Ray 2.5 still saved its own model."""
    checkpoint = open_once(RECORDINGS / "legacy" / case / "algo_checkpoint")

    assert checkpoint.version == version
    assert checkpoint.policies["default_policy"].holds_module_weights is holds_module
