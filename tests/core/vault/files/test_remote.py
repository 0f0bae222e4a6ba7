"""Checkpoints behind a URL are fetched within limits and read like local ones."""

import sys
from pathlib import Path

import numpy as np
import pytest
from rlconnect.core.errors import (
    CheckpointError,
    CheckpointNotFoundError,
    LimitExceededError,
    MissingExtraError,
    NotACheckpointError,
    UnsafeCheckpointError,
)
from rlconnect.core.vault import Limits, open_checkpoint, save_records
from rlconnect.core.vault.files.remote import _local_name, is_url

fsspec = pytest.importorskip("fsspec")
RECORDINGS = Path(__file__).parents[3] / "golden/recordings"
OLD = RECORDINGS / "legacy/2.7.2/ppo_pendulum_norm_meanstd/algo_checkpoint"
WORKER = RECORDINGS / "legacy/2.0.1/ppo_cartpole_meanstd/algo_checkpoint"


@pytest.fixture
def memory():
    """An empty in-memory file system."""
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    yield system
    system.store.clear()


def upload(system, folder, name):
    """Copy a local folder to the memory file system."""
    for file in folder.rglob("*"):
        if file.is_file():
            system.pipe_file(f"/{name}/{file.relative_to(folder).as_posix()}", file.read_bytes())


@pytest.mark.parametrize("folder", [OLD, WORKER, RECORDINGS / "new/2.60.0-algo_pkl"])
def test_remote_equals_local(memory, folder):
    """The records behind a URL are those of the local folder, but for the path."""
    upload(memory, folder, "run/ck")

    remote, local = open_checkpoint("memory://run/ck"), open_checkpoint(folder)

    assert remote.path == "memory://run/ck"
    assert (remote.kind, remote.version, remote.algorithm) == (
        local.kind,
        local.version,
        local.algorithm,
    )
    for name, record in local.acting.items():
        assert {k: v.shape for k, v in remote.acting[name].weights.items()} == {
            k: v.shape for k, v in record.weights.items()
        }


def test_single_worker_file(memory):
    """A URL may name the one file of the oldest format."""
    upload(memory, WORKER, "run")

    assert open_checkpoint("memory://run/checkpoint-0").version == "0.1"


def test_own_format_stays_readable(memory, tmp_path):
    """Weights of our own format can be read after the local copy is gone."""
    save_records(tmp_path / "own", open_checkpoint(OLD))
    upload(memory, tmp_path / "own", "own")

    weights = open_checkpoint("memory://own").policies["default_policy"].weights

    expected = open_checkpoint(OLD).policies["default_policy"].weights
    for name in expected:
        np.testing.assert_array_equal(weights[name], expected[name])


@pytest.mark.parametrize("url", ["memory://nothing/here", "file:///no/such/folder"])
def test_missing_remote(memory, url):
    """Nothing behind a URL is a missing checkpoint."""
    with pytest.raises(CheckpointNotFoundError, match="nothing that could be read"):
        open_checkpoint(url)


def test_errors_name_the_url(memory):
    """What is wrong is told of the URL, not of the local copy."""
    memory.pipe_file("/odd/notes.json", b"{}")

    with pytest.raises(NotACheckpointError, match="memory://odd"):
        open_checkpoint("memory://odd")


@pytest.mark.parametrize("limits", [Limits(max_entries=1), Limits(max_file_bytes=100)])
def test_remote_is_bounded_before_fetching(memory, limits, monkeypatch):
    """Too many or too large files are refused before a byte is copied."""
    upload(memory, OLD, "run")
    monkeypatch.setattr(type(memory), "open", lambda *a, **k: pytest.fail("fetched"))

    with pytest.raises(LimitExceededError):
        open_checkpoint("memory://run", limits=limits)


def test_a_listing_without_end_is_left_off(memory, monkeypatch):
    """Folders are asked for one by one, and no further than a checkpoint goes."""
    asked = []
    listing = type(memory).ls

    def ls(self, path, *args, **kwargs):
        asked.append(path)
        return listing(self, path, *args, **kwargs)

    for number in range(50):
        memory.pipe_file(f"/run/a{number}/policy_state.pkl", b"x")
    monkeypatch.setattr(type(memory), "ls", ls)

    with pytest.raises(LimitExceededError, match="more than 60 files"):
        open_checkpoint("memory://run", limits=Limits(max_entries=60))
    assert len(asked) < 20


@pytest.mark.parametrize("name", ["root/../../etc/x.pkl", "root/a/../../x.json", "root/x\0.pkl"])
def test_names_stay_inside(name):
    """A listing cannot make files outside of our folder."""
    with pytest.raises(UnsafeCheckpointError):
        _local_name(name, "root")


def test_unknown_protocol():
    """A file system nobody knows is an error that says so, in the first line of its own words."""
    with pytest.raises(CheckpointError, match="cannot be read") as caught:
        open_checkpoint("nosuchthing://bucket/x")

    assert "Protocol not known: nosuchthing" in caught.value.found


@pytest.mark.parametrize(("words", "told"), [("denied\nat line 3", "denied"), ("", "")])
def test_a_file_system_that_fails_is_quoted(memory, monkeypatch, words, told):
    """The first line of what it says, even if that is nothing."""
    memory.pipe_file("/run/policy_state.pkl", b"x")

    def fail(*args, **kwargs):
        raise PermissionError(words)

    monkeypatch.setattr(type(memory), "walk", fail)
    with pytest.raises(CheckpointError, match="cannot be read") as caught:
        open_checkpoint("memory://run")

    assert caught.value.found == f"PermissionError: {told}"


def test_without_fsspec(monkeypatch):
    """Without the extra the error names it."""
    monkeypatch.setitem(sys.modules, "fsspec.core", None)

    with pytest.raises(MissingExtraError, match="fsspec") as caught:
        open_checkpoint("s3://bucket/x")

    assert "rlconnect[remote]" in caught.value.hint


@pytest.mark.parametrize(
    ("path", "expected"),
    [("s3://b/k", True), ("simplecache::s3://b", True), ("C:\\a", False), ("a/b", False)],
)
def test_is_url(path, expected):
    """Local paths of any system are not taken for URLs."""
    assert is_url(path) is expected


def test_a_file_larger_than_its_listing_is_not_fetched_whole(memory, monkeypatch):
    """A server may say one size and send another; the limit holds for what comes."""
    memory.pipe("/run/policy_state.pkl", bytes(10_000))
    told = {"policy_state.pkl": {"name": "/run/policy_state.pkl", "size": 10}}
    monkeypatch.setattr(type(memory), "walk", lambda *a, **k: iter([("/run", {}, told)]))

    with pytest.raises(LimitExceededError, match="larger than its listing"):
        open_checkpoint("memory://run", limits=Limits(max_file_bytes=1000))
