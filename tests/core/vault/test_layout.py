"""Which files make a checkpoint is judged by what is there; errors say where to look instead."""

import os
import shutil
import sys

import numpy as np
import pytest
from rlconnect.core.errors import (
    CheckpointAccessError,
    CheckpointError,
    CheckpointNotFoundError,
    NotACheckpointError,
)
from rlconnect.core.vault import DEFAULT_LIMITS, open_checkpoint
from rlconnect.core.vault.layout import checkpoints_below, locate

from .recorded import (
    MULTI_AGENT,
    NEW_ALGORITHM,
    NEW_MODULE,
    PENDULUM,
    WORKER,
    copy_of,
    remove,
    rewrite,
    write_policy,
)


def roles(node):
    """The role of every node of a tree, by its path."""
    return {part.path.relative_to(node.path).as_posix(): part.role for part in node.walk()}


def test_an_algorithm_holds_policies(tmp_path):
    """An algorithm folder is a tree: itself, a plain folder, one node a policy."""
    path = copy_of(MULTI_AGENT, tmp_path)

    node = locate(path, DEFAULT_LIMITS)

    assert roles(node) == {
        ".": "algorithm",
        "policies": "folder",
        "policies/pol_0": "policy",
        "policies/pol_1": "policy",
    }
    assert node.state_file == path / "algorithm_state.pkl"


@pytest.mark.parametrize(
    ("name", "role"),
    [(PENDULUM, "algorithm"), (NEW_ALGORITHM, "algorithm"), (NEW_MODULE, "module")],
)
def test_json_is_advice(name, role, tmp_path):
    """A checkpoint that lost every JSON file is still what it was."""
    path = copy_of(name, tmp_path)
    for file in path.rglob("*.json"):
        file.unlink()

    assert locate(path, DEFAULT_LIMITS).role == role
    assert open_checkpoint(path).has_weights


@pytest.mark.parametrize(
    "state_file",
    [
        "/home/someone/results/algorithm_state.pkl",
        "C:\\Users\\someone\\results\\algorithm_state.pkl",
        "\\\\server\\share\\algorithm_state.pkl",
        "file:///mnt/x/algorithm_state.pkl",
        "algorithm_state",
        "../../../etc/passwd",
        "..",
        "",
        None,
        7,
        ["algorithm_state.pkl"],
    ],
)
def test_a_state_file_is_found_by_its_base_name(state_file, tmp_path):
    """Wherever the writer's disk had the file, this folder's own is read, and nothing outside."""
    path = copy_of(PENDULUM, tmp_path)
    rewrite(path / "rllib_checkpoint.json", state_file=state_file)

    checkpoint = open_checkpoint(path)

    assert (checkpoint.algorithm, checkpoint.problems) == ("PPO", ())
    assert checkpoint.training_iteration == 0


def test_a_state_file_of_another_name_is_read(tmp_path):
    """The JSON may name the state file otherwise; its base name is looked for in the folder."""
    path = write_policy(tmp_path / "policy")
    (path / "policy_state.pkl").rename(path / "my_state.pkl")
    (path / "rllib_checkpoint.json").write_text(
        '{"type": "Policy", "state_file": "C:\\\\runs\\\\my_state.pkl"}', encoding="utf-8"
    )

    assert list(open_checkpoint(path).policies) == ["policy"]


@pytest.mark.parametrize("text", ["{", "[1]", "\xff", "[" * 100_000, '{"a": 1e999}', "null"])
def test_a_broken_json_file_is_noted_and_passed_over(text, tmp_path):
    """A JSON file nobody can read costs a note, not the checkpoint."""
    path = copy_of(PENDULUM, tmp_path)
    (path / "rllib_checkpoint.json").write_text(text, encoding="latin-1")

    checkpoint = open_checkpoint(path)

    assert checkpoint.algorithm == "PPO"
    assert [(p.where, p.kind) for p in checkpoint.problems] in (
        [("rllib_checkpoint.json", "note")],
        [],  # infinite, but JSON to Python
    )


def test_a_folder_of_policies_is_a_checkpoint(tmp_path):
    """The `policies` folder copied alone opens by itself, each policy under its folder's name."""
    path = copy_of(MULTI_AGENT, tmp_path)

    checkpoint = open_checkpoint(path / "policies")

    assert checkpoint.kind == "policies"
    assert list(checkpoint.policies) == ["pol_0", "pol_1"]


