"""A tree is saved in one step; what is the user's stays, what an older save left goes."""

import errno
import os
import pathlib
import threading

import pytest
from rlconnect.core.errors import CheckpointWriteError
from rlconnect.core.vault import saved_tree
from rlconnect.core.vault.own import atomic
from rlconnect.core.vault.save_manifest import files_of_save
from rlconnect.core.vault.saved_tree import replaced_tree

from .saved_trees import labels, names, save, write_formerly, write_part

PART = {"class_and_ctor_args.pkl", "metadata.json"}


@pytest.fixture(params=["exchange", "rename"])
def way(request, monkeypatch):
    """Both ways to swap: in one step where the system can, in two where it cannot."""
    if request.param == "rename":
        monkeypatch.setattr(atomic, "exchange", lambda first, second: False)


@pytest.fixture(params=["links", "copies"])
def linking(request, monkeypatch):
    """Disks with hard links and without."""

    def refused(*args, **kwargs):
        raise OSError(errno.EPERM, "no links here")

    if request.param == "copies":
        monkeypatch.setattr(os, "link", refused)


def test_what_is_the_users_stays(tmp_path, way, linking):
    """Files, folders, empty ones and links beside ours and among them are as they were."""
    target, elsewhere = tmp_path / "x", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "thesis").write_text("mine", encoding="utf-8")
    save(target, "old")
    (target / "notes.txt").write_text("mine", encoding="utf-8")
    (target / "a" / "notes.txt").write_text("mine, too", encoding="utf-8")
    (target / "b" / "own" / "deep").mkdir(parents=True)
    (target / "b" / "own" / "deep" / "file").write_text("deep", encoding="utf-8")
    (target / "b" / "own").chmod(0o500)
    (target / "empty").mkdir()
    (target / "link").symlink_to(elsewhere)
    (target / "dangling").symlink_to("nowhere")

    save(target, "new", parts=("a",))

    assert labels(target) == {"new"}
    assert (target / "notes.txt").read_text(encoding="utf-8") == "mine"
    assert (target / "a" / "notes.txt").read_text(encoding="utf-8") == "mine, too"
    assert (target / "b" / "own" / "deep" / "file").read_text(encoding="utf-8") == "deep"
    assert (target / "b" / "own").stat().st_mode & 0o777 == 0o500
    assert set(os.listdir(target / "b")) == {"own"}
    assert (target / "empty").is_dir()
    assert os.readlink(target / "link") == str(elsewhere)
    assert os.readlink(target / "dangling") == "nowhere"
    assert (elsewhere / "thesis").read_text(encoding="utf-8") == "mine"
    assert set(os.listdir(tmp_path)) == {"x", "elsewhere"}


def test_a_users_file_stays_the_same_file(tmp_path):
    """Who holds a file open goes on writing into the one that lies there."""
    save(tmp_path / "x", "old")
    with (tmp_path / "x" / "progress.csv").open("a", encoding="utf-8") as file:
        file.write("1\n")
        file.flush()
        save(tmp_path / "x", "new")
        file.write("2\n")

    assert (tmp_path / "x" / "progress.csv").read_text(encoding="utf-8") == "1\n2\n"


def test_what_the_user_changes_during_a_save_is_kept(tmp_path, monkeypatch, way, linking):
    """Files written, replaced and made right before the swap are there after it."""
    target = tmp_path / "x"
    save(target, "old")
    for name in ("grown", "replaced"):
        (target / name).write_text("old", encoding="utf-8")
    commit = atomic._commit

    def late(*args):
        with (target / "grown").open("a", encoding="utf-8") as file:
            file.write(" and new")
        (target / "other").write_text("new", encoding="utf-8")
        os.replace(target / "other", target / "replaced")
        (target / "made").write_text("new", encoding="utf-8")
        commit(*args)

    monkeypatch.setattr(atomic, "_commit", late)
    save(target, "new")

    assert (target / "grown").read_text(encoding="utf-8") == "old and new"
    assert (target / "replaced").read_text(encoding="utf-8") == "new"
    assert (target / "made").read_text(encoding="utf-8") == "new"
    assert os.listdir(tmp_path) == ["x"]


