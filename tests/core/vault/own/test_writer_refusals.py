"""A save that cannot be made harms nothing, and says in two lines why."""

import contextlib
import errno
import os
import shutil
import subprocess

import numpy as np
import pytest
from rlconnect.core.errors import CheckpointWriteError
from rlconnect.core.vault.own import atomic, writer
from rlconnect.core.vault.own.own_format import read_folder
from rlconnect.core.vault.own.writer import save_file, save_folder

from .own_checkpoints import content, document

resource = pytest.importorskip("resource")


@contextlib.contextmanager
def largest_file(size):
    """Let no file of this process grow beyond `size` bytes, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(
    ("prepare", "match"),
    [
        (lambda at: at.write_text("mine", encoding="utf-8"), "a file lies there"),
        (
            lambda at: [at.mkdir(), (at / "thesis.txt").write_text("mine", encoding="utf-8")],
            r"\(thesis\.txt\)",
        ),
        (
            lambda at: [at.mkdir(), (at / "document.json").write_text("mine", encoding="utf-8")],
            "did not write",
        ),
        (
            lambda at: [
                save_folder(at, {}, kind="x"),
                (at / "notes.md").write_text("mine", encoding="utf-8"),
            ],
            r"\(notes\.md\)",
        ),
    ],
    ids=["file", "foreign folder", "folder without manifest", "ours with foreign file"],
)
def test_what_is_not_ours_is_never_replaced(tmp_path, prepare, match):
    """Whatever else lies at the path is refused by name and left exactly as it was."""
    prepare(tmp_path / "a")
    before = content(tmp_path / "a") if (tmp_path / "a").is_dir() else b"mine"

    with pytest.raises(CheckpointWriteError, match=match) as caught:
        save_folder(tmp_path / "a", {"n": 1}, kind="policy")

    assert caught.value.hint
    assert os.listdir(tmp_path) == ["a"]
    now = content(tmp_path / "a") if (tmp_path / "a").is_dir() else b"mine"
    assert now == before


def test_foreign_files_that_come_during_the_save_are_kept(tmp_path, monkeypatch):
    """The folder is looked at again right before it is replaced."""
    save_folder(tmp_path / "a", {"n": 1}, kind="policy")
    flush = atomic.flush_folder
    monkeypatch.setattr(
        atomic,
        "flush_folder",
        lambda folder: [
            flush(folder),
            (tmp_path / "a" / "notes.md").write_text("mine", encoding="utf-8"),
        ],
    )

    with pytest.raises(CheckpointWriteError, match=r"notes\.md"):
        save_folder(tmp_path / "a", {"n": 2}, kind="policy")

    assert (tmp_path / "a" / "notes.md").read_text(encoding="utf-8") == "mine"
    assert read_folder(tmp_path / "a").document == {"n": 1}


@pytest.mark.parametrize(
    ("limit", "document"),
    [
        (50_000, {"weights": {"w": np.ones(100_000)}}),
        (50_000, {"text": "x" * 100_000}),
        (300, {"n": 1}),
    ],
    ids=["arrays", "document", "manifest"],
)
def test_a_full_disk_leaves_the_old_one(tmp_path, limit, document):
    """Writing that the disk refuses in any file ends in one error; the old save is untouched."""
    save_folder(tmp_path / "a", {"old": 1}, kind="policy")

    with pytest.raises(CheckpointWriteError, match="file too large") as caught, largest_file(limit):
        save_folder(tmp_path / "a", document, kind="policy")

    assert caught.value.code == errno.EFBIG
    assert len(str(caught.value).split("\n")) == 2
    assert read_folder(tmp_path / "a").document == {"old": 1}
    assert os.listdir(tmp_path) == ["a"]


def test_a_disk_without_space_says_so(tmp_path):
    """On a real disk of one megabyte the error says what to do, and space is given back."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = shutil.which("mount")
    mount = [str(command), "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if command is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this user cannot mount a small disk")
    try:
        save_folder(disk / "a", {"old": np.ones(40_000)}, kind="policy")
        with pytest.raises(CheckpointWriteError, match="no space left on device") as caught:
            save_folder(disk / "a", {"new": np.ones(400_000)}, kind="policy")
        with pytest.raises(CheckpointWriteError, match="no space left on device"):
            save_folder(disk / "a", {"new": "x" * 4_000_000}, kind="policy")

        assert "free some space" in caught.value.hint
        assert read_folder(disk / "a").document["old"].sum() == 40_000
        assert os.listdir(disk) == ["a"]
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
@pytest.mark.parametrize("call", range(1, 6))
@pytest.mark.parametrize("without_exchange", [False, True])
def test_a_flush_that_fails_leaves_the_old_one(tmp_path, monkeypatch, code, call, without_exchange):
    """Whichever flush the disk refuses, the last one after the swap too, the old save is back."""
    if without_exchange:
        monkeypatch.setattr(atomic, "exchange", lambda first, second: False)
    save_folder(tmp_path / "a", document(fill=1.0), kind="policy")
    before = content(tmp_path / "a")
    flush, calls = os.fsync, []

    def failing(descriptor):
        calls.append(descriptor)
        if len(calls) == call:
            raise OSError(code, os.strerror(code))
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(CheckpointWriteError) as caught:
        save_folder(tmp_path / "a", document(fill=2.0), kind="policy")

    assert caught.value.code == code
    assert content(tmp_path / "a") == before
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("name", ["mkdir", "rename", "open", "listdir"])
def test_permission_denied_is_a_typed_error(tmp_path, monkeypatch, name):
    """Whichever call is not permitted, one error says where, and the old save is untouched."""
    monkeypatch.setattr(atomic, "exchange", lambda first, second: False)
    save_folder(tmp_path / "a", {"old": 1}, kind="policy")

    def denied(*args, **kwargs):
        raise PermissionError(errno.EACCES, "denied")

    with monkeypatch.context() as patch:
        patch.setattr(os, name, denied)
        with pytest.raises(CheckpointWriteError, match="permission denied") as caught:
            save_folder(tmp_path / "a", {"new": 1}, kind="policy")

    assert "write permission" in caught.value.hint
    assert str(tmp_path / "a") in str(caught.value)
    assert read_folder(tmp_path / "a").document == {"old": 1}


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="root may write everywhere")
def test_a_folder_we_may_not_write_is_a_typed_error(tmp_path):
    """A read-only parent folder is said in two lines."""
    tmp_path.chmod(0o500)

    with pytest.raises(CheckpointWriteError, match="permission denied"):
        save_folder(tmp_path / "a", {"new": 1}, kind="policy")