def test_the_latest_of_several_worker_files_is_read(tmp_path):
    """`checkpoint-12` comes after `checkpoint-3`; either may be named by itself."""
    path = copy_of(WORKER, tmp_path)
    for number in (3, 12):
        shutil.copy(path / "checkpoint-0", path / f"checkpoint-{number}")

    assert open_checkpoint(path).files[0].name == "checkpoint-12"
    assert open_checkpoint(path / "checkpoint-3").files[0].name == "checkpoint-3"


def test_nothing_there_is_not_found(tmp_path):
    """A missing path names itself; it is also the FileNotFoundError one would expect."""
    with pytest.raises(CheckpointNotFoundError, match=r"nothing lies at .*nowhere") as caught:
        open_checkpoint(tmp_path / "nowhere")

    assert isinstance(caught.value, FileNotFoundError)
    assert "rlconnect scan" in caught.value.hint


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000])
def test_an_impossible_path_is_a_checkpoint_error(name, tmp_path):
    """What cannot even be a path is told so, not thrown about as a ValueError."""
    with pytest.raises(CheckpointError, match="cannot be"):
        open_checkpoint(f"{tmp_path}/{name}")


def test_an_empty_folder_is_no_checkpoint(tmp_path):
    """An empty folder is said to be empty, and what was expected is named."""
    with pytest.raises(NotACheckpointError, match="is an empty folder") as caught:
        open_checkpoint(tmp_path)

    assert "policy_state" in caught.value.hint


def test_a_folder_of_something_else_is_no_checkpoint(tmp_path):
    """Other people's files make no checkpoint; neither do a folder or a pipe of the right name."""
    (tmp_path / "notes.txt").write_text("hello", encoding="utf-8")
    (tmp_path / "policy_state.pkl").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "algorithm_state.pkl")

    with pytest.raises(NotACheckpointError, match="holds no checkpoint"):
        open_checkpoint(tmp_path)


def test_a_file_of_a_checkpoint_points_to_its_folder(tmp_path):
    """Passing one of its files is a likely slip: the hint gives the command that works."""
    path = copy_of(PENDULUM, tmp_path)

    for name in ("algorithm_state.pkl", "rllib_checkpoint.json"):
        with pytest.raises(NotACheckpointError, match="is a file") as caught:
            open_checkpoint(path / name)
        assert str(path) in caught.value.hint


def test_any_other_file_is_no_checkpoint(tmp_path):
    """A file that is none of a checkpoint's says which files are."""
    (tmp_path / "model.onnx").write_bytes(b"x")

    with pytest.raises(NotACheckpointError, match="is a file") as caught:
        open_checkpoint(tmp_path / "model.onnx")
    assert "policy_state" in caught.value.hint


@pytest.mark.parametrize("name", [PENDULUM, WORKER, NEW_ALGORITHM])
@pytest.mark.parametrize("level", ["", "trial_1"])
def test_a_tune_experiment_offers_its_checkpoints(name, level, tmp_path):
    """An experiment or trial folder is no checkpoint: its own are listed, to be copied."""
    source = copy_of(name, tmp_path)
    trial = tmp_path / "experiment" / "trial_1"
    wanted = [str(trial / "checkpoint_000001"), str(trial / "checkpoint_000002")]
    for target in wanted:
        shutil.copytree(source, target)
    (trial / "params.json").write_text("{}", encoding="utf-8")

    with pytest.raises(NotACheckpointError, match="but holds some") as caught:
        open_checkpoint(tmp_path / "experiment" / level)

    assert caught.value.checkpoints == wanted
    assert "rlconnect scan" in caught.value.hint


def test_checkpoints_below_a_folder_come_in_order(tmp_path):
    """What lies inside a checkpoint is not listed again; a folder of policies is one checkpoint."""
    for number in ("b", "a"):
        copy_of(MULTI_AGENT, tmp_path / "all" / number)
    write_policy(tmp_path / "all" / "deep" / "er" / "c")

    found = [
        path.relative_to(tmp_path / "all").as_posix()
        for path in checkpoints_below(tmp_path / "all", DEFAULT_LIMITS)
    ]

    assert found == ["a/checkpoint", "b/checkpoint", "deep/er"]


