"""What a policy is saved as: everything, readable, the same bytes every time."""

import copy
import difflib
import json
import pickle

import numpy as np
import pytest
import rlconnect
from gymnasium.spaces import Box, Discrete
from rlconnect.core.errors import UnknownNameError
from rlconnect.legacy import (
    ConnectorContext,
    Policy,
    create_connectors_for_policy,
    export_policies,
    local_policy_inference,
)
from rlconnect.legacy.connectors.registry import _ADDED as REGISTERED
from rlconnect.legacy.policy.export import policy_record_of, policy_state
from safetensors.numpy import load_file

from tests.legacy.replay import (
    GOLDEN,
    LAMBDAS,
    Recording,
    batch_outputs,
    folders,
    leaves,
    named,
    rollout,
)
from tests.legacy.test_recordings import MODELS, names

CASES = folders(GOLDEN / "legacy")
PICKLE = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")


def everything(policy, recording, policy_id):
    """All that a policy answers to a recording, by step and path."""
    found = {
        f"{step} {path}": value
        for step, output in rollout(policy, recording, policy_id)
        for path, value in named(output).items()
    }
    answered = batch_outputs(policy, recording, policy_id)
    return {**found, **({} if answered is None else named(answered))}


def assert_equal_bits(want, got):
    assert list(want) == list(got)
    for path, value in want.items():
        assert value.dtype == got[path].dtype, path
        assert value.tobytes() == got[path].tobytes(), path


def states(policy):
    """What the connectors would save, leaf by leaf."""
    return dict(leaves([policy.agent_connectors.to_state(), policy.action_connectors.to_state()]))


def texts(folder):
    """The contents of a folder's files, by name."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("case", CASES, ids=names(CASES))
def test_an_exported_policy_acts_bit_for_bit_alike(case, tmp_path):
    """Export and load again change no bit of any output, in each of the three forms."""
    recording = Recording(case)
    options = {"custom_models": MODELS}
    for policy_id in recording.policy_ids:
        loaded = Policy.from_checkpoint(recording.folder / "algo_checkpoint", **options)[policy_id]
        twins = []
        for name, arrays in (("folder", "file"), ("inline", "inline"), ("a.json", "inline")):
            loaded.export_checkpoint(tmp_path / name, arrays=arrays)
            twins.append(Policy.from_checkpoint(tmp_path / name, **options))

        for again in twins:
            assert repr(again) == repr(loaded)
            assert_equal_bits(states(loaded), states(again))
            assert str(again.agent_connectors) == str(loaded.agent_connectors)
            assert str(again.action_connectors) == str(loaded.action_connectors)
        for each in (loaded, *twins):
            recording.adapted(each)
        assert_all_act_alike([loaded, *twins], recording, policy_id)


def assert_all_act_alike(policies, recording, policy_id):
    """The first, and others that hold what it holds, give the same bits."""
    wanted = everything(policies[0], recording, policy_id)
    for policy in policies[1:]:
        assert_equal_bits(policies[0].get_weights(), policy.get_weights())
        assert_equal_bits(wanted, everything(policy, recording, policy_id))


@pytest.mark.parametrize("case", CASES, ids=names(CASES))
def test_an_export_is_text_and_arrays(case, tmp_path):
    """No file of an export is a pickle; all but the one of arrays open as text."""
    recording = Recording(case)
    for policy_id in recording.policy_ids:
        policy = Policy.from_checkpoint(recording.folder / "algo_checkpoint", custom_models=MODELS)[
            policy_id
        ]

        policy.export_checkpoint(tmp_path / policy_id)

        for name, held in texts(tmp_path / policy_id).items():
            assert not held.startswith(PICKLE)
            if name.endswith(".safetensors"):
                continue
            text = held.decode("utf-8")
            assert max(map(len, text.splitlines())) < 20_000, name
            json.loads(text)


@pytest.mark.parametrize("case", CASES, ids=names(CASES))
def test_an_export_of_an_export_is_the_same(case, tmp_path):
    """Saved twice, or saved, loaded and saved, a policy gives the same bytes."""
    recording = Recording(case)
    for policy_id in recording.policy_ids:
        options = {"custom_models": MODELS}
        policy = Policy.from_checkpoint(recording.folder / "algo_checkpoint", **options)[policy_id]

        for name in ("first", "second"):
            policy.export_checkpoint(tmp_path / name)
        Policy.from_checkpoint(tmp_path / "first", **options).export_checkpoint(tmp_path / "third")

        assert texts(tmp_path / "first") == texts(tmp_path / "second")
        assert texts(tmp_path / "first") == texts(tmp_path / "third")


def load(name, **options):
    recording = Recording(GOLDEN / "legacy" / name)
    policy = next(
        iter(Policy.from_checkpoint(recording.folder / "algo_checkpoint", **options).values())
    )
    return policy, recording


def changed_lines(first, second):
    """Lines that `git diff` would show between two folders, beside those of the checksums."""
    one, two = texts(first), texts(second)
    assert list(one) == list(two)
    return [
        line
        for name in one
        if name not in {"rlconnect.json", "arrays.safetensors"}
        for line in difflib.unified_diff(
            one[name].decode().splitlines(), two[name].decode().splitlines(), n=0, lineterm=""
        )
        if not line.startswith(("---", "+++", "@@"))
    ]


def test_one_changed_connector_is_all_a_diff_shows(tmp_path):
    """Adding a connector changes the lines that name it, and no array but the certificate's."""
    policy, _ = load("2.7.2/ppo_pendulum_norm_meanstd")
    policy.export_checkpoint(tmp_path / "before")
    policy.agent_connectors.prepend(LAMBDAS["HalveObs"](ConnectorContext.from_policy(policy)))

    policy.export_checkpoint(tmp_path / "after")

    lines = changed_lines(tmp_path / "before", tmp_path / "after")
    assert lines
    assert all(line.startswith("+") for line in lines)
    assert len(lines) <= 5
    assert "HalveObs" in "".join(lines)
    before, after = (
        load_file(tmp_path / each / "arrays.safetensors") for each in ("before", "after")
    )
    assert before.keys() == after.keys()
    changed = [name for name in before if before[name].tobytes() != after[name].tobytes()]
    assert changed
    assert all("certificate" in name for name in changed)


