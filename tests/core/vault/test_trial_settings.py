"""Ray 1 saved no settings: they are found in the trial's folder, or told to be lost."""

import pickle
import shutil
from pathlib import Path

import pytest
from rlconnect.core.vault import open_checkpoint

TRIAL = Path(__file__).parents[2] / "golden" / "checkpoints" / "1.13.0-ppo_swish" / "trial"


@pytest.fixture
def trial(tmp_path):
    """A copy of a trial's folder, with a checkpoint in it."""
    return Path(shutil.copytree(TRIAL, tmp_path / "trial"))


def opened(trial):
    return open_checkpoint(trial / "checkpoint_000002")


@pytest.mark.parametrize("kept", ["params.pkl", "params.json"])
@pytest.mark.parametrize("moved", [False, True])
def test_settings_are_found_above_and_beside(trial, kept, moved):
    """Tune writes both files above a checkpoint; people carry one of them along with it."""
    for name in {"params.pkl", "params.json"} - {kept}:
        (trial / name).unlink()
    if moved:
        (trial / kept).rename(trial / "checkpoint_000002" / kept)

    checkpoint = opened(trial)

    (policy,) = checkpoint.policies.values()
    assert checkpoint.environment == "short"
    assert policy.model_config == {"fcnet_activation": "swish", "fcnet_hiddens": [6, 5]}
    assert checkpoint.problems == ()


def test_lost_settings_are_told(trial):
    """Weights and spaces are there without them, and what is lost is said."""
    (trial / "params.pkl").unlink()
    (trial / "params.json").unlink()

    checkpoint = opened(trial)

    assert [problem.what for problem in checkpoint.problems] == [
        "policy 'default_policy' has lost its config"
    ]
    assert len(checkpoint.policies["default_policy"].weights) == 16


def test_damaged_settings_are_told_and_the_other_file_is_read(trial):
    """A broken params.pkl is a problem by name; params.json says enough to act."""
    (trial / "params.pkl").write_bytes((trial / "params.pkl").read_bytes()[:40])

    checkpoint = opened(trial)

    assert [(problem.where, problem.kind) for problem in checkpoint.problems] == [
        ("params.pkl", "damaged")
    ]
    assert checkpoint.config["lr"] == 0.05


@pytest.mark.parametrize("content", [{"epochs": 3}, [1, 2], "text"])
def test_files_of_that_name_from_other_programs_are_left_alone(trial, content):
    """`params.pkl` is a common name: settings of a trial name an environment."""
    (trial / "params.json").unlink()
    (trial / "params.pkl").write_bytes(pickle.dumps(content))

    assert opened(trial).config == {}


def test_policies_of_several_agents_are_named_by_the_trial(tmp_path):
    """Where a file lacks its policies' specs, the trial's settings have spaces and own settings."""
    own = {"model": {"fcnet_hiddens": [4]}}
    players = {"left": (None, {"space": "discrete", "n": 3}, {"space": "discrete", "n": 2}, own)}
    settings = {"env": "pong", "gamma": 0.5, "multiagent": {"policies": players}}
    (tmp_path / "params.pkl").write_bytes(pickle.dumps(settings))
    inner = pickle.dumps({"state": {"left": {"weights": {}}}, "filters": {}})
    (tmp_path / "checkpoint-7").write_bytes(pickle.dumps({"worker": inner}))

    policy = open_checkpoint(tmp_path).policies["left"]

    assert (repr(policy.observation_space), repr(policy.action_space)) == (
        "Discrete(3)",
        "Discrete(2)",
    )
    assert policy.model_config == {"fcnet_hiddens": [4]}
    assert policy.config["gamma"] == 0.5
