"""Formats 0 and 0.1: one pickle inside another, by itself or in its folder."""

import pickle

import pytest
from rlconnect.core.errors import CorruptCheckpointError, NotACheckpointError
from rlconnect.core.vault import open_checkpoint

from .recorded import RECORDINGS, WORKER, copy_of, cut, policy_state


def write_worker(folder, worker, **beside):
    """A `checkpoint-3` file around a worker."""
    folder.mkdir()
    inner = worker if worker is None else pickle.dumps(worker)
    (folder / "checkpoint-3").write_bytes(pickle.dumps({"worker": inner, **beside}))
    return folder


def test_a_worker_file_is_an_algorithm(tmp_path):
    """Version, environment, policy and weights come from the pickle inside the pickle."""
    checkpoint = open_checkpoint(RECORDINGS / WORKER / "checkpoint-0")

    assert (checkpoint.kind, checkpoint.version) == ("algorithm", "0.1")
    assert checkpoint.algorithm == "SAC"
    assert len(checkpoint.policies["default_policy"].weights) == 26


def test_format_0_keeps_more_beside_the_worker(tmp_path):
    """What stands beside the worker makes it format 0: its counters are read."""
    worker = {
        "state": {"default_policy": policy_state(policy_spec=None)},
        "policy_specs": {"default_policy": policy_state()["policy_spec"]},
        "policy_config": {"env": "Taxi-v3", "framework": "torch"},
        "filters": {},
    }
    path = write_worker(tmp_path / "run", worker, train_exec_impl={"counters": {"steps": 9}})

    checkpoint = open_checkpoint(path)

    assert (checkpoint.version, checkpoint.environment) == ("0", "Taxi-v3")
    assert (checkpoint.counters, checkpoint.training_iteration) == ({"steps": 9}, 3)
    assert repr(checkpoint.policies["default_policy"].action_space) == "Discrete(4)"


def test_a_cut_worker_file_is_named(tmp_path):
    """A truncated file is an error that names it: there is nothing else to offer."""
    path = copy_of(WORKER, tmp_path)
    cut(path / "checkpoint-0")

    with pytest.raises(CorruptCheckpointError, match=r"^checkpoint-0: "):
        open_checkpoint(path)


@pytest.mark.parametrize("worker", [None, [1, 2], {}, {"state": {}}, {"state": 5}])
def test_a_pickle_of_something_else_is_refused(worker, tmp_path):
    """A file of the right name that holds no worker says what was expected and found."""
    path = write_worker(tmp_path / "run", worker)

    with pytest.raises(CorruptCheckpointError, match="is a pickle of something else"):
        open_checkpoint(path)


@pytest.mark.parametrize("name", ["best.pkl", "checkpoint", "checkpoint_000100", "checkpoint-best"])
def test_a_renamed_worker_file_is_read(name, tmp_path):
    """Its content tells what it is: as a file, and as the only one of its folder."""
    (tmp_path / "run").mkdir()
    file = tmp_path / "run" / name
    file.write_bytes((RECORDINGS / WORKER / "checkpoint-0").read_bytes())
    (tmp_path / "run" / "notes.txt").write_text("best so far", encoding="utf-8")

    for path in (file, file.parent):
        assert len(open_checkpoint(path).policies["default_policy"].weights) == 26


def test_two_renamed_worker_files_are_no_checkpoint(tmp_path):
    """Which one is meant is not guessed."""
    for name in ("a.pkl", "b.pkl"):
        (tmp_path / name).write_bytes((RECORDINGS / WORKER / "checkpoint-0").read_bytes())

    with pytest.raises(NotACheckpointError):
        open_checkpoint(tmp_path)