def test_a_removed_connector_is_all_a_diff_shows(tmp_path):
    """Removing the clipping of rewards removes its lines."""
    policy, _ = load("2.7.2/ppo_pendulum_norm_meanstd")
    policy.export_checkpoint(tmp_path / "before")
    policy.agent_connectors.remove("ClipRewardAgentConnector")

    policy.export_checkpoint(tmp_path / "after")

    lines = changed_lines(tmp_path / "before", tmp_path / "after")
    assert lines
    assert all(line.startswith("-") for line in lines)
    assert "ClipRewardAgentConnector" in "".join(lines)


def test_filter_statistics_survive(tmp_path):
    """Counts, means and sums of squares of a filter are the saved ones, bit for bit."""
    policy, recording = load("2.7.2/ppo_pendulum_norm_meanstd")
    (source,) = (
        rlconnect.open_checkpoint(recording.folder / "algo_checkpoint")
        .policies["default_policy"]
        .filters
    )

    policy.export_checkpoint(tmp_path / "policy")

    (kept,) = rlconnect.open_checkpoint(tmp_path / "policy").policies["default_policy"].filters
    assert kept.count == source.count == (150,)
    assert kept.mean[0].tobytes() == source.mean[0].tobytes()
    assert kept.sum_of_squares[0].tobytes() == source.sum_of_squares[0].tobytes()
    assert (kept.demean, kept.destd, kept.clip) == (source.demean, source.destd, source.clip)


def test_exploration_timesteps_and_unknown_keys_survive(tmp_path):
    """Epsilon, the global timestep and what nobody described are there again."""
    policy, recording = load("2.40.0/dqn_dueling_double")
    source = rlconnect.open_checkpoint(recording.folder / "algo_checkpoint")
    record = source.policies["default_policy"]

    policy.export_checkpoint(tmp_path / "policy")

    kept = rlconnect.open_checkpoint(tmp_path / "policy").policies["default_policy"]
    assert record.global_timestep
    assert kept.global_timestep == record.global_timestep
    assert kept.exploration_state == record.exploration_state != {}
    assert {**kept.extra, "certificate": None} == {**record.extra, "certificate": None}
    again = Policy.from_checkpoint(tmp_path / "policy")
    assert again.get_exploration_state() == policy.get_exploration_state()
    assert again.num_grad_updates == policy.num_grad_updates


@pytest.mark.parametrize("name", ["ppo-tf-v1.0", "ppo-tf2-v1.0"])
def test_weights_of_tensorflow_are_exported_for_torch(name, tmp_path):
    """A TensorFlow policy is saved under torch's names and acts the same to the bit."""
    (policy,) = Policy.from_checkpoint(GOLDEN / "compat" / name / "checkpoint").values()
    policy.export_checkpoint(tmp_path / "policy")

    again = Policy.from_checkpoint(tmp_path / "policy")

    assert "_logits._model.0.weight" in again.get_weights()
    obs = np.eye(16, dtype=np.float32)
    _, _, want = policy.compute_actions(obs, explore=False)
    _, _, got = again.compute_actions(obs, explore=False)
    assert_equal_bits(want, got)


def test_running_episodes_are_not_exported(tmp_path):
    """What a policy remembers of episodes under way, under any ids, changes no saved pipeline."""
    policy, _ = load("2.7.2/ppo_lstm_prev")
    before = policy_record_of(policy)
    obs = np.zeros(5, np.float32)

    for env_id in ("env", 3, ("a", 1), object()):
        local_policy_inference(policy, env_id, "agent", obs, explore=False)

    after = policy_record_of(policy)
    assert after.agent_connectors == before.agent_connectors
    assert after.global_timestep == before.global_timestep + 4
    policy.export_checkpoint(tmp_path / "policy")


