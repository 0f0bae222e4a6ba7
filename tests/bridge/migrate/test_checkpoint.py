"""Migrated policies as folders of the new stack, with their certificates."""

import json
import shutil

import numpy as np
import pytest
from rlconnect.bridge import (
    Actor,
    MigrationPlan,
    load_migrated,
    migrate,
    plan_migration,
    save_migrated,
    verify,
)
from rlconnect.bridge.migrate.checkpoint import compare_with_source
from rlconnect.bridge.migrate.standing import check_migration
from rlconnect.core.errors import (
    ConfigError,
    CorruptCheckpointError,
    MissingPartError,
    WeightsError,
)
from rlconnect.core.vault.files.reading import fingerprint_of
from rlconnect.v2 import RLModule

from tests.bridge.migrate.networks import POLICIES, policy_of
from tests.legacy.replay import GOLDEN, Recording


def source_of(name):
    return GOLDEN / "legacy" / name / "algo_checkpoint"


SOURCES = [
    "2.7.2/ppo_pendulum_norm_meanstd",
    "2.7.2/ppo_lstm_prev",
    "2.7.2/ppo_lambda_connectors",
    "2.7.2/dqn_c51",
    "2.7.2/sac_cont",
    "2.7.2/ppo_dict_obs_complex",
]


@pytest.fixture(scope="module", params=SOURCES)
def written(request, tmp_path_factory):
    """A recorded policy, its migration, and the folder where that is written."""
    policy = Recording(GOLDEN / "legacy" / request.param).load("default_policy")
    folder = tmp_path_factory.mktemp("written") / "v2"
    return policy, migrate(policy, folder), folder


def test_what_is_written_acts_as_the_source(written):
    """Native, wrapped or mixed: the folder loads, keeps its certificate, and equals the source."""
    policy, plan, folder = written

    migrated = load_migrated(folder, check=True)

    assert verify(migrated.triple, policy, samples=2, length=2).is_equal
    assert verify(policy, migrated.triple, samples=2, length=2).is_equal
    assert migrated.explore is plan.explore
    assert [step["name"] for step in migrated.migration["steps"]] == [s.name for s in plan.steps]


@pytest.mark.filterwarnings("ignore::rlconnect.bridge.actor.actor.SlowPieceWarning")
def test_an_actor_of_what_is_written_saves_what_loads(written, tmp_path):
    """Whatever stayed wrapped: saved, loaded and saved again, it acts the same."""
    first = Actor.from_checkpoint(written[2])
    first.save(tmp_path / "a")
    second = Actor.from_checkpoint(tmp_path / "a")
    second.save(tmp_path / "b")
    third = Actor.from_checkpoint(tmp_path / "b")

    first.observation_space.seed(0)
    for reward in (None, 0.5, -1.0):
        seen = first.observation_space.sample()
        wanted = first.act(seen, reward=reward)
        for actor in (second, third):
            np.testing.assert_array_equal(actor.act(seen, reward=reward), wanted)


def test_a_migration_half_way_can_be_written(tmp_path):
    """Old and new pieces together are saved as they stand."""
    plan = plan_migration(source_of("2.7.2/ppo_pendulum_norm_meanstd")).apply(until=2)

    save_migrated(plan, tmp_path / "v2")
    migrated = load_migrated(tmp_path / "v2", check=True)

    names = [type(piece).__name__ for piece in migrated.env_to_module.connectors]
    assert {"MeanStdFilter", "LegacyAgentConnectorV2"} <= set(names)


def test_the_learners_pipeline_comes_along(tmp_path):
    """Clipped rewards belong to learning, so they stand in the learner's pipeline."""
    migrate(source_of("2.7.2/ppo_pendulum_norm_meanstd"), tmp_path / "v2")

    from rlconnect.v2 import LearnerConnectorPipeline

    learner = LearnerConnectorPipeline.from_checkpoint(tmp_path / "v2" / "learner_connector")

    assert type(learner.connectors[0]).__name__ == "ClipRewards"
    assert learner.connectors[0].sign


def test_changed_weights_are_noticed(tmp_path):
    """The certificate tells that a module is not the one that was migrated."""
    migrate(policy_of(POLICIES["own value net"]), tmp_path / "v2")
    module = RLModule.from_checkpoint(tmp_path / "v2" / "rl_module")
    state = module.get_state()
    module.set_state({**state, "pi.net.mlp.0.bias": state["pi.net.mlp.0.bias"] + 0.1})
    module.save_to_path(tmp_path / "v2" / "rl_module")

    stages = compare_with_source(load_migrated(tmp_path / "v2"))

    assert {stage.name: stage.is_equal for stage in stages}["observation"]
    with pytest.raises(WeightsError, match="outputs"):
        load_migrated(tmp_path / "v2", check=True)


def test_a_folder_of_something_else_is_told(tmp_path):
    """A folder without a migration is refused by name."""
    with pytest.raises(CorruptCheckpointError, match="holds no migrated policy"):
        load_migrated(tmp_path)


def test_a_certificate_is_plain_json(tmp_path):
    """Anybody can read what the source made of which observations."""
    migrate(policy_of(POLICIES["own value net"]), tmp_path / "v2")

    held = json.loads((tmp_path / "v2" / "certificate.json").read_text(encoding="utf-8"))

    assert set(held) == {"observations", "steps"}


