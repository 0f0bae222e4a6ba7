"""A save that is killed, or meets a power loss, is wholly the old or the new one.

A small sample; `make kills` kills every kind of save two hundred times.
"""

import os
import random
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from rlconnect.core.vault.own import flushing

from tests.kill.kill import lose_power, run
from tests.kill.kinds import Copied, NaiveTree, OwnFormat, Tree

POWER = partial(lose_power, replays=2)


def killed(*arguments):
    """Run `kill.py` in a process of its own, which forks quickly; its table, a row a list."""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "tests.kill.kill", *arguments],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    return done.returncode, done.stdout + done.stderr


def test_kills_at_each_event_and_at_random():
    """Killed at each thing it asks of the system a save is whole; a naive saver is not."""
    code, told = killed("--each", "--kills", "4", "--kinds", "tree")

    assert code == 0, told
    assert "naive (control)" in told


@pytest.mark.parametrize("kind", [Tree, OwnFormat])
def test_a_power_loss_at_each_step(kind):
    """Names and bytes that were not flushed may be lost: what was promised is on the disk."""
    tally = run(kind, POWER, random.Random(0))

    assert tally.is_whole
    assert min(tally.seen.values()) > 2
    assert tally.left > 2  # else no replay was in the middle


def test_a_saver_that_forgets_the_disk_is_found_out(monkeypatch):
    """The model of a disk tells savers apart: without flushes, and file by file, saves are torn."""
    naive = run(NaiveTree, POWER, random.Random(0))
    monkeypatch.setattr(flushing, "_flush", lambda *args: None)
    forgetful = run(Tree, POWER, random.Random(0))

    assert naive.torn + naive.unreadable
    assert forgetful.torn + forgetful.unreadable


def test_kinds_look_at_what_they_load(tmp_path):
    """A part of another save is seen by the harness itself."""
    kind = Copied(tmp_path)
    kind.save("A")
    (tmp_path / "saved" / "two").write_text("B" * 1000, encoding="utf-8")

    with pytest.raises(AssertionError, match="parts of"):
        kind.label()