def test_several_policies_share_a_checkpoint(tmp_path):
    """`export_policies` keeps each policy under the id it is given; some can be picked out."""
    recording = Recording(GOLDEN / "legacy" / "2.7.2" / "ppo_multiagent")
    policies = Policy.from_checkpoint(recording.folder / "algo_checkpoint")

    export_policies({"left": policies["pol_0"], "pol_1": policies["pol_1"]}, tmp_path / "both")

    again = Policy.from_checkpoint(tmp_path / "both")
    assert list(again) == ["left", "pol_1"]
    assert list(Policy.from_checkpoint(tmp_path / "both", ["pol_1"])) == ["pol_1"]
    for mine, its, policy_id in (("left", "pol_0", "pol_0"), ("pol_1", "pol_1", "pol_1")):
        assert_equal_bits(
            everything(policies[its], recording, policy_id),
            everything(again[mine], recording, policy_id),
        )


def test_exporting_no_policy_is_refused(tmp_path):
    """An empty mapping is a mistake, and nothing is written."""
    with pytest.raises(rlconnect.RlconnectError, match="no policies"):
        export_policies({}, tmp_path / "none")

    assert not (tmp_path / "none").exists()


def test_a_policy_made_by_hand_is_saved_whole(tmp_path):
    """A policy that never was a checkpoint round-trips with fresh weights and default pieces."""
    policy = Policy(Box(-1, 1, (3,)), Discrete(4), {"seed": 1, "clip_rewards": True}, name="mine")
    create_connectors_for_policy(policy, policy.config)
    policy.export_checkpoint(tmp_path / "mine.json", arrays="inline")

    again = Policy.from_checkpoint(tmp_path / "mine.json")

    assert again.name == "mine"
    assert str(again.agent_connectors) == str(policy.agent_connectors)
    assert_equal_bits(policy.get_weights(), again.get_weights())


def test_a_policy_without_connectors_stays_so(tmp_path):
    """No pipelines are invented for a policy that was saved without."""
    policy = Policy(Box(-1, 1, (3,)), Discrete(4))

    state = policy_state(policy)

    assert state["connector_configs"] == {"agent": None, "action": None}


@pytest.mark.parametrize("case", CASES, ids=names(CASES))
def test_a_twin_acts_bit_for_bit_alike(case):
    """A pickled, a copied and a policy made from the state of another act as it does."""
    recording = Recording(case)
    for policy_id in recording.policy_ids:
        policy = recording.load(policy_id, custom_models=MODELS)
        twins = [
            pickle.loads(pickle.dumps(policy)),
            copy.deepcopy(policy),
            Policy.from_state(policy.get_state(), custom_models=MODELS),
        ]

        assert_all_act_alike([policy, *twins], recording, policy_id)


def test_a_copy_goes_on_with_running_episodes():
    """`copy.deepcopy` keeps states and histories, and the two no longer share them."""
    policy, _ = load("2.7.2/ppo_lstm_prev")
    observations = np.random.default_rng(0).normal(size=(8, 5)).astype(np.float32)
    for obs in observations[:4]:
        local_policy_inference(policy, "env", "agent", obs, reward=1.0, explore=False)

    twin = copy.deepcopy(policy)

    for obs in observations[4:]:
        ((*_, mine),) = local_policy_inference(policy, "env", "agent", obs, 1.0, explore=False)
        ((*_, its),) = local_policy_inference(twin, "env", "agent", obs, 1.0, explore=False)
        assert_equal_bits(mine, its)
    policy.reset_connectors("env")
    ((*_, afresh),) = local_policy_inference(policy, "env", "agent", obs, 1.0, explore=False)
    ((*_, its),) = local_policy_inference(twin, "env", "agent", obs, 1.0, explore=False)
    assert not np.array_equal(afresh["action_dist_inputs"], its["action_dist_inputs"])


def test_a_pickle_draws_the_same_random_numbers():
    """The random generator travels with a policy."""
    policy, _ = load("2.7.2/ppo_free_log_std")
    policy.seed(3)
    obs = np.zeros((4, 4), np.float32)
    policy.compute_actions(obs, explore=True)

    twin = pickle.loads(pickle.dumps(policy))

    mine, its = (p.compute_actions(obs, explore=True)[0] for p in (policy, twin))
    assert np.array_equal(mine, its)


def test_a_pickle_needs_the_lambdas_it_names(monkeypatch):
    """Where a lambda connector was not registered, unpickling names it."""
    policy, _ = load("2.7.2/ppo_lambda_connectors")
    held = pickle.dumps(policy)
    monkeypatch.delitem(REGISTERED, "HalveObs")

    with pytest.raises(UnknownNameError, match="HalveObs"):
        pickle.loads(held)


def test_set_state_brings_a_policy_to_anothers_state():
    """Weights, timesteps, exploration and connectors are taken over."""
    policy, recording = load("2.40.0/dqn_dueling_double")
    other = copy.deepcopy(policy)
    other.set_weights({name: part * 0 for name, part in other.get_weights().items()})
    other.agent_connectors.remove("ObsPreprocessorConnector")
    other.global_timestep = 0

    other.set_state(policy.get_state())

    assert other.global_timestep == policy.global_timestep
    assert other.get_exploration_state() == policy.get_exploration_state()
    assert_equal_bits(
        everything(policy, recording, "default_policy"),
        everything(other, recording, "default_policy"),
    )
