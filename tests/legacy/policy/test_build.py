"""Policies are made from what a checkpoint holds; what it lacks is told, never made up."""

import dataclasses
import pickle

import numpy as np
import pytest
import rlconnect
import torch
from gymnasium.spaces import Box, Discrete
from rlconnect.core.errors import ConfigError, MissingPartError, UnknownNameError
from rlconnect.core.vault import FilterRecord, WeightTable
from rlconnect.legacy import Policy, local_policy_inference
from rlconnect.legacy.connectors.registry import _ADDED as REGISTERED
from rlconnect.legacy.policy.build import build_policy, serialized
from rlconnect.legacy.policy.record_parts import torch_weights

from tests.legacy.replay import GOLDEN, LAMBDAS
from tests.legacy.test_recordings import MODELS, FrameStacking

CHECKPOINTS = GOLDEN.parent / "checkpoints"
MULTI = GOLDEN / "legacy" / "2.7.2" / "ppo_multiagent" / "algo_checkpoint"
PLAIN = GOLDEN / "legacy" / "2.60.0" / "ppo_cartpole" / "algo_checkpoint"


def record_of(path, policy_id="default_policy"):
    return rlconnect.open_checkpoint(path).policies[policy_id]


def test_an_algorithm_folder_gives_a_dict_and_a_policy_folder_a_policy():
    """As in RLlib: by id, only those asked for, or the one policy itself."""
    assert list(Policy.from_checkpoint(MULTI)) == ["pol_0", "pol_1"]
    assert list(Policy.from_checkpoint(MULTI, ["pol_1"])) == ["pol_1"]
    assert list(Policy.from_checkpoint(str(MULTI), policy_ids="pol_0")) == ["pol_0"]
    assert Policy.from_checkpoint(MULTI / "policies" / "pol_1").name == "pol_1"


def test_an_unknown_policy_id_names_those_there_are():
    """A misspelt id is not ignored."""
    with pytest.raises(UnknownNameError, match=r"'pol_2'.*'pol_0', 'pol_1'"):
        Policy.from_checkpoint(MULTI, ["pol_0", "pol_2"])


def test_a_checkpoint_of_the_new_stack_says_that_it_is_one():
    """Its modules are no policies; the error says how to get at them."""
    with pytest.raises(MissingPartError, match="new-stack modules"):
        Policy.from_checkpoint(CHECKPOINTS / "2.60.0-ppo_new_stack" / "algo")


def test_a_checkpoint_without_policy_files_says_what_is_gone(tmp_path):
    """An algorithm folder whose policies are lost is an error, not an empty dict."""
    (tmp_path / "algorithm_state.pkl").write_bytes((PLAIN / "algorithm_state.pkl").read_bytes())
    (tmp_path / "rllib_checkpoint.json").write_bytes((PLAIN / "rllib_checkpoint.json").read_bytes())

    with pytest.raises(MissingPartError, match="no policy that can be read"):
        Policy.from_checkpoint(tmp_path)


def test_an_unregistered_connector_is_named(monkeypatch):
    """A pipeline with a user's connector loads once the name is registered, and says so."""
    path = GOLDEN / "legacy" / "2.7.2" / "ppo_lambda_connectors" / "algo_checkpoint"
    monkeypatch.delitem(REGISTERED, "HalveObs")

    with pytest.raises(NameError, match=r"'HalveObs'.*\n.*register_lambda_agent_connector"):
        Policy.from_checkpoint(path)

    monkeypatch.undo()
    policy = Policy.from_checkpoint(path)["default_policy"]
    assert isinstance(policy.agent_connectors.connectors[0], LAMBDAS["HalveObs"])


def test_lost_spaces_are_told_with_the_weights_there_are():
    """Without spaces there is no network; the way to give them by hand works."""
    record = record_of(PLAIN)
    lost = dataclasses.replace(record, observation_space=None)

    with pytest.raises(ConfigError, match=r"lost its spaces.*_logits._model.0.weight \(2, 32\)"):
        build_policy(Policy, lost)

    by_hand = Policy(
        record.observation_space, Discrete(2), record.config, weights=dict(lost.weights)
    )
    loaded = build_policy(Policy, record)
    obs = np.zeros((1, 4), np.float32)
    for policy in (by_hand, loaded):
        policy.fetches = policy.compute_actions(obs, explore=False)[2]
    assert np.array_equal(
        by_hand.fetches["action_dist_inputs"], loaded.fetches["action_dist_inputs"]
    )


