"""A save's manifest tells mixtures and damage by name, and lets through what is the user's."""

import json
import os
import shutil

import pytest
from rlconnect.core.errors import CheckpointError, CorruptCheckpointError, MissingPartError
from rlconnect.core.vault import open_checkpoint
from rlconnect.core.vault.own.atomic import replaced_folder
from rlconnect.core.vault.save_manifest import (
    KEY,
    SAVE_MANIFEST,
    _checksum,
    check_save,
    forget_save,
    of_one_save,
    read_as_one,
    read_manifest,
)
from rlconnect.core.vault.saved_tree import replaced_tree

from .saved_trees import labels, save, write_formerly, write_part


def test_a_whole_save_is_let_through(tmp_path):
    """Its parts alone, too; as is a folder without a manifest, and one with a user's files."""
    save(tmp_path / "x", "new")
    write_formerly(tmp_path / "y", "old")
    (tmp_path / "x" / "a" / "notes.txt").write_text("mine", encoding="utf-8")

    for folder in ("x", "x/a", "y", "y/a", "nothing"):
        check_save(tmp_path / folder)


def test_parts_of_two_saves_are_told_by_name(tmp_path):
    """A part copied from another generation is named with both numbers."""
    save(tmp_path / "x", "old")
    shutil.copytree(tmp_path / "x" / "a", tmp_path / "kept")
    save(tmp_path / "x", "new")
    shutil.rmtree(tmp_path / "x" / "a")
    shutil.copytree(tmp_path / "kept", tmp_path / "x" / "a")

    with pytest.raises(
        CorruptCheckpointError, match=r"a is of generation 1, the oth.* 2"
    ) as caught:
        check_save(tmp_path / "x")

    assert caught.value.generations == (1, 2)
    assert KEY in caught.value.hint
    assert "a is of generation 1" in open_checkpoint(tmp_path / "x").problems[0].what


@pytest.mark.parametrize("place", ["", "a"])
@pytest.mark.parametrize("how", ["flipped", "longer", "shorter", "folder"])
def test_a_damaged_file_is_named(tmp_path, place, how):
    """One byte is enough; the part is refused alone as well, the other part is not."""
    save(tmp_path / "x", "new")
    file = tmp_path / "x" / place / "state.pkl"
    data = file.read_bytes()
    if how == "folder":
        file.unlink()
        file.mkdir()
    else:
        changed = {"flipped": data[:-1] + b"!", "longer": data + b"!", "shorter": data[:-1]}
        file.write_bytes(changed[how])

    for folder in ("", place):
        with pytest.raises(CorruptCheckpointError, match=r"state\.pkl") as caught:
            check_save(tmp_path / "x" / folder)
    check_save(tmp_path / "x" / "b")

    assert caught.value.file == os.path.join(place, "state.pkl")


def test_a_lost_state_is_told_and_a_lost_label_is_not(tmp_path):
    """Without its class or JSON file a part is what was saved; without its state it is not."""
    save(tmp_path / "x", "new")
    (tmp_path / "x" / "a" / "class_and_ctor_args.pkl").unlink()
    (tmp_path / "x" / "a" / "metadata.json").unlink()
    check_save(tmp_path / "x")

    (tmp_path / "x" / "a" / "state.pkl").unlink()
    with pytest.raises(MissingPartError, match=r"a/state\.pkl is missing"):
        check_save(tmp_path / "x")


def test_files_may_be_links(tmp_path):
    """Stores that keep files under another name and link to them are no damage."""
    save(tmp_path / "x", "new")
    (tmp_path / "x" / "state.pkl").rename(tmp_path / "blob")
    (tmp_path / "x" / "state.pkl").symlink_to(tmp_path / "blob")

    check_save(tmp_path / "x")


