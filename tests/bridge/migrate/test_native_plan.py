"""Migrating what is of the new stack already, and what cannot be."""

import numpy as np
import pytest
import rlconnect
from rlconnect.bridge import Actor, MigrationPlan, load_migrated, migrate, to_ray, verify
from rlconnect.bridge.migrate.standing import check_migration
from rlconnect.core.errors import CheckpointError, ConfigError, PieceError
from rlconnect.v2 import PPOConfig

from tests.bridge.migrate.networks import POLICIES, policy_of
from tests.legacy.replay import GOLDEN

MODULES = GOLDEN.parent / "module_checkpoints"
SOURCES = [
    GOLDEN / "new" / "2.60.0-algo_pkl",
    GOLDEN / "new" / "2.60.0-algo_msgpack",
    MODULES / "ppo_lstm",
    MODULES / "dqn",
    MODULES / "sac",
]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_what_is_written_is_the_same_policy(source, tmp_path):
    """No step, no pickle, a certificate that holds; and it can be migrated on and on."""
    plan = migrate(source, tmp_path / "a")
    again = migrate(tmp_path / "a", tmp_path / "b")

    assert plan.steps == again.steps == []
    assert plan.is_done
    for folder in (tmp_path / "a", tmp_path / "b"):
        load_migrated(folder, check=True)
        assert verify(source, folder, samples=2).is_equal
        assert check_migration(folder, samples=1).is_good
        assert {f.suffix for f in folder.rglob("*") if f.is_file()} == {".json", ".safetensors"}
    assert again.origin["path"] == str(source)
    assert "already" in str(plan)


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_its_parts_go_back_to_ray(source, tmp_path):
    """Module and pipelines; several at once are told to go one by one."""
    plan = migrate(source, tmp_path / "ray", to="ray")

    assert verify(source, tmp_path / "ray", samples=1).is_equal
    assert {"rl_module", "ray.json"} <= {each.name for each in (tmp_path / "ray").iterdir()}
    assert "RLModule.from_checkpoint" in str(plan)
    assert rlconnect.migrate(tmp_path / "ray", tmp_path / "again").is_done
    with pytest.raises(ConfigError, match="one by one"):
        to_ray({"a": plan}, tmp_path / "several")


def test_learning_goes_on_from_it(tmp_path):
    """A module of Ray's is as good a beginning as a migrated one."""
    migrate(MODULES / "ppo", tmp_path / "v2")

    config = PPOConfig().from_migrated(tmp_path / "v2")

    assert config.rl_module_spec.load_state_path == str(tmp_path / "v2" / "rl_module")


def test_every_output_can_be_migrated_or_says_why_not(tmp_path):
    """What migrate, Actor.save, load and export give."""
    policy = policy_of(POLICIES["own value net"])
    migrate(policy, tmp_path / "v2")
    migrate(policy, tmp_path / "ray", to="ray")
    actor = Actor.from_checkpoint(tmp_path / "v2")
    actor.save(tmp_path / "actor")

    for name in ("v2", "actor"):
        for source in (tmp_path / name, rlconnect.load(tmp_path / name)):
            out = tmp_path / "out"
            assert migrate(source, out).is_done
            assert verify(policy, out, samples=1).is_equal
    with pytest.raises(ConfigError, match="migrate the checkpoint that it was exported from"):
        migrate("examples/checkpoints/ppo-pendulum.onnx", allow_program=True)
    with pytest.raises(CheckpointError, match="migrate the old checkpoint again"):
        migrate(tmp_path / "ray")


def test_pipelines_alone_and_plans_without_steps_are_told():
    """There is no policy in the one, no plan to save of the other."""
    with pytest.raises(PieceError, match="holds no policy"):
        migrate(GOLDEN / "new" / "2.60.0-pipe")
    with pytest.raises(PieceError, match="no plan to save"):
        migrate(MODULES / "ppo").save("plan.json")


def test_changed_weights_are_noticed(tmp_path):
    """The certificate is of the policy as it was."""
    migrate(MODULES / "ppo", tmp_path / "v2")
    triple = load_migrated(tmp_path / "v2")
    state = triple.module.get_state()
    triple.module.set_state({name: np.asarray(each) + 0.1 for name, each in state.items()})
    plan = MigrationPlan.load(tmp_path / "v2")

    assert not verify(triple, plan.triple(), samples=1).is_equal


def test_proofs_are_drawn_as_asked():
    """How many observations, and which, is kept for the verdict; what is not said stays."""
    plan = migrate(SOURCES[0])

    assert plan.prove_on(samples=3, seed=7) is plan
    assert (plan.proofs["samples"], plan.proofs["seed"]) == (3, 7)
    plan.prove_on(samples=2, seed=None)
    assert (plan.proofs["samples"], plan.proofs["seed"]) == (2, 7)