def test_lost_weights_are_told():
    """A record without weights is never given fresh ones."""
    with pytest.raises(MissingPartError, match="holds no weights"):
        build_policy(Policy, dataclasses.replace(record_of(PLAIN), weights=WeightTable()))


def test_an_unknown_algorithm_is_told():
    """Which head to build cannot be guessed."""
    lost = dataclasses.replace(record_of(PLAIN), algorithm="", policy_class="mine.Odd")

    with pytest.raises(ConfigError, match=r"which algorithm.*mine\.Odd"):
        build_policy(Policy, lost)


def test_one_missing_array_is_named():
    """A network with a hole is refused, and the hole named."""
    record = record_of(PLAIN)
    weights = {k: v for k, v in record.weights.items() if k != "_hidden_layers.1._model.0.weight"}

    with pytest.raises(rlconnect.RlconnectError, match="weights"):
        build_policy(Policy, dataclasses.replace(record, weights=WeightTable(weights)))


def test_convolutions_of_tensorflow_are_refused_by_name():
    """Weights no mapping is known for are never guessed."""
    record = record_of(GOLDEN / "compat" / "ppo-tf-v1.0" / "checkpoint")
    weights = {**record.weights, "default_policy/conv_1/kernel": np.zeros((3, 3, 1, 4))}

    with pytest.raises(rlconnect.RlconnectError, match="conv_1"):
        build_policy(Policy, dataclasses.replace(record, weights=WeightTable(weights)))


def test_tensorflow_weights_take_torch_names():
    """Kernels are turned, names become torch's; others pass as they are."""
    record = record_of(GOLDEN / "compat" / "ppo-tf-v1.0" / "checkpoint")

    named = torch_weights(record, "PPO")

    assert named["_hidden_layers.0._model.0.weight"].shape == (10, 16)
    plain = record_of(PLAIN)
    assert list(torch_weights(plain, "PPO")) == list(plain.weights)


def test_a_custom_model_may_be_any_class_that_fits():
    """A class under the saved name is built with the config's arguments and given the weights."""
    path = GOLDEN / "legacy" / "2.7.2" / "ppo_framestack_view" / "algo_checkpoint"

    policy = Policy.from_checkpoint(path, custom_models=MODELS)["default_policy"]

    assert policy.model.num_frames == 4
    assert "prev_n_obs" in policy.view_requirements
    held = record_of(path).weights["layer1.weight"]
    assert np.array_equal(policy.model.layer1.weight.detach().numpy(), held)


@pytest.mark.torch
def test_a_custom_model_of_other_shapes_is_refused():
    """A class whose parameters differ from the saved ones is named with the difference."""

    class Narrow(FrameStacking):
        def __init__(self, *given, **options):
            super().__init__(*given, **options)
            self.layer1 = torch.nn.Linear(28, 23)

    path = GOLDEN / "legacy" / "2.7.2" / "ppo_framestack_view" / "algo_checkpoint"

    with pytest.raises(rlconnect.RlconnectError, match="layer1"):
        Policy.from_checkpoint(path, custom_models={"legacy_framestack": Narrow})


