"""Every recorded checkpoint acts as the Ray that wrote it did, connector by connector."""

import json
import re

import numpy as np
import pytest
from rlconnect.core.errors import ConfigError
from rlconnect.legacy import Policy, local_policy_inference

from tests.legacy.frame_stacking import MODELS, FrameStacking
from tests.legacy.replay import (
    GOLDEN,
    NUMBERS,
    SHARED,
    UNTOLD,
    Recording,
    batch_outputs,
    folders,
    gap,
    leaves,
    named,
    nested,
    rollout,
    tapped,
)

CASES = folders(GOLDEN / "legacy")
ELSEWHERE = folders(SHARED / "legacy")


def names(paths):
    return [f"{path.parent.name}/{path.name}" for path in paths]


def check_rollout(recording, policy_id):
    """Step a policy through a recording and hold all that was recorded of it."""
    policy = recording.load(policy_id, custom_models=MODELS)
    kept = tapped(policy, recording, policy_id)
    is_early = recording.release < (2, 1)  # records of another form then
    stages = [*recording.stages(policy_id, "agent"), *recording.stages(policy_id, "action")]
    wanted = {stage: recording.rows(policy_id, stage) for stage in [*stages, "out"]}
    compared = 0
    for step, output in rollout(policy, recording, policy_id):
        found = {**kept, "out": named(output)}
        for stage in ["out"] if is_early else [*(s for s in stages if s in kept), "out"]:
            for path, rows in wanted[stage].items():
                if step not in rows or NUMBERS.search(path) or UNTOLD.search(path):
                    continue
                where = f"{recording.name} step {step} {stage} {path}"
                assert path in found[stage], f"{where} is missing"
                why = gap(rows[step], found[stage][path], is_batched=is_early)
                assert not why, f"{where}: {why}"
                compared += 1
    assert compared > 2 * recording.meta["policies"][policy_id]["num_steps"]


def check_batch(recording, policy_id):
    """Hold what a policy answers to the recorded batch; whether there is one."""
    policy = recording.load(policy_id, custom_models=MODELS)
    output = batch_outputs(policy, recording, policy_id)
    if output is None:
        return False
    found = named(output)
    for path, want in recording.batch(policy_id, "batch_out").items():
        why = gap(want, found[path.split("@")[0]])
        assert not why, f"{recording.name} batch {path}: {why}"
    return True


def check_sequences(recording, policy_id):
    """Hold the outputs and states for padded sequences; whether there are some."""
    want = recording.batch(policy_id, "seq_out")
    if not want:
        return False
    policy = recording.load(policy_id)
    given = {k: v[:15] for k, v in recording.batch(policy_id, "batch_in").items()}
    given = {k: v[:3] if k.startswith("state_in") else v for k, v in given.items()}
    given["seq_lens"] = want["seq_lens"]
    _, states, fetches = policy.compute_actions_from_input_dict(nested(given), explore=False)
    found = {
        "logits": fetches["action_dist_inputs"],
        "value": fetches["vf_preds"],
        **{f"state_out.#{index}": part for index, part in enumerate(states)},
    }
    for path, part in found.items():
        why = gap(want[path], part)
        assert not why, f"{recording.name} sequences {path}: {why}"
    return True


@pytest.mark.parametrize("folder", CASES, ids=names(CASES))
def test_a_recorded_policy_acts_as_its_ray_did(folder):
    """Each connector's output, the policy's, and the pipelines' are the recorded ones."""
    recording = Recording(folder)

    for policy_id in recording.policy_ids:
        assert recording.is_rollout_true(policy_id)
        check_rollout(recording, policy_id)


@pytest.mark.parametrize("folder", CASES, ids=names(CASES))
def test_a_recorded_batch_gets_the_recorded_answers(folder):
    """A batch of columns gets the recorded actions, states and fetches."""
    recording = Recording(folder)

    held = [check_batch(recording, policy_id) for policy_id in recording.policy_ids]

    assert all(held) or re.search("rlmodule|adapt", recording.name)  # of which Ray recorded none


@pytest.mark.parametrize("release", ["2.2.0", "2.7.2"])
def test_padded_sequences_get_the_recorded_answers(release):
    """An LSTM runs over whole sequences, padding included, as Ray's does."""
    recording = Recording(GOLDEN / "legacy" / release / "ppo_lstm_prev")

    assert check_sequences(recording, "default_policy")


