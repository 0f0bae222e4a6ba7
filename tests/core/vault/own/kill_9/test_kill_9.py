"""A writer that is killed at any moment leaves the old checkpoint or the new one, whole."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rlconnect.core.vault.own.own_format import read_folder
from rlconnect.core.vault.own.writer import save_folder

SIZE = 1_300_000  # float32, so about five megabytes


class Saver:
    """The process of `saver.py`, which forks a child for each kill."""

    def __init__(self, path, size, way):
        script = Path(__file__).with_name("saver.py")
        self.process = subprocess.Popen(
            [sys.executable, str(script), str(path), str(size), way],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


def numbers(label, size):
    return np.random.default_rng(ord(label)).standard_normal(size).astype(np.float32)


def assert_whole(path, expected):
    """Read with every checksum verified; all parts must be of one and the same save."""
    own = read_folder(path)
    document = own.document
    label = document["label"]
    assert label in expected
    assert own.kind == label
    assert document["config"]["notes"] == label * 1000
    np.testing.assert_array_equal(document["weights"]["w"], expected[label])
    return label


@pytest.mark.parametrize(("way", "kills"), [("exchange", 15), ("rename", 8)])
def test_kill_at_random_moments(tmp_path, way, kills):
    """Kills spread over the time of two saves: always exactly A or B, and no litter after."""
    path = tmp_path / "checkpoint"
    expected = {label: numbers(label, SIZE) for label in "AB"}
    seen, litter = set(), 0
    with Saver(path, SIZE, way) as saver:
        saver.ask("time")
        duration = float(saver.ask("time"))
        rng = np.random.default_rng(9)
        for kill in range(20 * kills):
            if kill >= kills and litter and len(seen) == 2:
                break
            # On a busy machine it takes more kills, and later ones, to meet both versions.
            moment = rng.uniform(0, 2 * (1 + kill // kills)) * duration
            assert saver.ask(f"after {moment:.6f}") == "killed"
            seen.add(assert_whole(path, expected))
            litter += len(os.listdir(tmp_path)) > 1
        saver.ask("time")

    assert litter  # else no kill came in the middle of a save
    assert seen == {"A", "B"}
    assert os.listdir(tmp_path) == ["checkpoint"]


@pytest.mark.parametrize("way", ["exchange", "rename"])
def test_kill_at_each_event(tmp_path, way):
    """Killed at each single thing it asks of the system, a save is undone or done."""
    path = tmp_path / "checkpoint"
    expected = {label: numbers(label, 100) for label in "AB"}
    seen = []
    with Saver(path, 100, way) as saver:
        for event in range(1, 1000):
            saver.ask("time")
            end = saver.ask(f"event {event}")
            seen.append(assert_whole(path, expected))
            if end == "done":
                break
            assert end == "killed"
        saver.ask("time")

    assert end == "done"
    assert len(seen) > 20
    assert seen == sorted(seen)  # once it is swapped in, it stays
    assert seen[0] == "A"
    assert seen[-5:] == ["B"] * 5
    assert os.listdir(tmp_path) == ["checkpoint"]


def test_first_save_killed_leaves_nothing_or_all(tmp_path):
    """A first save that is killed leaves no checkpoint rather than half of one."""
    expected = {"B": numbers("B", 100)}
    path = tmp_path / "checkpoint"
    with Saver(path, 100, "exchange") as saver:
        for event in range(1, 1000):
            end = saver.ask(f"event {event}")
            if path.exists():
                assert_whole(path, expected)
                for name in os.listdir(path):
                    (path / name).unlink()
                path.rmdir()
            if end == "done":
                break

    assert end == "done"
    save_folder(path, {"n": 1}, kind="after")
    assert os.listdir(tmp_path) == ["checkpoint"]
