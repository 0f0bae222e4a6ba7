"""New-stack checkpoints that Ray wrote, acted by here, beside Ray's own answers."""

import os
import pickle
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from rlconnect.bridge import load_triple, migrate
from rlconnect.bridge.proof.verify import staged
from rlconnect.core.errors import CheckpointNotFoundError

from tests.bridge.migrate import ray_table
from tests.bridge.migrate.networks import POLICIES, policy_of
from tests.legacy.replay import GOLDEN

NEW = GOLDEN / "new"
RECORDED = GOLDEN.parent / "migrate" / "way_in.npz"
ALGORITHMS = ["2.60.0-algo_pkl", "2.60.0-algo_msgpack"]
STEPS, EPISODES = 4, 3


def observations():
    """Of CartPole, by step and episode."""
    rng = np.random.default_rng(11)
    return rng.uniform(-0.2, 0.2, (STEPS, EPISODES, 4)).astype(np.float32)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_rays_algorithms_act_as_in_ray(name):
    """Pipelines with their filter's statistics and the module: outputs and actions are Ray's."""
    stages = staged(load_triple(NEW / name))
    slots = list(range(EPISODES))
    with np.load(RECORDED) as file:
        answers = {key.split("|")[1]: file[key] for key in file if key.startswith(f"{name}|")}

    made = [
        stages.step(slots, list(seen), None if step == 0 else [0.0] * EPISODES)
        for step, seen in enumerate(observations())
    ]

    for stage in ("outputs", "value", "action"):
        found = np.stack([np.reshape(each[stage], (EPISODES, -1)) for each in made])
        np.testing.assert_allclose(found, answers[stage], rtol=1e-5, atol=1e-5, err_msg=stage)


def test_what_migrate_writes_is_read_too(tmp_path):
    """Both targets of a migration are new-stack checkpoints."""
    policy = policy_of(POLICIES["own value net"])
    migrate(policy, tmp_path / "v2")
    migrate(policy, tmp_path / "ray", to="ray")

    kinds = {type(load_triple(tmp_path / name)[1]).__name__ for name in ("v2", "ray")}

    assert kinds == {"DefaultPPOTorchRLModule"}


def test_a_folder_without_pipelines_is_told(tmp_path):
    """A module alone is no triple."""
    with pytest.raises(CheckpointNotFoundError, match="pipelines"):
        load_triple(NEW / "2.60.0-ppo_module")


if __name__ == "__main__":  # RLC_RAY_PYTHON=... python -m ... FOLDER records RECORDED anew
    root = Path(sys.argv[1])
    for name in ALGORITHMS:
        source, target = NEW / name, root / name
        learner = source / "learner_group" / "learner" / "rl_module" / "default_policy"
        shutil.copytree(learner, target / "rl_module")
        for part in ("env_to_module_connector", "module_to_env_connector"):
            shutil.copytree(source / "env_runner" / part, target / part)
        seen = [list(step) for step in observations()]
        (target / "asked.pkl").write_bytes(pickle.dumps(seen))
    answers = ray_table.ask(os.environ["RLC_RAY_PYTHON"], root, with_us=False)
    np.savez_compressed(RECORDED, **answers)
