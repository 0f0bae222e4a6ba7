"""Files are opened inside their folder, and the folder stays the one that was opened."""

import pytest
from rlconnect.core.errors import CheckpointNotFoundError, LimitExceededError
from rlconnect.core.vault.own.checked_folder import CheckedFolder


def test_a_replaced_folder_is_still_read(tmp_path):
    """Once open, the same folder is read on, although another one took its place."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "n").write_text("old", encoding="utf-8")
    with CheckedFolder(tmp_path / "a") as folder:
        assert not folder.is_replaced()
        (tmp_path / "a").rename(tmp_path / "b")
        assert folder.is_replaced()
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "n").write_text("new", encoding="utf-8")

        assert folder.is_replaced()
        assert folder.read("n", 10) == b"old"
        assert folder.content("n", 10) == b"old"


def test_sizes_are_known_before_reading(tmp_path):
    """A file larger than allowed is not read; an empty one is no trouble."""
    (tmp_path / "large").write_bytes(b"x" * 100)
    (tmp_path / "empty").write_bytes(b"")
    with CheckedFolder(tmp_path) as folder:
        assert folder.size("large") == 100
        with pytest.raises(LimitExceededError, match="at most 99 bytes, found 100"):
            folder.read("large", 99)
        with pytest.raises(LimitExceededError, match="large is too large"):
            folder.content("large", 99)
        assert folder.read("empty", 99) == b""
        assert folder.content("empty", 99) == b""


def test_a_missing_folder_is_not_found(tmp_path):
    """A folder that is not there is said to be nowhere."""
    with pytest.raises(CheckpointNotFoundError, match="nothing lies at"):
        CheckedFolder(tmp_path / "a")
