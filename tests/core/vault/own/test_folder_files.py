"""Files are plain ones of bounded size, and a folder that was replaced is told from the old one."""

import pytest
from rlconnect.core.errors import CheckpointNotFoundError, LimitExceededError, MissingPartError
from rlconnect.core.vault.own.manifest import file_of, is_replaced, save_at


def test_a_replaced_folder_is_told(tmp_path):
    """Another one in its place, or none, is another save."""
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "n").write_text("old", encoding="utf-8")
    before = save_at(folder, "n")

    assert not is_replaced(folder, "n", before)
    folder.rename(tmp_path / "b")
    assert is_replaced(folder, "n", before)
    folder.mkdir()
    (folder / "n").write_text("new", encoding="utf-8")
    assert is_replaced(folder, "n", before)


def test_sizes_are_known_before_reading(tmp_path):
    """A file larger than allowed is not read; an empty one is no trouble."""
    (tmp_path / "large").write_bytes(b"x" * 100)
    (tmp_path / "empty").write_bytes(b"")

    with pytest.raises(LimitExceededError, match="at most 99 bytes, found 100"):
        file_of(tmp_path, "large", 99)
    assert file_of(tmp_path, "large", 100) == b"x" * 100
    assert file_of(tmp_path, "empty", 99) == b""


def test_what_is_missing_is_told(tmp_path):
    """A file that is not there, a folder that is none, and one that is nowhere."""
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(MissingPartError, match="a is missing"):
        file_of(tmp_path, "a", 9)
    for name in ("file", "nowhere"):
        with pytest.raises(CheckpointNotFoundError, match="nothing lies at"):
            save_at(tmp_path / name, "n")
