"""A save is whole, equal for equal data, easy to diff, and never harms what is not ours."""

import contextlib
import difflib
import errno
import hashlib
import json
import os
import resource
import shutil
import subprocess

import numpy as np
import pytest
from rlconnect.core.errors import CheckpointWriteError
from rlconnect.core.vault import atomic, writer
from rlconnect.core.vault.own_format import read_folder
from rlconnect.core.vault.writer import is_own, save_file, save_folder
from safetensors.numpy import load_file


def document(*, lr=0.001, fill=1.0, size=1000):
    return {
        "config": {"lr": lr, "hiddens": [256, 256], "gamma": 0.99},
        "weights": {"fc.weight": np.full(size, fill, np.float32), "fc.bias": np.zeros(3)},
    }


def content(folder):
    return {name: (folder / name).read_bytes() for name in sorted(os.listdir(folder))}


def changed_lines(old, new):
    lines = difflib.unified_diff(old.decode().split("\n"), new.decode().split("\n"), n=0)
    return [line for line in list(lines)[2:] if line[0] in "+-"]


@contextlib.contextmanager
def largest_file(size):
    """Let no file of this process grow beyond `size` bytes, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_folder_is_what_the_specification_says(tmp_path):
    """Any JSON reader and the safetensors library can read a save without our code."""
    save_folder(tmp_path / "a", document(), kind="policy", meta={"from": "there"})

    manifest = json.loads((tmp_path / "a" / "rlconnect.json").read_text())
    tree = json.loads((tmp_path / "a" / "document.json").read_text())
    arrays = load_file(tmp_path / "a" / "arrays.safetensors")

    assert list(manifest)[:5] == ["format", "format_version", "checksum", "kind", "written_by"]
    assert (manifest["format"], manifest["format_version"]) == ("rlconnect", 1)
    assert (manifest["kind"], manifest["meta"]) == ("policy", {"from": "there"})
    assert manifest["parts"] == ["config", "weights"]
    assert set(manifest["files"]) == {"arrays.safetensors", "document.json"}
    for name, entry in manifest["files"].items():
        data = (tmp_path / "a" / name).read_bytes()
        assert entry == {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    assert tree["weights"]["fc.bias"] == {
        "$array": "weights/fc.bias",
        "dtype": "float64",
        "shape": [3],
    }
    np.testing.assert_array_equal(arrays["weights/fc.weight"], np.ones(1000, np.float32))


def test_manifest_checksum_is_of_itself_with_zeros(tmp_path):
    """The manifest vouches for its own text, in a way anyone can compute."""
    save_file(tmp_path / "a.json", document(), kind="policy")

    data = (tmp_path / "a.json").read_bytes()
    checksum = json.loads(data)["checksum"]

    assert hashlib.sha256(data.replace(checksum.encode(), b"0" * 64)).hexdigest() == checksum


@pytest.mark.parametrize("arrays", ["file", "inline"])
def test_equal_saves_are_equal_bytes(tmp_path, arrays):
    """Nothing of the moment, the place or the process goes into a file."""
    save_folder(tmp_path / "a", document(), kind="policy", arrays=arrays)
    save_folder(tmp_path / "b" / "c", document(), kind="policy", arrays=arrays)

    assert content(tmp_path / "a") == content(tmp_path / "b" / "c")


def test_a_date_is_written_only_on_request(tmp_path):
    """A save can carry a date, which its caller chooses."""
    save_folder(tmp_path / "a", {}, kind="policy")
    save_folder(tmp_path / "b", {}, kind="policy", created="2024-05-01T12:00:00Z")

    assert read_folder(tmp_path / "a").created is None
    assert read_folder(tmp_path / "b").created == "2024-05-01T12:00:00Z"


def test_one_changed_entry_is_one_changed_line(tmp_path):
    """A diff shows what changed: one line, and the checksums of the files it is in."""
    save_folder(tmp_path / "a", document(lr=0.001), kind="policy")
    save_folder(tmp_path / "b", document(lr=0.002), kind="policy")

    old, new = content(tmp_path / "a"), content(tmp_path / "b")

    assert changed_lines(old["document.json"], new["document.json"]) == [
        '-    "lr": 0.001,',
        '+    "lr": 0.002,',
    ]
    assert old["arrays.safetensors"] == new["arrays.safetensors"]
    moved = changed_lines(old["rlconnect.json"], new["rlconnect.json"])
    assert sorted(line.split(":")[0].strip("+- ") for line in moved) == [
        *['"checksum"'] * 2,
        *['"sha256"'] * 2,
    ]


def test_changed_numbers_leave_the_structure_alone(tmp_path):
    """New weights of the same shapes change the array file and its checksum only."""
    save_folder(tmp_path / "a", document(fill=1.0), kind="policy")
    save_folder(tmp_path / "b", document(fill=2.0), kind="policy")

    old, new = content(tmp_path / "a"), content(tmp_path / "b")

    assert old["document.json"] == new["document.json"]
    assert old["arrays.safetensors"] != new["arrays.safetensors"]


def test_inline_folder_is_one_file(tmp_path):
    """With inline arrays everything stands in the manifest."""
    save_folder(tmp_path / "a", document(), kind="policy", arrays="inline")

    assert os.listdir(tmp_path / "a") == ["rlconnect.json"]
    assert read_folder(tmp_path / "a").document["weights"]["fc.bias"].tolist() == [0, 0, 0]


def test_only_small_arrays_move_inline_on_request(tmp_path):
    """A caller may have small arrays readable and large ones in their file."""
    save_folder(tmp_path / "a", document(), kind="policy", inline_up_to=3)

    assert list(load_file(tmp_path / "a" / "arrays.safetensors")) == ["weights/fc.weight"]


@pytest.mark.parametrize("without_exchange", [False, True])
def test_a_save_replaces_an_older_one(tmp_path, monkeypatch, without_exchange):
    """The new checkpoint is there, whole, and nothing of the old one or of the work is left."""
    if without_exchange:
        monkeypatch.setattr(atomic, "exchange", lambda first, second: False)
    save_folder(tmp_path / "a", document(fill=1.0), kind="policy")
    save_folder(tmp_path / "a", {"only": 1}, kind="module")

    assert read_folder(tmp_path / "a").document == {"only": 1}
    assert sorted(os.listdir(tmp_path / "a")) == ["document.json", "rlconnect.json"]
    assert os.listdir(tmp_path) == ["a"]


def test_a_link_at_the_path_is_followed(tmp_path):
    """`latest -> run_7` stays a link, and `run_7` is replaced."""
    save_folder(tmp_path / "run_7", {"n": 1}, kind="policy")
    (tmp_path / "latest").symlink_to("run_7")

    save_folder(tmp_path / "latest", {"n": 2}, kind="policy")

    assert (tmp_path / "latest").is_symlink()
    assert read_folder(tmp_path / "run_7").document == {"n": 2}


@pytest.mark.parametrize(
    ("prepare", "match"),
    [
        (lambda at: at.write_text("mine"), "a file lies there"),
        (lambda at: [at.mkdir(), (at / "thesis.txt").write_text("mine")], r"\(thesis\.txt\)"),
        (lambda at: [at.mkdir(), (at / "document.json").write_text("mine")], "did not write"),
        (
            lambda at: [save_folder(at, {}, kind="x"), (at / "notes.md").write_text("mine")],
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
        lambda folder: [flush(folder), (tmp_path / "a" / "notes.md").write_text("mine")],
    )

    with pytest.raises(CheckpointWriteError, match=r"notes\.md"):
        save_folder(tmp_path / "a", {"n": 2}, kind="policy")

    assert (tmp_path / "a" / "notes.md").read_text() == "mine"
    assert read_folder(tmp_path / "a").document == {"n": 1}


def test_an_empty_folder_may_be_filled(tmp_path):
    """An empty folder holds nothing to lose."""
    (tmp_path / "a").mkdir()

    save_folder(tmp_path / "a", {"n": 1}, kind="policy", overwrite=False)

    assert read_folder(tmp_path / "a").document == {"n": 1}


def test_overwrite_false_keeps_the_old_one(tmp_path):
    """A caller may ask that nothing is ever replaced."""
    save_folder(tmp_path / "a", {"n": 1}, kind="policy")
    save_file(tmp_path / "a.json", {"n": 1}, kind="policy")

    with pytest.raises(CheckpointWriteError, match="a checkpoint lies there"):
        save_folder(tmp_path / "a", {"n": 2}, kind="policy", overwrite=False)
    with pytest.raises(CheckpointWriteError, match="a checkpoint lies there"):
        save_file(tmp_path / "a.json", {"n": 2}, kind="policy", overwrite=False)

    assert read_folder(tmp_path / "a").document == {"n": 1}
    assert read_folder(tmp_path / "a.json").document == {"n": 1}


def test_single_file_is_replaced_only_if_ours(tmp_path):
    """One JSON file follows the same rules as a folder."""
    (tmp_path / "mine.json").write_text('{"mine": 1}')
    save_file(tmp_path / "ours.json", {"n": 1}, kind="policy")

    save_file(tmp_path / "ours.json", {"n": 2}, kind="policy")
    with pytest.raises(CheckpointWriteError, match="did not write the file"):
        save_file(tmp_path / "mine.json", {"n": 2}, kind="policy")
    with pytest.raises(CheckpointWriteError, match="a folder lies there"):
        save_file(tmp_path, {"n": 2}, kind="policy")

    assert read_folder(tmp_path / "ours.json").document == {"n": 2}
    assert (tmp_path / "mine.json").read_text() == '{"mine": 1}'
    assert sorted(os.listdir(tmp_path)) == ["mine.json", "ours.json"]


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


@pytest.mark.parametrize("name", ["mkdir", "rename", "open", "makedirs", "listdir"])
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


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_we_may_not_write_is_a_typed_error(tmp_path):
    """A read-only parent folder is said in two lines."""
    tmp_path.chmod(0o500)

    with pytest.raises(CheckpointWriteError, match="permission denied"):
        save_folder(tmp_path / "a", {"new": 1}, kind="policy")


def test_a_path_through_a_file_is_a_typed_error(tmp_path):
    """A parent that is a file, or a name too long for the disk, is said in two lines."""
    (tmp_path / "file").write_text("mine")

    with pytest.raises(CheckpointWriteError, match=r"(?s)not a directory|file exists"):
        save_folder(tmp_path / "file" / "a", {"new": 1}, kind="policy")
    with pytest.raises(CheckpointWriteError, match=r"(?s)name too long.*shorter name"):
        save_folder(tmp_path / ("x" * 250), {"new": 1}, kind="policy")


def test_what_cannot_be_read_back_is_not_written(tmp_path):
    """Structure beyond the reader's default limits is refused when it is written."""
    with pytest.raises(CheckpointWriteError, match="too large to be read back"):
        save_file(tmp_path / "a.json", {"w": np.zeros(2_600_000, np.int8)}, kind="policy")
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


def test_is_own_looks_at_the_first_lines_only(tmp_path):
    """Ours is told from other folders and files without reading them."""
    save_folder(tmp_path / "a", {"n": 1}, kind="policy")
    save_file(tmp_path / "a.json", {"n": 1}, kind="policy")
    (tmp_path / "b.json").write_text('{"n": 1}')

    assert is_own(tmp_path / "a")
    assert is_own(tmp_path / "a.json")
    assert not is_own(tmp_path / "b.json")
    assert not is_own(tmp_path)
    assert not is_own(tmp_path / "nowhere")
