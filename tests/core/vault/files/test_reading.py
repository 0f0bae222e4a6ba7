"""Files are read whole, regular and bounded; errors say in two lines what stands in the way."""

import os
import pickle
from pathlib import Path

import pytest
from rlconnect.core.errors import (
    CheckpointAccessError,
    CheckpointError,
    CheckpointNotFoundError,
    CorruptCheckpointError,
    LimitExceededError,
    UnsafeCheckpointError,
)
from rlconnect.core.vault import Limits, open_checkpoint
from rlconnect.core.vault.decode.load_limits import Budget
from rlconnect.core.vault.files.reading import (
    access_error,
    base_name,
    entries,
    missing,
    part_of,
    read_bytes,
    read_head,
    read_json,
)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("state.pkl", "state.pkl"),
        ("/a/b/state.pkl", "state.pkl"),
        ("C:\\a\\state.pkl", "state.pkl"),
        ("a/b\\state.pkl", "state.pkl"),
        ("a/", "a"),
        ("", ""),
        ("..", ""),
        ("a/..", ""),
        ("/", ""),
        ("C:\\", ""),
        ("a\0b", ""),
        (None, ""),
        (b"state.pkl", ""),
    ],
)
def test_a_base_name_is_a_plain_name(text, name):
    """Whatever system wrote the path, only a plain name comes out, never a way out."""
    assert base_name(text) == name


def test_entries_come_sorted_and_bounded(tmp_path):
    """A folder is listed by name; more entries than any checkpoint has are refused."""
    for name in ("b", "a", "c"):
        (tmp_path / name).touch()

    assert [entry.name for entry in entries(tmp_path, Limits())] == ["a", "b", "c"]
    with pytest.raises(LimitExceededError, match="more than 2 files"):
        entries(tmp_path, Limits(max_entries=2))


def test_a_file_larger_than_allowed_is_not_read(tmp_path):
    """The size is looked at first."""
    (tmp_path / "big").write_bytes(b"x" * 100)

    assert len(read_bytes(tmp_path / "big", Limits(max_file_bytes=100))) == 100
    with pytest.raises(LimitExceededError, match="is 100 bytes"):
        read_bytes(tmp_path / "big", Limits(max_file_bytes=99))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_refused_without_waiting(tmp_path):
    """Reading a pipe could wait forever: it is refused."""
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(CorruptCheckpointError, match="not a regular file"):
        read_bytes(tmp_path / "pipe", Limits())


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (FileNotFoundError(2, "x"), CheckpointNotFoundError, "nothing lies at"),
        (NotADirectoryError(20, "x"), CheckpointNotFoundError, "nothing lies at"),
        (PermissionError(13, "x"), CheckpointAccessError, "no permission"),
        (OSError(5, "Input/output error"), CheckpointError, "input/output error"),
        (MemoryError(), CheckpointError, "memoryerror"),
        (ValueError("embedded null byte"), CheckpointNotFoundError, "cannot be a path"),
    ],
)
def test_access_errors_are_typed(error, kind, text, tmp_path):
    """Each way a system refuses a file has its own typed error."""
    found = access_error(tmp_path / "x", error)

    assert type(found) is kind
    assert text in found.summary


@pytest.mark.parametrize("text", ["", "[]", "3", "{", '{"a": }', "\ud83d"])
def test_json_that_is_no_object_is_refused(text, tmp_path):
    """Only a JSON object describes a checkpoint."""
    (tmp_path / "x.json").write_bytes(text.encode("utf-8", "surrogatepass"))

    with pytest.raises(CorruptCheckpointError, match=r"x\.json"):
        read_json(tmp_path / "x.json", Limits())


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' + "[" * 5000 + "]" * 5000 + "}"])
def test_json_nested_without_end_is_refused(text, tmp_path):
    """Depth is bounded, whether or not Python's own parser gives up first."""
    (tmp_path / "x.json").write_text(text, encoding="utf-8")

    with pytest.raises(LimitExceededError):
        read_json(tmp_path / "x.json", Limits())


def test_json_larger_than_allowed_is_refused(tmp_path):
    """JSON holds structure, so it has a bound of its own; a byte order mark is no damage."""
    (tmp_path / "x.json").write_text('{"a": 1}', encoding="utf-8-sig")

    assert read_json(tmp_path / "x.json", Limits()) == {"a": 1}
    with pytest.raises(LimitExceededError, match="is 11 bytes"):
        read_json(tmp_path / "x.json", Limits(max_json_bytes=4))


def test_a_missing_part_names_whole_and_part():
    """The error for a lacking part says what lacks what."""
    assert str(missing("policy 'a'", "its weights")).startswith("policy 'a' lacks its weights")


def test_a_link_is_followed_only_where_the_caller_named_it(tmp_path):
    """A file that a checkpoint holds must lie in it; a path of the caller's may be a link."""
    (tmp_path / "real").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "real")

    assert read_bytes(tmp_path / "link", Limits(), follow=True) == b"x"
    with pytest.raises(UnsafeCheckpointError, match=r"link in .* is a link"):
        read_bytes(tmp_path / "link", Limits())


def test_parts_do_not_lie_behind_links(tmp_path):
    """Neither a part nor a folder above it may be a link; the checkpoint's folder may."""
    (tmp_path / "real" / "a" / "b").mkdir(parents=True)
    (tmp_path / "named").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "link").symlink_to(tmp_path / "real" / "a")

    assert part_of(tmp_path / "named", "a/b").is_dir()
    with pytest.raises(UnsafeCheckpointError, match="is a link"):
        part_of(tmp_path / "named", "link/b")


@pytest.mark.skipif(not hasattr(os, "SEEK_HOLE"), reason="holes cannot be told here")
def test_a_file_of_holes_is_refused(tmp_path):
    """What lies nowhere on the disk is paid for as if it were made; a little of it is no matter."""
    for name, size in (("small", 1 << 22), ("large", 1 << 30)):
        with open(tmp_path / name, "wb") as file:
            file.write(b"x")
            file.truncate(size)

    budget = Budget(Limits(base_memory=0))
    assert len(read_bytes(tmp_path / "small", Limits(), budget=budget)) == 1 << 22
    assert budget.file_bytes < 1 << 20
    with pytest.raises(LimitExceededError, match="lacks on the disk"):
        read_bytes(tmp_path / "large", Limits())


def test_the_head_of_a_device_is_not_read():
    """A file that never ends is no file."""
    with pytest.raises(CorruptCheckpointError, match="not a regular file"):
        read_head(Path("/dev/zero"), 10)


def test_a_checkpoint_with_a_link_says_so(tmp_path):
    """The rest is read; what lies behind the link is named as not read."""
    (tmp_path / "elsewhere").mkdir()
    folder = tmp_path / "folder"
    (folder / "policies").mkdir(parents=True)
    (folder / "policies" / "b").symlink_to(tmp_path / "elsewhere")
    for name in ("a", "c"):
        (folder / "policies" / name).mkdir()
    state = folder / "policies" / "a" / "policy_state.pkl"
    state.write_bytes(pickle.dumps({"weights": {}}))
    (folder / "policies" / "c" / "policy_state.pkl").symlink_to(state)

    held = open_checkpoint(folder)

    told = " ".join(problem.what for problem in held.problems)
    assert "'b' is a link to a folder, which is not followed" in told
    assert "is a link, and could lead anywhere" in told