@pytest.mark.parametrize("kind", ["MeanStdFilter", "ConcurrentMeanStdFilter", "NoFilter"])
def test_statistics_of_a_worker_act_in_the_pipeline(kind):
    """Ray keeps the filter beside a policy without connectors; here it filters, and once."""
    source = FilterRecord(
        "MeanStdFilter",
        (11,),
        (np.array([0.1, 0.2, -0.3, 0.0]),),
        (np.array([1.0, 2.0, 3.0, 4.0]),),
        is_from_worker=True,
    )
    plain = record_of(PLAIN)
    bare = dataclasses.replace(
        plain,
        config={**plain.config, "observation_filter": kind},
        agent_connectors=None,
        action_connectors=None,
        filters=(source,),
    )
    policy = build_policy(Policy, bare)
    obs = np.array([0.5, -0.2, 0.1, 0.3], np.float32)

    ((_, _, fetches),) = local_policy_inference(policy, "e", "a", obs, explore=False)

    filtered = (obs - source.mean[0]) / (np.sqrt(source.sum_of_squares[0] / 10) + 1e-6)
    _, _, want = policy.compute_actions(filtered[None].astype(np.float32), explore=False)
    np.testing.assert_allclose(
        fetches["action_dist_inputs"], want["action_dist_inputs"][0], atol=1e-5
    )
    assert [type(each).__name__ for each in policy.agent_connectors.connectors[:3]] == [
        "ObsPreprocessorConnector",
        "MeanStdObservationFilterAgentConnector",
        "StateBufferConnector",
    ]


def test_a_module_goes_by_its_own_settings():
    """An RLModule of Ray 2.20 ignores `model`: its activation is that of `_model_config_dict`."""
    saved = record_of(CHECKPOINTS / "2.7.2-ppo_rlmodule" / "algo_checkpoint")
    own = {"fcnet_activation": "relu"}
    config = {**saved.config, "model": {"fcnet_activation": "elu"}, "_model_config_dict": own}
    policy = build_policy(Policy, dataclasses.replace(saved, config=config))
    x = np.ones((2, *policy.observation_space.shape), np.float32)

    _, _, fetches = policy.compute_actions(x, explore=False)

    weights = {name: value.T for name, value in policy.get_weights().items()}
    part = "encoder.actor_encoder.net.mlp"
    layers = sorted({name.rpartition(".")[0] for name in weights if name.startswith(part)})
    for layer in layers:
        x = np.maximum(x @ weights[f"{layer}.weight"] + weights[f"{layer}.bias"], 0)
    want = x @ weights["pi.net.mlp.0.weight"] + weights["pi.net.mlp.0.bias"]
    np.testing.assert_allclose(fetches["action_dist_inputs"], want, atol=1e-5)


def test_a_filter_that_saw_nothing_is_left_out():
    """Ray 2.0 never synced its statistics to the checkpoint: nothing to filter with."""
    path = CHECKPOINTS / "2.0.1-ppo_cartpole_meanstd" / "algo_checkpoint"
    (source,) = record_of(path).filters

    policy = Policy.from_checkpoint(path)["default_policy"]

    assert source.count == (0,)
    assert policy.agent_connectors["MeanStdObservationFilterAgentConnector"] == []


def test_pairs_are_what_rllib_serialises():
    """A pipeline's record becomes nested pairs of name and parameters."""
    record = record_of(PLAIN)

    name, children = serialized(record.agent_connectors)

    assert name == "AgentConnectorPipeline"
    assert children[0] == ("ObsPreprocessorConnector", None)
    assert serialized(None) is None


def test_loading_runs_nothing_of_the_file(tmp_path):
    """A pickle that would write a file when loaded by pickle does not."""
    target = tmp_path / "written"

    class Evil:
        def __reduce__(self):
            return open, (str(target), "w")

    folder = tmp_path / "evil"
    folder.mkdir()
    (folder / "policy_state.pkl").write_bytes(pickle.dumps({"weights": Evil()}))
    (folder / "rllib_checkpoint.json").write_text(
        '{"type": "Policy", "checkpoint_version": "1.1"}', encoding="utf-8"
    )

    with pytest.raises(rlconnect.RlconnectError):
        Policy.from_checkpoint(folder)

    assert not target.exists()


def test_state_round_trips_for_a_policy_made_by_hand():
    """`from_state(get_state())` needs no checkpoint."""
    policy = Policy(Box(-1, 1, (3,)), Discrete(2), {"seed": 3, "model": {"fcnet_hiddens": [8]}})

    twin = Policy.from_state(policy.get_state())

    obs = np.ones((2, 3), np.float32)
    for name, value in policy.compute_actions(obs, explore=False)[2].items():
        assert np.allclose(value, twin.compute_actions(obs, explore=False)[2][name], atol=1e-6)