def test_a_link_to_its_own_folder_ends(tmp_path):
    """A folder that links to itself is walked once."""
    path = write_policy(tmp_path / "policy")
    (path / "policies").symlink_to(path, target_is_directory=True)

    assert list(open_checkpoint(path).policies) == ["policy"]


def deny(monkeypatch, function, denied):
    """Let a function of `os` refuse one path, as it would for another user."""
    original = getattr(os, function)

    def refuse(path, *args, **kwargs):
        if os.fspath(path) == os.fspath(denied):
            raise PermissionError(13, "Permission denied", os.fspath(path))
        return original(path, *args, **kwargs)

    monkeypatch.setattr(os, function, refuse)


def test_a_folder_nobody_may_list_is_an_access_error(tmp_path, monkeypatch):
    """No permission to list is told as that, with what to do."""
    path = copy_of(PENDULUM, tmp_path)
    deny(monkeypatch, "scandir", path)

    with pytest.raises(CheckpointAccessError, match="no permission to read") as caught:
        open_checkpoint(path)

    assert isinstance(caught.value, PermissionError)
    assert "ask its owner" in caught.value.hint


@pytest.mark.skipif(sys.version_info < (3, 11), reason="its pathlib took os.stat beforehand")
def test_a_folder_nobody_may_enter_is_an_access_error(tmp_path, monkeypatch):
    """No permission to look at the path at all is told the same way."""
    path = copy_of(PENDULUM, tmp_path)
    deny(monkeypatch, "stat", path)

    with pytest.raises(CheckpointAccessError, match="no permission to read"):
        open_checkpoint(path)


def test_a_file_nobody_may_read_costs_only_itself(tmp_path, monkeypatch):
    """One unreadable policy leaves the others; one unreadable lone policy is the error."""
    path = copy_of(MULTI_AGENT, tmp_path)
    secret = path / "policies/pol_1/policy_state.pkl"
    deny(monkeypatch, "open", secret)

    checkpoint = open_checkpoint(path)

    assert list(checkpoint.policies) == ["pol_0"]
    assert [problem.kind for problem in checkpoint.problems] == ["damaged"]
    assert "no permission" in checkpoint.problems[0].what
    with pytest.raises(CheckpointAccessError, match="no permission"):
        open_checkpoint(secret.parent)


def test_a_lost_folder_of_policies_is_named(tmp_path):
    """An algorithm without its policies says which file of which policy is gone."""
    path = copy_of(MULTI_AGENT, tmp_path)
    remove(path, "policies")

    checkpoint = open_checkpoint(path)

    assert [problem.where for problem in checkpoint.problems] == [
        "policies/pol_0/policy_state.pkl",
        "policies/pol_1/policy_state.pkl",
    ]


@pytest.mark.parametrize("place", ["aaa/PPO_0001/checkpoint_000003", "checkpoint_000003"])
@pytest.mark.parametrize("name", [NEW_ALGORITHM, NEW_MODULE, PENDULUM, MULTI_AGENT, WORKER])
def test_checkpoints_below_a_checkpoint_are_no_part_of_it(name, place, tmp_path):
    """An experiment below is told and listed, and what is read is the checkpoint's own."""
    path = copy_of(name, tmp_path)
    alone = open_checkpoint(path)
    below = [path / place, path / "zzz/PPO_0002/checkpoint_000001"]
    shutil.copytree(copy_of(NEW_ALGORITHM, tmp_path / "new"), below[0])
    shutil.copytree(copy_of(PENDULUM, tmp_path / "old"), below[1])

    found = open_checkpoint(path)

    for parts in ("policies", "modules"):
        held, wanted = getattr(found, parts), getattr(alone, parts)
        assert list(held) == list(wanted)
        for key, part in wanted.items():
            assert list(held[key].weights) == list(part.weights)
            assert all(np.array_equal(held[key].weights[n], a) for n, a in part.weights.items())
    assert [c.path for c in found.components] == [c.path for c in alone.components]
    assert list(checkpoints_below(path, DEFAULT_LIMITS)) == [path, *below]
    told = [problem.where for problem in found.problems if problem not in alone.problems]
    assert told == ([] if name == WORKER else [place.partition("/")[0], "zzz"])
