"""A folder or file is replaced as a whole, and only dead writers' leftovers are removed."""

import os
import threading

import pytest
from rlconnect.core.vault.own import atomic, leftovers
from rlconnect.core.vault.own.atomic import replaced_file, replaced_folder
from rlconnect.core.vault.own.leftovers import survivor, sweep


@pytest.fixture(params=["exchange", "rename"])
def way(request, monkeypatch):
    """Both ways to swap: in one step where the system can, in two where it cannot."""
    if request.param == "rename":
        monkeypatch.setattr(atomic, "exchange", lambda first, second: False)
    return request.param


def fill(target, text):
    with replaced_folder(target) as folder:
        (folder / "a").write_text(text, encoding="utf-8")


def names(folder):
    return sorted(os.listdir(folder))


def test_folder_is_replaced_whole(tmp_path, way):
    """The block's files take the place of all older ones; nothing else is left."""
    fill(tmp_path / "x", "old")
    (tmp_path / "x" / "more").write_text("old", encoding="utf-8")

    fill(tmp_path / "x", "new")

    assert names(tmp_path / "x") == ["a"]
    assert (tmp_path / "x" / "a").read_text(encoding="utf-8") == "new"
    assert names(tmp_path) == ["x"]


def test_a_block_that_fails_changes_nothing(tmp_path, way):
    """An error inside the block passes through; the old folder stays, the new one goes."""
    fill(tmp_path / "x", "old")

    def fail():
        with replaced_folder(tmp_path / "x") as folder:
            (folder / "a").write_text("new", encoding="utf-8")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    assert (tmp_path / "x" / "a").read_text(encoding="utf-8") == "old"
    assert names(tmp_path) == ["x"]


def test_file_is_replaced_whole(tmp_path):
    """The same holds for one file."""
    (tmp_path / "x").write_text("old", encoding="utf-8")

    def fail():
        with replaced_file(tmp_path / "x") as file:
            file.write_text("half", encoding="utf-8")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert (tmp_path / "x").read_text(encoding="utf-8") == "old"
    with replaced_file(tmp_path / "x") as file:
        file.write_text("new", encoding="utf-8")

    assert (tmp_path / "x").read_text(encoding="utf-8") == "new"
    assert names(tmp_path) == ["x"]


def test_exchange_works_on_this_disk_or_says_no(tmp_path):
    """An exchange swaps two names in one step; for missing names it says no and does nothing."""
    (tmp_path / "a").write_text("a", encoding="utf-8")
    (tmp_path / "b").write_text("b", encoding="utf-8")

    done = atomic.exchange(tmp_path / "a", tmp_path / "b")

    assert (tmp_path / "a").read_text(encoding="utf-8") == ("b" if done else "a")
    assert not atomic.exchange(tmp_path / "a", tmp_path / "missing")


def test_sweep_removes_what_dead_writers_left(tmp_path):
    """Unfinished saves without a living owner go; files of other names stay."""
    (tmp_path / "x").mkdir()
    dead = tmp_path / ".x.tmp-0123456789ab"
    dead.mkdir()
    (dead / "a").write_text("half", encoding="utf-8")
    (tmp_path / ".x.old-0123456789ab").mkdir()
    (tmp_path / ".x.tmp-0123456789ac").write_text("half a file", encoding="utf-8")
    for other in (".x.tmp-mine", ".y.tmp-0123456789ab", "x.tmp-0123456789ab"):
        (tmp_path / other).write_text("mine", encoding="utf-8")

    sweep(tmp_path / "x")

    assert names(tmp_path) == [".x.tmp-mine", ".y.tmp-0123456789ab", "x", "x.tmp-0123456789ab"]


def test_sweep_spares_what_a_living_writer_holds(tmp_path):
    """A save in progress keeps its folder, whoever saves to the same place meanwhile."""
    with replaced_folder(tmp_path / "x") as folder:
        (folder / "a").write_text("slow", encoding="utf-8")
        fill(tmp_path / "x", "quick")
        assert (folder / "a").read_text(encoding="utf-8") == "slow"
    assert (tmp_path / "x" / "a").read_text(encoding="utf-8") == "slow"

    assert names(tmp_path) == ["x"]


def test_without_locks_only_old_leftovers_go(tmp_path, monkeypatch):
    """Where the disk knows no locks, a leftover gets a day before it is removed."""

    def unsupported(*args):
        raise OSError(95, "not supported")

    monkeypatch.setattr(pytest.importorskip("fcntl"), "flock", unsupported)
    young, old = tmp_path / ".x.tmp-0123456789ab", tmp_path / ".x.tmp-0123456789ac"
    young.mkdir()
    old.mkdir()
    os.utime(old, (1, 1))

    fill(tmp_path / "x", "new")

    assert names(tmp_path) == [young.name, "x"]


def test_links_are_never_followed_when_cleaning(tmp_path):
    """Neither a link in place of a leftover nor a link inside one leads out."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis").write_text("mine", encoding="utf-8")
    (tmp_path / ".x.tmp-0123456789ab").symlink_to(precious)
    dead = tmp_path / ".x.tmp-0123456789ac"
    dead.mkdir()
    (dead / "link").symlink_to(precious)
    (dead / "thesis").symlink_to(precious / "thesis")

    sweep(tmp_path / "x")

    assert names(tmp_path) == [".x.tmp-0123456789ab", "precious"]
    assert (precious / "thesis").read_text(encoding="utf-8") == "mine"


def test_a_folder_moved_aside_is_found_and_put_back(tmp_path):
    """After a crash between the two renames readers find the old one; a sweep puts it back."""
    aside = tmp_path / ".x.old-0123456789ab"
    aside.mkdir()
    (aside / "a").write_text("old", encoding="utf-8")

    assert survivor(tmp_path / "x") == aside
    sweep(tmp_path / "x")

    assert survivor(tmp_path / "x") is None
    assert (tmp_path / "x" / "a").read_text(encoding="utf-8") == "old"
    assert names(tmp_path) == ["x"]


def test_a_sweep_right_after_making_does_not_break_a_writer(tmp_path, monkeypatch):
    """Another writer may sweep a folder away before its maker has locked it: it makes another."""
    real, swept = leftovers._lock, []

    def swept_first(path):
        if not swept:
            swept.append(path)
            path.rmdir()
        return real(path)

    monkeypatch.setattr(leftovers, "_lock", swept_first)

    with replaced_folder(tmp_path / "x") as folder:
        (folder / "a").write_text("new", encoding="utf-8")

    assert not swept[0].exists()
    assert (tmp_path / "x" / "a").read_text(encoding="utf-8") == "new"
    assert names(tmp_path) == ["x"]


@pytest.mark.usefixtures("busy_threads")
def test_writers_at_once_leave_one_whole_folder(tmp_path, way):
    """Writers of one path may race: each save succeeds, the last one stays, whole."""
    failures = []

    def write(label):
        try:
            for _ in range(15):
                with replaced_folder(tmp_path / "x") as folder:
                    (folder / "a").write_text(label, encoding="utf-8")
                    (folder / "b").write_text(label, encoding="utf-8")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(label,)) for label in "pqr"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sweep(tmp_path / "x")

    assert failures == []
    assert (tmp_path / "x" / "a").read_text(encoding="utf-8") == (tmp_path / "x" / "b").read_text(
        encoding="utf-8"
    )
    assert names(tmp_path) == ["x"]
