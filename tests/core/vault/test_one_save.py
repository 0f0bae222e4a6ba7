"""What is read of a folder is of one save, although somebody saves to it meanwhile."""

import os

import pytest
from rlconnect.core.errors import CheckpointError, CorruptCheckpointError
from rlconnect.core.vault.one_save import of_one_save, read_as_one
from rlconnect.core.vault.own.atomic import replaced_folder
from rlconnect.core.vault.save_manifest import read_manifest

from .saved_trees import labels, save


def test_a_folder_replaced_while_it_is_read_is_read_again(tmp_path):
    """The first reading met two saves; what comes back is all of the newer one."""
    save(tmp_path / "x", "old")
    seen = []

    def read(kept):
        first = labels(tmp_path / "x" / "a")
        if not seen:
            save(tmp_path / "x", "new")
        seen.append(first | labels(tmp_path / "x" / "b"))
        return seen[-1]

    assert read_as_one(tmp_path / "x", read) == {"new"}
    assert seen == [{"old", "new"}, {"new"}]


def test_an_error_of_a_reading_between_two_saves_is_none(tmp_path):
    """A file that went with the older save is looked for again in the newer one."""
    save(tmp_path / "x", "old")
    seen = []

    def read(kept):
        if not seen:
            seen.append(save(tmp_path / "x", "new", ending="msgpack"))
            return (tmp_path / "x" / "state.pkl").read_bytes()
        return labels(tmp_path / "x")

    assert read_as_one(tmp_path / "x", read) == {"new"}


def test_a_folder_that_never_rests_is_told(tmp_path):
    """After several tries the error says what goes on and what to do; its cause is chained."""
    save(tmp_path / "x", "old")

    def read(kept):
        save(tmp_path / "x", "new")
        raise ValueError("torn")

    with pytest.raises(CheckpointError, match="replaced while it was read") as caught:
        read_as_one(tmp_path / "x", read)

    assert "read it again" in caught.value.hint
    assert isinstance(caught.value.__cause__, ValueError)


def test_folders_of_others_are_watched_as_well(tmp_path):
    """Without manifests it is the folder itself that tells."""
    (tmp_path / "x").mkdir()
    seen = []

    def read(kept):
        if not seen:
            with replaced_folder(tmp_path / "x") as folder:
                (folder / "new").write_text("", encoding="utf-8")
        seen.append(os.listdir(tmp_path / "x"))
        return seen[-1]

    assert read_as_one(tmp_path / "x", read) == ["new"]
    assert len(seen) == 2


def test_a_loader_is_not_begun_with_a_mixture(tmp_path):
    """A decorated loader checks its `path`, given by place or by name, once for all parts."""
    calls = []

    class Loader:
        @of_one_save
        def load(self, path, more=0):
            calls.append(str(path))
            if more:
                self.load(path / "a", more - 1)

    save(tmp_path / "x", "new")
    Loader().load(tmp_path / "x", 1)
    (tmp_path / "x" / "a" / "state.pkl").write_bytes(b"another")

    with pytest.raises(CorruptCheckpointError, match="a/state"):
        Loader().load(path=tmp_path / "x")
    assert calls == [str(tmp_path / "x"), str(tmp_path / "x" / "a")]


def test_the_older_folder_is_read_where_a_writer_died_between_two_renames(tmp_path):
    """Systems without an exchange leave the path empty; a loader is given where it lies now."""
    save(tmp_path / "x", "old")
    aside = tmp_path / ".x.old-0123456789ab"
    (tmp_path / "x").rename(aside)

    found = of_one_save(lambda path: (path, labels(path)))(tmp_path / "x")

    assert found == (aside, {"old"})
    save(tmp_path / "x", "new")
    assert os.listdir(tmp_path) == ["x"]
    assert read_manifest(tmp_path / "x")
