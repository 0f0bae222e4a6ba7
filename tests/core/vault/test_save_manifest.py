"""The list of a save's files, and reading while a writer replaces the folder."""

import json
import os

import pytest
from rlconnect.core.errors import CheckpointError
from rlconnect.core.vault.own.atomic import replaced_folder
from rlconnect.core.vault.save_manifest import files_of_save, of_one_save, read_as_one

from .saved_trees import labels, save


def test_the_files_of_a_save_are_listed(tmp_path):
    """By path, in the JSON file at the top; files of the user's are not among them."""
    save(tmp_path / "x", "old", ("a",))
    (tmp_path / "x" / "notes.txt").write_text("mine", encoding="utf-8")

    save(tmp_path / "x", "new", ("b",))

    files = {"state.pkl", "class_and_ctor_args.pkl", "metadata.json"}
    assert files_of_save(tmp_path / "x") == files | {f"b/{name}" for name in files}


@pytest.mark.parametrize("data", [[], {"files": 3}, {"files": [3]}, "text"])
def test_an_odd_list_is_none(tmp_path, data):
    """A list that somebody changed is no error, and names no file."""
    save(tmp_path / "x", "old")
    file = tmp_path / "x" / "metadata.json"
    told = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**told, "ray_ignores": data}), encoding="utf-8")

    assert not files_of_save(tmp_path / "x")
    save(tmp_path / "x", "new", ending="msgpack")
    assert labels(tmp_path / "x") >= {"new"}


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


def test_the_older_folder_is_read_where_a_writer_died_between_two_renames(tmp_path):
    """Systems without an exchange leave the path empty; a loader is given where it lies now."""
    save(tmp_path / "x", "old")
    aside = tmp_path / ".x.old-0123456789ab"
    (tmp_path / "x").rename(aside)

    found = of_one_save(lambda path: (path, labels(path)))(tmp_path / "x")

    assert found == (aside, {"old"})
    save(tmp_path / "x", "new")
    assert os.listdir(tmp_path) == ["x"]
    assert files_of_save(tmp_path / "x")