def test_a_file_is_read_once_however_many_names_lead_to_it(tmp_path, monkeypatch):
    """A manifest cannot make much work of little: links to one file cost one reading."""
    save(tmp_path / "x", "new")
    held = json.loads((tmp_path / "x" / "metadata.json").read_text(encoding="utf-8"))
    said = held[KEY]
    for number in range(50):
        (tmp_path / "x" / f"{number}.pkl").symlink_to("state.pkl")
        said["files"][f"{number}.pkl"] = said["files"]["state.pkl"]
    said["checksum"] = _checksum(said)
    (tmp_path / "x" / "metadata.json").write_text(json.dumps(held), encoding="utf-8")
    opened = []
    monkeypatch.setattr(os, "open", lambda *args, real=os.open: opened.append(args) or real(*args))

    check_save(tmp_path / "x")

    assert len(opened) < 12


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda said: said.update(generation=0), "malformed"),
        (lambda said: said.update(files=[]), "malformed"),
        (lambda said: said["files"].update({"../x": {"size": 1, "crc32": 1}}), "outside"),
        (lambda said: said["files"].update({"/x": {"size": 1, "crc32": 1}}), "outside"),
        (lambda said: said["files"].update({"x": 3}), "entry of 'x'"),
        (lambda said: said["files"].update({"x": {"size": "1", "crc32": 1}}), "entry of 'x'"),
        (lambda said: said.update(format="another"), "no manifest of ours"),
    ],
)
def test_an_odd_manifest_is_refused(tmp_path, change, match):
    """Whatever it says, signed or not, ends in one error that names it."""
    save(tmp_path / "x", "new")
    held = json.loads((tmp_path / "x" / "metadata.json").read_text(encoding="utf-8"))
    said = held[KEY]
    change(said)
    said["checksum"] = _checksum(said)
    (tmp_path / "x" / "metadata.json").write_text(json.dumps(held), encoding="utf-8")

    with pytest.raises(CorruptCheckpointError, match=match):
        read_manifest(tmp_path / "x")


@pytest.mark.parametrize("data", ["", "[]", "{", '{"format": "rlconnect save"}'])
def test_a_cut_manifest_is_refused_and_replaced(tmp_path, data):
    """One in a file of its own is told when loading; the next save begins anew."""
    with replaced_tree(tmp_path / "x") as folder:
        write_part(folder / "a", "old")
    (tmp_path / "x" / SAVE_MANIFEST).write_text(data, encoding="utf-8")

    with pytest.raises(CheckpointError, match="save"):
        check_save(tmp_path / "x")
    with replaced_tree(tmp_path / "x") as folder:
        write_part(folder / "a", "new")

    check_save(tmp_path / "x")
    assert read_manifest(tmp_path / "x").generation == 1


def test_an_edited_manifest_is_refused_and_a_forgotten_one_is_not(tmp_path):
    """Its own checksum tells; without it files changed by hand are read as they are."""
    save(tmp_path / "x", "new")
    file = tmp_path / "x" / "metadata.json"
    file.write_text(
        file.read_text(encoding="utf-8").replace('"generation": 1', '"generation": 2'),
        encoding="utf-8",
    )

    with pytest.raises(CorruptCheckpointError, match="checksum differs"):
        check_save(tmp_path / "x")
    forget_save(tmp_path / "x")
    check_save(tmp_path / "x")
    assert KEY not in file.read_text(encoding="utf-8")


def test_files_of_holes_cost_no_time(tmp_path):
    """A manifest that lists many files that are large by holes alone is refused soon."""
    save(tmp_path / "x", "new")
    held = json.loads((tmp_path / "x" / "metadata.json").read_text(encoding="utf-8"))
    said = held[KEY]
    for number in range(20):
        with (tmp_path / "x" / f"{number}.pkl").open("wb") as file:
            file.truncate(2**30)
        said["files"][f"{number}.pkl"] = {"size": 2**30, "crc32": 0}
    said["checksum"] = _checksum(said)
    (tmp_path / "x" / "metadata.json").write_text(json.dumps(held), encoding="utf-8")

    with pytest.raises(CheckpointError, match="on the disk"):
        check_save(tmp_path / "x")


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
