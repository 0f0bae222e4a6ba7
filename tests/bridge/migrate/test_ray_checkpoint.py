"""Migrated policies as Ray's own new-stack checkpoints."""

import json
import os
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from rlconnect.bridge import load_triple, plan_migration, to_ray
from rlconnect.bridge.proof.verify import staged
from rlconnect.core.vault.save_manifest import SAVE_MANIFEST
from rlconnect.v2 import RLModule

from tests.bridge.migrate import ray_table
from tests.bridge.migrate.networks import POLICIES, policy_of
from tests.bridge.migrate.ray_table import EPISODES, courses_of, differences, old_answers
from tests.legacy.replay import GOLDEN, Recording

ALONE = [
    "2.0.1/ppo_cartpole_meanstd",
    "2.7.2/ppo_pendulum_norm_meanstd",
    "2.60.0/ppo_dict_obs_flat",
    "2.7.2/ppo_free_log_std",
    "2.7.2/dqn_c51",
    "2.40.0/dqn_dueling_double",
    "2.7.2/ppo_rlmodule",
]
BESIDE = ["2.7.2/ppo_lambda_connectors", "2.7.2/ppo_lstm_prev", "2.7.2/sac_cont"]
RECORDED = GOLDEN.parent / "migrate" / "ray_answers.npz"
RAY = os.environ.get("RLC_RAY_PYTHON", "")


@cache
def plan_of(name):
    """The migration of a recorded policy, which nobody changes."""
    recording = Recording(GOLDEN / "legacy" / name)
    return ray_table.plan_of(recording, recording.policy_ids[0])


def write_for_ray(root, names):
    """A checkpoint for Ray of each case, with what to ask it."""
    plans = {name.replace("/", "-"): plan_of(name) for name in names}
    for name, plan in plans.items():
        ray_table.write_case(plan, Path(root) / name)
    return plans


def asked(root):
    """What a real Ray answers to all cases."""
    alone, beside = Path(root) / "alone", Path(root) / "beside"
    write_for_ray(alone, ALONE)
    write_for_ray(beside, BESIDE)
    answers = ray_table.ask(RAY, alone, with_us=False)
    return answers | ray_table.ask(RAY, beside, with_us=True)


def hold(answers):
    """Ray's answers are the source's."""
    for name in [*ALONE, *BESIDE]:
        plan = plan_of(name)
        wanted = old_answers(plan, courses_of(plan))

        assert differences(name.replace("/", "-"), wanted, answers) == "", name


@pytest.mark.skipif(not RAY, reason="RLC_RAY_PYTHON names no interpreter with Ray")
def test_ray_answers_as_the_source(tmp_path):
    """Real Ray loads module and pipelines, and gives the outputs, values and actions."""
    hold(asked(tmp_path))


def test_ray_answered_as_the_source():
    """The same from Ray 2.60's recorded answers, where there is no Ray."""
    with np.load(RECORDED) as answers:
        hold(dict(answers))


@pytest.mark.parametrize("name", ["2.7.2/ppo_pendulum_norm_meanstd", *BESIDE])
def test_our_own_readers_load_what_is_written_for_ray(name, tmp_path):
    """The folder acts here as the source, whether or not Ray alone opens it."""
    plan = plan_of(name)
    to_ray(plan, tmp_path / "ray")
    wanted = old_answers(plan, courses_of(plan))["action"]

    found = staged(load_triple(tmp_path / "ray"))
    for step, seen in enumerate(zip(*courses_of(plan), strict=True)):
        made = found.step(list(range(EPISODES)), list(seen), None if step == 0 else [0.0] * 3)
        acted = np.reshape(made["action"], (EPISODES, -1))

        np.testing.assert_allclose(acted, wanted[step], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "faces", "code"),
    [
        ("2.7.2/ppo_lambda_connectors", ("LegacyAgentConnectorV2",), ("HalveObs",)),
        ("2.7.2/ppo_lstm_prev", ("LegacyPolicyModule", "AddPreviousSteps"), ()),
        ("2.7.2/sac_cont", ("SquashGreedyActions",), ()),
        ("2.7.2/dqn_c51", (), ()),
    ],
)
def test_what_ray_lacks_is_named(name, faces, code, tmp_path):
    """The export says what has to be beside Ray, to the caller and in its own folder."""
    needs = to_ray(plan_of(name), tmp_path / "ray")

    told = json.loads((tmp_path / "ray" / "ray.json").read_text(encoding="utf-8"))
    assert set(faces) <= set(needs.faces)
    assert set(code) <= set(needs.code)
    assert told["words"] == str(needs)
    assert ("Ray alone" in str(needs)) == (not faces)


def test_what_ray_alone_can_load_names_nothing_of_ours(tmp_path):
    """No pickle of such an export has rlconnect in it."""
    to_ray(plan_of("2.0.1/ppo_cartpole_meanstd"), tmp_path / "ray")

    named = [
        path.name for path in (tmp_path / "ray").rglob("*.pkl") if b"rlconnect" in path.read_bytes()
    ]

    assert named == []


def test_pickles_name_the_faces_and_nothing_else_of_ours(tmp_path):
    """What stands in for what Ray lacks is named by the room that Ray finds it in."""
    to_ray(plan_of("2.7.2/ppo_lstm_prev"), tmp_path / "ray")

    held = b"".join(path.read_bytes() for path in (tmp_path / "ray").rglob("*.pkl"))

    assert b"rlconnect.ray_pieces" in held
    assert held.count(b"rlconnect.") == held.count(b"rlconnect.ray_pieces")


def test_the_module_alone_can_be_written(tmp_path):
    """SAC's best actions need a piece of ours, its module does not."""
    plan = plan_of("2.7.2/sac_cont")

    to_ray(plan, tmp_path / "ray", only_module=True)
    module = RLModule.from_checkpoint(tmp_path / "ray" / "rl_module")

    assert "qf_encoder_joins_inputs" not in module.model_config
    assert module.inference_only
    assert sorted(path.name for path in (tmp_path / "ray").iterdir()) == [
        "rl_module",
        SAVE_MANIFEST,
    ]


def test_a_filter_that_ray_computes_otherwise_stays_ours(tmp_path):
    """Of fewer than two observations Ray's filter has another variance."""
    policy = policy_of(POLICIES["own value net"])
    policy.config["observation_filter"] = "MeanStdFilter"

    needs = to_ray(plan_migration(policy).apply(), tmp_path / "ray")

    assert needs.faces == ("MeanStdFilter",)


if __name__ == "__main__":  # RLC_RAY_PYTHON=... python -m ... FOLDER records RECORDED anew
    np.savez_compressed(RECORDED, **asked(sys.argv[1]))