def test_without_a_folder_nothing_is_written(tmp_path, monkeypatch):
    """A dry run gives the plan, applied and proven."""
    monkeypatch.chdir(tmp_path)

    plan = migrate(policy_of(POLICIES["shared layers"]))

    assert plan.is_done
    assert not list(tmp_path.iterdir())
    with pytest.raises(ConfigError, match="'v2' or 'ray'"):
        migrate(plan.policy, to="tf")


def test_values_come_along(tmp_path):
    """The value branch moves with the policy, so learning can go on."""
    policy = policy_of(POLICIES["own value net"])
    migrate(policy, tmp_path / "v2")
    migrated = load_migrated(tmp_path / "v2")

    verdict = verify(migrated.triple, policy, samples=2, length=2)

    assert "value" in {stage.name for stage in verdict.stages}
    assert np.isfinite(max(stage.largest for stage in verdict.stages))


def test_no_file_of_a_migration_is_a_pickle(written):
    """Native, wrapped or mixed: JSON and safetensors, and nothing else."""
    _, _, folder = written

    files = [file for file in folder.rglob("*") if file.is_file()]
    assert {file.suffix for file in files} == {".json", ".safetensors"}
    held = json.loads((folder / "migration.json").read_text(encoding="utf-8"))
    assert held["not_kept"] == []
    assert "without_source" not in held


def test_folders_with_pickles_load_as_before(tmp_path):
    """What older releases wrote: RLlib's files, no source, fewer facts."""
    policy = policy_of(POLICIES["own value net"])
    plan = migrate(policy, tmp_path / "new")
    env_to_module, module, module_to_env = plan.triple()
    old = tmp_path / "old"
    env_to_module.save_to_path(old / "env_to_module_connector")
    module.save_to_path(old / "rl_module")
    module_to_env.save_to_path(old / "module_to_env_connector")
    shutil.copy(tmp_path / "new" / "certificate.json", old)
    said = {"policy": "default_policy", "source": "", "explore": True, "proof": {}, "steps": []}
    (old / "migration.json").write_text(json.dumps(said), encoding="utf-8")

    migrated = load_migrated(old, check=True)

    assert verify(migrated, policy, samples=1).is_equal
    with pytest.raises(
        MissingPartError, match=r"(?s)without the one it was made of.*OLD --out DIR"
    ):
        MigrationPlan.load(old)


def test_a_migration_goes_on_from_its_folder(tmp_path):
    """Half-way, by another process, in another place or in its own; done steps stay as they are."""
    source = tmp_path / "source"
    shutil.copytree(source_of("2.7.2/ppo_pendulum_norm_meanstd"), source)
    plan = plan_migration(source).apply(until=2)
    save_migrated(plan, tmp_path / "half")
    shutil.rmtree(source)

    again = migrate(tmp_path / "half", tmp_path / "whole", observation_space=None)
    migrate(tmp_path / "half", tmp_path / "half")

    assert again.is_done
    for name in ("half", "whole"):
        went = MigrationPlan.load(tmp_path / name)
        assert went.is_done
        assert [step.proof for step in went.steps[:3]] == [step.proof for step in plan.steps[:3]]
        assert [len(entry["applied"]) for entry in went.history] == [3, 9]
        assert verify(load_migrated(tmp_path / name, check=True), went.policy, samples=1).is_equal


def test_a_saved_migration_knows_where_it_came_from(tmp_path):
    """The old checkpoint's path and the checksum of its files, through every further save."""
    source = source_of("2.7.2/dqn_c51")
    save_migrated(plan_migration(source).apply(until=0), tmp_path / "a")
    save_migrated(MigrationPlan.load(tmp_path / "a").apply(), tmp_path / "b")

    origin = MigrationPlan.load(tmp_path / "b").origin

    assert origin == {"path": str(source), "checksum": fingerprint_of(source)}


def test_what_a_folder_asks_of_proofs_is_held_to_bounds(tmp_path):
    """A stranger's folder cannot ask for a billion episodes."""
    migrate(policy_of(POLICIES["own value net"]), tmp_path / "v2")
    file = tmp_path / "v2" / "migration.json"
    said = json.loads(file.read_text(encoding="utf-8"))
    said["proofs"]["samples"] = 10**9
    file.write_text(json.dumps(said), encoding="utf-8")

    with pytest.raises(CorruptCheckpointError, match="samples"):
        MigrationPlan.load(tmp_path / "v2")


def test_a_migration_is_checked_against_its_source(tmp_path):
    """Steps left, a changed number, an origin with other files: each is told."""
    source = tmp_path / "source"
    shutil.copytree(source_of("2.7.2/ppo_pendulum_norm_meanstd"), source)
    save_migrated(plan_migration(source).apply(), tmp_path / "v2")

    good = check_migration(tmp_path / "v2", samples=1)
    (source / "more").write_text("something", encoding="utf-8")
    changed = check_migration(tmp_path / "v2", samples=1)
    save_migrated(MigrationPlan.load(tmp_path / "v2").revert("network"), tmp_path / "v2")
    left = check_migration(tmp_path / "v2", samples=1)

    assert good.is_good
    assert (good.has_origin_changed, changed.has_origin_changed) == (False, True)
    assert (left.is_good, left.left, left.verdict.is_equal) == (False, ("network",), True)