@pytest.mark.parametrize("formerly", [False, True], ids=["with manifest", "without"])
def test_the_other_encoding_goes(tmp_path, formerly):
    """After pickle, msgpack: no older state stays beside the new one, whoever wrote it."""
    (write_formerly if formerly else save)(tmp_path / "x", "old")
    (tmp_path / "x" / "notes.txt").write_text("mine", encoding="utf-8")

    save(tmp_path / "x", "new", ending="msgpack")

    assert labels(tmp_path / "x") == {"new"}
    assert not list((tmp_path / "x").rglob("state.pkl"))
    assert (tmp_path / "x" / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_a_removed_part_goes(tmp_path):
    """The folder of a part that is no more goes with the save that wrote it."""
    save(tmp_path / "x", "old")
    (tmp_path / "x" / "notes.txt").write_text("mine", encoding="utf-8")

    save(tmp_path / "x", "new", parts=("a",))

    assert not (tmp_path / "x" / "b").exists()


def test_other_checkpoints_below_are_the_users(tmp_path):
    """A save put into the folder of another one is no part of it."""
    save(tmp_path / "x", "old")
    save(tmp_path / "x" / "best", "best", parts=())

    save(tmp_path / "x", "new")

    assert labels(tmp_path / "x" / "best") == {"best"}


def test_modules_in_a_folder_of_runs_are_the_users(tmp_path):
    """Where no save lies, whatever lies below is left alone."""
    write_formerly(tmp_path / "runs" / "first", "first", parts=())

    save(tmp_path / "runs", "new", parts=())

    assert labels(tmp_path / "runs" / "first") == {"first"}


def test_a_save_inside_a_save_is_a_part_of_it(tmp_path):
    """One list at the top has the files of all parts."""
    with replaced_tree(tmp_path / "x") as folder:
        save(folder / "inner", "new")
        write_part(folder / "other", "new")

    assert files_of_save(tmp_path / "x" / "inner") is None
    assert {"inner/state.pkl", "inner/a/state.pkl"} <= files_of_save(tmp_path / "x")


def test_a_link_at_the_path_is_followed(tmp_path):
    """The folder it leads to is replaced, the link stays."""
    save(tmp_path / "x", "old")
    (tmp_path / "link").symlink_to(tmp_path / "x")

    save(tmp_path / "link", "new")

    assert (tmp_path / "link").is_symlink()
    assert labels(tmp_path / "x") == {"new"}


def test_a_users_file_in_the_way_is_told(tmp_path):
    """A file where a folder is to be is neither lost nor overwritten."""
    save(tmp_path / "x", "old", parts=())
    (tmp_path / "x" / "a").write_text("mine", encoding="utf-8")

    with pytest.raises(CheckpointWriteError, match="x/a: it is a file where"):
        save(tmp_path / "x", "new")
    (tmp_path / "x" / "a").unlink()
    (tmp_path / "x" / "b" / "state.pkl").mkdir(parents=True)
    (tmp_path / "x" / "b" / "state.pkl" / "notes").write_text("mine", encoding="utf-8")
    with pytest.raises(CheckpointWriteError, match=r"state\.pkl: it is a folder where"):
        save(tmp_path / "x", "new")

    assert files_of_save(tmp_path / "x")
    assert os.listdir(tmp_path) == ["x"]


def test_the_current_folder_is_not_replaced(tmp_path, monkeypatch):
    """Who stands in the folder would stand in one that is gone; that is told, nothing is done."""
    save(tmp_path / "x", "old")
    monkeypatch.chdir(tmp_path / "x" / "a")

    with pytest.raises(CheckpointWriteError, match=r"current folder(?s:.*)change to another"):
        save(tmp_path / "x", "new")

    assert labels(tmp_path / "x") == {"old"}


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EBUSY, errno.EACCES])
@pytest.mark.parametrize("call", ["fsync", "link", "rename", "mkdir"])
def test_a_disk_that_refuses_leaves_the_old_one(tmp_path, monkeypatch, code, call):
    """Whatever the disk refuses, the error gives its reason and the old save is there, alone."""
    save(tmp_path / "x", "old")
    (tmp_path / "x" / "own").mkdir()
    (tmp_path / "x" / "own" / "notes.txt").write_text("mine", encoding="utf-8")
    before = names(tmp_path)

    def refused(*args, **kwargs):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(atomic, "exchange", lambda first, second: False)
        patch.setattr(os, call, refused)
        if call == "link":
            patch.setattr(saved_tree.shutil, "copy2", refused)
        if call == "mkdir":
            patch.setattr(pathlib.Path, "mkdir", refused)
        with pytest.raises(CheckpointWriteError, match=os.strerror(code).lower()) as caught:
            save(tmp_path / "x", "new")

    assert caught.value.code == code
    assert caught.value.hint
    assert labels(tmp_path / "x") == {"old"}
    assert names(tmp_path) == before


@pytest.mark.usefixtures("busy_threads")
def test_writers_at_once_leave_one_whole_save(tmp_path, way):
    """The last one wins, wholly; the user's file stays whoever wins."""
    save(tmp_path / "x", "old")
    (tmp_path / "x" / "notes.txt").write_text("mine", encoding="utf-8")
    failures = []

    def write(label):
        try:
            for _ in range(8):
                save(tmp_path / "x", label)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(label,)) for label in "pqr"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert len(labels(tmp_path / "x")) == 1
    assert (tmp_path / "x" / "notes.txt").read_text(encoding="utf-8") == "mine"
    assert os.listdir(tmp_path) == ["x"]