@pytest.mark.parametrize("part", ["algo_checkpoint", "policy_checkpoint"])
def test_both_folders_of_a_policy_hold_the_same_policy(part):
    """A policy folder and the algorithm folder that holds it give one and the same policy."""
    recording = Recording(GOLDEN / "legacy" / "2.7.2" / "ppo_multiagent")

    found = {
        policy_id: Policy.from_checkpoint(path)
        for policy_id in recording.policy_ids
        for path in [recording.folder / part / ("policies" if part[0] == "a" else "") / policy_id]
    }

    for policy_id, policy in found.items():
        twin = recording.load(policy_id)
        steps = zip(
            rollout(policy, recording, policy_id), rollout(twin, recording, policy_id), strict=True
        )
        for (_, mine), (_, its) in steps:
            for path, value in named(its).items():
                assert np.array_equal(value, named(mine)[path])


def check_truth(folder):
    """Hold a checkpoint against the outputs known of its weights."""
    truth = json.loads((folder / "truth" / "truth.json").read_text(encoding="utf-8"))
    for policy_id, policy in Policy.from_checkpoint(folder / "checkpoint", None).items():
        with np.load(folder / "truth" / f"{policy_id}.npz") as held:
            known = dict(held)
        for row, raw in enumerate(known["obs/x"]):
            obs = raw.item() if raw.ndim == 0 else raw
            ((action, _, fetches),) = local_policy_inference(policy, "e", "a", obs, explore=False)
            policy.agent_connectors.reset("e")
            found = {
                "logits": fetches["action_dist_inputs"],
                "value": fetches["vf_preds"],
                "env_action/x" if "env_action/x" in known else "action/x": action,
            }
            for name, value in found.items():
                limit = truth["tolerance"] * np.abs(known[name]).max()
                apart = np.abs(value - known[name][row]).max()
                assert apart <= limit, (folder.name, policy_id, name, row)


@pytest.mark.parametrize("name", ["ppo-tf-v1.0", "ppo-tf2-v1.0", "ppo-torch-v0.1"])
def test_checkpoints_of_upstreams_own_tests_act(name):
    """TensorFlow's weights, by name or as a list, and a file of 2022 act as real Ray would."""
    check_truth(GOLDEN / "compat" / name)


@pytest.mark.skipif(not (SHARED / "wild").is_dir(), reason="the shared recordings are not here")
def test_a_checkpoint_from_the_wild_acts():
    """A stranger's policy, pickled on another Python, gives the outputs real Ray gives."""
    check_truth(SHARED / "wild" / "old-ppo-continuous-ray253")


def test_a_users_model_acts_as_recorded_once_supplied():
    """Without the class, loading names it; with it, the recorded outputs come (above)."""
    recording = Recording(GOLDEN / "legacy" / "2.7.2" / "ppo_framestack_view")

    with pytest.raises(ConfigError, match="legacy_framestack") as caught:
        recording.load("default_policy")

    assert "layer1.weight  (24, 28)  float32" in str(caught.value)
    assert caught.value.model == "legacy_framestack"
    policy = recording.load("default_policy", custom_models=MODELS)
    assert isinstance(policy.model, FrameStacking)


def test_a_policy_of_ray_1_tells_what_it_lacks():
    """A file without spaces and config gives no policy, but says what its weights are."""
    with pytest.raises(ConfigError, match="lost its spaces") as caught:
        Policy.from_checkpoint(GOLDEN / "wild" / "ray14-torch-noconfig" / "checkpoint")

    assert "model.0.weight (64, 300)" in str(caught.value)


def test_leaves_and_nests_are_reverses():
    """The recordings' spelling of nests loses nothing but lists."""
    nest = {"a": (np.arange(2), {"b": np.zeros(1)}), "c": np.ones(3)}

    again = nested(dict(leaves(nest)))

    assert list(again) == ["a", "c"]
    assert isinstance(again["a"], tuple)
    assert again["a"][1]["b"].shape == (1,)


@pytest.mark.slow
@pytest.mark.skipif(not ELSEWHERE, reason="the shared recordings are not here")
@pytest.mark.parametrize("release", sorted({path.parent.name for path in ELSEWHERE}))
def test_all_shared_recordings_act_as_recorded(release):
    """The wider set of recordings, where it lies beside the repository."""
    for folder in (path for path in ELSEWHERE if path.parent.name == release):
        recording = Recording(folder)
        for policy_id in recording.policy_ids:
            if recording.custom_model(policy_id) not in {None, *MODELS}:
                with pytest.raises(ConfigError, match=recording.custom_model(policy_id)):
                    recording.load(policy_id)
                continue
            if recording.is_rollout_true(policy_id):
                check_rollout(recording, policy_id)
            if not recording.is_noisy:
                check_batch(recording, policy_id)
                check_sequences(recording, policy_id)
