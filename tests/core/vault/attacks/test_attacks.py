"""Hostile files end in a typed error or as inert data, and do nothing on the way."""

import contextlib
import itertools
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from rlconnect.core import errors

from .archives import ATTACKS as ARCHIVES
from .arrays import ATTACKS as ARRAYS
from .bombs import ATTACKS as BOMBS
from .calls import ATTACKS as CALLS
from .folders import FOLDERS
from .packed import ATTACKS as PACKED

ATTACKS = [*CALLS, *BOMBS, *ARRAYS, *ARCHIVES, *PACKED]
# An error of two lines; hostile text must not fill the screen.
LONGEST_ERROR = 2_000
PARTS = 2


@pytest.fixture(scope="module")
def notes(tmp_path_factory):
    """What watched processes noted, by attack. Test workers share the work of one run."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    results = [shared / f"attacks-{part}.json" for part in range(PARTS)]
    fcntl = pytest.importorskip("fcntl")
    for how in (fcntl.LOCK_NB, 0):  # first what nobody else does yet, then wait for the others
        for part, result in enumerate(results):
            with (
                open(result.with_suffix(".lock"), "w", encoding="utf-8") as lock,
                contextlib.suppress(BlockingIOError),
            ):
                fcntl.flock(lock, fcntl.LOCK_EX | how)
                if not result.exists():
                    _audit(result, part)
    noted = defaultdict(list)
    for note in itertools.chain(
        *(json.loads(result.read_text(encoding="utf-8")) for result in results)
    ):
        noted[note["attack"]].append(note)
    return noted


def _audit(result, part):
    script = Path(__file__).parents[1] / "watched.py"
    command = [sys.executable, str(script), str(result), str(part), str(PARTS)]
    subprocess.run(command, check=True)


def _assert_harmless(noted):
    for note in noted:
        assert note["ended"] != "escaped", note
        assert not note["events"], note
        assert not note["strangers"], note
        if note["ended"] != "data":
            assert issubclass(getattr(errors, note["ended"]), errors.CheckpointError), note
        assert note["length"] < LONGEST_ERROR, note


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_file_is_harmless(attack, notes):
    """By itself or in a checkpoint folder: a typed error or inert data, and no side effect."""
    decoded, *opened = notes[attack.name]

    _assert_harmless([decoded, *opened])
    assert decoded["way"] == "decode"
    if attack.ends != "either":
        assert (decoded["ended"] == "data") == (attack.ends == "inert"), decoded


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_folder_is_harmless(folder, notes):
    """Whatever its JSON and file kinds say, opening and describing it reads and nothing else."""
    noted = notes[folder.name]

    _assert_harmless(noted)
    assert [note["way"] for note in noted] == (
        ["open", "describe"] if folder.is_shown else ["open"]
    )


@pytest.mark.parametrize(
    ("event", "seen"), [("compile", "compile"), ("open", "open"), ("import", "import")]
)
def test_hook_notices_plain_pickle(event, seen, notes):
    """The same kind of file read by plain pickle is noticed, so silence above means something."""
    noted = notes[event]

    assert len(noted) == PARTS
    for note in noted:
        assert any(line.startswith("pickle.find_class") for line in note["events"])
        assert any(line.startswith(seen) for line in note["events"])


def test_names_are_unique():
    """Each attack is told apart by its name."""
    names = [attack.name for attack in [*ATTACKS, *FOLDERS]]

    assert len(names) == len(set(names))
