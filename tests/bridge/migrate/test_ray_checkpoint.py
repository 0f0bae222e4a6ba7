"""Migrated policies as Ray's own new-stack checkpoints."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces
from rlconnect.bridge import MigrationPlan, plan_migration, to_ray
from rlconnect.bridge.proof.verify import staged
from rlconnect.core.batching import batch
from rlconnect.core.courses import sampled_courses
from rlconnect.core.errors import ConfigError
from rlconnect.core.vault.save_manifest import SAVE_MANIFEST
from rlconnect.legacy.stages import LegacyStages
from rlconnect.v2 import EnvToModulePipeline, ModuleToEnvPipeline, RLModule

from tests.bridge.migrate.networks import POLICIES, policy_of
from tests.legacy.replay import GOLDEN, Recording

CASES = [
    "2.0.1/ppo_cartpole_meanstd",
    "2.7.2/ppo_pendulum_norm_meanstd",
    "2.60.0/ppo_dict_obs_flat",
    "2.7.2/ppo_free_log_std",
    "2.7.2/dqn_c51",
    "2.40.0/dqn_dueling_double",
    "2.7.2/ppo_rlmodule",
]
RECORDED = GOLDEN.parent / "migrate" / "ray_answers.npz"
RAY = os.environ.get("RLCONNECT_RAY_PYTHON", "")
STEPS, EPISODES = 3, 3


def plan_of(name):
    recording = Recording(GOLDEN / "legacy" / name)
    return MigrationPlan(recording.load(recording.policy_ids[0]), samples=2).apply()


def courses_of(plan):
    """Random episodes, always the same ones."""
    space = plan.observation_space
    return sampled_courses(space, count=EPISODES, length=STEPS, seed=7, with_corners=False)


def old_answers(plan):
    """What the source makes of them by stage, `(steps, episodes, n)`."""
    stages = LegacyStages(plan.policy)
    slots = list(range(EPISODES))
    stages.reset(slots)
    found = {}
    for step, seen in enumerate(zip(*courses_of(plan), strict=True)):
        rewards = None if step == 0 else [0.0] * EPISODES
        made = stages.step(slots, list(seen), rewards)
        for name in ("outputs", "value", "action"):
            if name in made:
                found.setdefault(name, []).append(np.reshape(made[name], (EPISODES, -1)))
    return {name: np.stack(values) for name, values in found.items()}


def asked(plan):
    """The observations as arrays `(steps, episodes, ...)` by key."""
    steps = [batch(list(seen)) for seen in zip(*courses_of(plan), strict=True)]
    if not isinstance(plan.observation_space, spaces.Dict):
        return {"obs": np.stack(steps)}
    return {f"obs.{key}": np.stack([step[key] for step in steps]) for key in steps[0]}


def is_flat(plan):
    """Whether what it sees can be written as arrays by key."""
    space = plan.observation_space
    parts = space.spaces.values() if isinstance(space, spaces.Dict) else [space]
    return not any(isinstance(part, (spaces.Dict, spaces.Tuple)) for part in parts)


def write_for_ray(root):
    """A checkpoint for Ray of each case, with what to ask it."""
    plans = {}
    for name in CASES:
        plan = plan_of(name)
        if is_flat(plan):
            folder = Path(root) / name.replace("/", "-")
            to_ray(plan, folder)
            np.savez(folder / "asked.npz", **asked(plan))
            plans[folder.name] = plan
    return plans


def ask_ray(root, out):
    """Let a real Ray answer."""
    script = Path(__file__).with_name("ask_ray.py")
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": os.environ.get("HOME", "")}
    run = subprocess.run(
        [RAY, str(script), str(root), str(out)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]


def hold(plans, answers):
    """Ray's answers are the source's."""
    compared = 0
    for name, plan in plans.items():
        for stage, wanted in old_answers(plan).items():
            key = f"{name}|{stage}"
            if key in answers:
                where = f"{name} {stage}"
                np.testing.assert_allclose(answers[key], wanted, 1e-5, 1e-5, err_msg=where)
                compared += 1
    assert compared >= 2 * len(plans) > 8


@pytest.mark.skipif(not RAY, reason="RLCONNECT_RAY_PYTHON names no interpreter with Ray")
def test_ray_answers_as_the_source(tmp_path):
    """Real Ray loads module and pipelines, and gives the outputs, values and actions."""
    plans = write_for_ray(tmp_path / "cases")

    ask_ray(tmp_path / "cases", tmp_path / "answers.npz")

    with np.load(tmp_path / "answers.npz") as answers:
        hold(plans, dict(answers))


def test_ray_answered_as_the_source():
    """The same from Ray 2.60's recorded answers, where there is no Ray."""
    plans = {name.replace("/", "-"): plan_of(name) for name in CASES}

    with np.load(RECORDED) as answers:
        told = {key.split("|")[0] for key in answers}
        hold({name: plan for name, plan in plans.items() if name in told}, dict(answers))


def test_our_own_readers_load_what_is_written_for_ray(tmp_path):
    """The folder is one that `from_checkpoint` reads, and it acts as the source."""
    plan = plan_of("2.7.2/ppo_pendulum_norm_meanstd")
    to_ray(plan, tmp_path / "ray")

    triple = (
        EnvToModulePipeline.from_checkpoint(tmp_path / "ray" / "env_to_module_connector"),
        RLModule.from_checkpoint(tmp_path / "ray" / "rl_module"),
        ModuleToEnvPipeline.from_checkpoint(tmp_path / "ray" / "module_to_env_connector"),
    )
    found = staged(triple)
    for step, seen in enumerate(zip(*courses_of(plan), strict=True)):
        made = found.step(list(range(EPISODES)), list(seen), None if step == 0 else [0.0] * 3)
        wanted = old_answers(plan)["action"][step]

        np.testing.assert_allclose(made["action"], wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("2.7.2/ppo_lambda_connectors", "HalveObs"),
        ("2.7.2/ppo_lstm_prev", "LegacyPolicyModule"),
        ("2.7.2/sac_cont", "SquashGreedyActions"),
    ],
)
def test_what_ray_has_no_class_for_is_named(name, missing, tmp_path):
    """A part that only rlconnect has is refused by name, and nothing is written."""
    with pytest.raises(ConfigError, match=missing):
        to_ray(plan_of(name), tmp_path / "ray")

    assert not (tmp_path / "ray").exists()


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


def test_a_filter_that_ray_computes_otherwise_is_refused(tmp_path):
    """Of fewer than two observations Ray's filter has another variance."""
    policy = policy_of(POLICIES["own value net"])
    policy.config["observation_filter"] = "MeanStdFilter"

    with pytest.raises(ConfigError, match="fewer than two"):
        to_ray(plan_migration(policy).apply(), tmp_path / "ray")


if __name__ == "__main__":  # RLCONNECT_RAY_PYTHON=... python -m ... records RECORDED anew
    write_for_ray(sys.argv[1])
    ask_ray(sys.argv[1], RECORDED)