def test_a_path_through_a_file_is_a_typed_error(tmp_path):
    """A parent that is a file, or a name too long for the disk, is said in two lines."""
    (tmp_path / "file").write_text("mine", encoding="utf-8")

    with pytest.raises(CheckpointWriteError, match=r"(?s)not a directory|file exists"):
        save_folder(tmp_path / "file" / "a", {"new": 1}, kind="policy")
    with pytest.raises(CheckpointWriteError, match=r"(?s)name too long.*shorter name"):
        save_folder(tmp_path / ("x" * 250), {"new": 1}, kind="policy")


def test_what_cannot_be_read_back_is_not_written(tmp_path):
    """Structure beyond the reader's default limits is refused when it is written."""
    with pytest.raises(CheckpointWriteError, match="too large to be read back"):
        save_file(tmp_path / "a.json", {"w": np.full(2_600_000, "a")}, kind="policy")
    with pytest.raises(CheckpointWriteError, match="parts of a checkpoint need names"):
        save_folder(tmp_path / "a", {1: 2}, kind="policy")
    with pytest.raises(CheckpointWriteError, match="kind=5: expected plain text, found int"):
        save_folder(tmp_path / "a", {}, kind=5)

    assert os.listdir(tmp_path) == []


def test_an_interrupt_leaves_the_old_one(tmp_path, monkeypatch):
    """Ctrl-C during a save is passed on, and cleans up."""
    save_folder(tmp_path / "a", {"old": 1}, kind="policy")

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(writer, "save_arrays", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save_folder(tmp_path / "a", document(), kind="policy")

    assert read_folder(tmp_path / "a").document == {"old": 1}
    assert os.listdir(tmp_path) == ["a"]
