"""What policies are judged by is read once, and again when it is no longer what the files hold."""

import json
import os

import numpy as np
import pytest
from gymnasium.spaces import Box
from rlconnect.core.adapters import AdapterChain
from rlconnect.offline import DamagedDataWarning, open_dataset
from rlconnect.offline.readers.old_reader import OldReader

ROWS = {
    "obs": [[0.0], [1.0], [2.0]],
    "new_obs": [[1.0], [2.0], [3.0]],
    "actions": [0, 1, 0],
    "rewards": [0.5, 1.0, 2.0],
    "terminateds": [True, False, True],
    "eps_id": [1, 2, 2],
}
LONG_AGO = 10**18


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "output.json"
    written(path)
    return path


def written(path, time=LONG_AGO, **columns):
    path.write_text(json.dumps({"type": "SampleBatch", **ROWS, **columns}))
    os.utime(path, ns=(time, time))


def rewards(data, **options):
    options = {"keep": True, **options}
    parts = list(data.recordings_at_once(**options))
    return np.concatenate([part.rewards for part in parts]).tolist()


@pytest.fixture
def readings(monkeypatch):
    """A list that grows with each reading of the files."""
    counted = []
    for name in ("recordings", "episodes"):
        read = getattr(OldReader, name)

        def counting(*args, read=read):
            counted.append(read)
            return read(*args)

        monkeypatch.setattr(OldReader, name, counting)
    return counted


def test_the_same_files_are_read_once(file, readings):
    """The first pass keeps what the next ones get, and is not disturbed by what is done to it."""
    data = open_dataset(file)

    for part in data.recordings_at_once(keep=True):
        part.observations[...] = -1
    for _ in range(2):
        for part in data.recordings_at_once(keep=True):
            assert part.ids == ["1", "2"]
            assert part.observations.ravel().tolist() == [0.0, 1.0, 1.0, 2.0, 3.0]
            part.observations[...] = -1

    assert len(readings) == 1
    assert [next(data.recordings()).id, rewards(data, keep=False)] == ["1", [0.5, 1.0, 2.0]]
    assert len(readings) == 3
    rewards(data, policy="other")
    assert len(readings) == 4


@pytest.mark.parametrize("change", ["time", "size", "file", "gone"])
def test_files_that_are_others_are_read_again(file, change, readings):
    """By its time, its size or its inode."""
    data = open_dataset(file)
    assert rewards(data) == rewards(data) == [0.5, 1.0, 2.0]
    before = len(readings)

    if change == "file":
        other = file.with_name("other")
        written(other, rewards=[0.5, 1.0, 3.0])
        other.replace(file)
    elif change == "gone":
        file.unlink()
        with pytest.warns(DamagedDataWarning):
            assert list(data.recordings_at_once(keep=True)) == []
        return
    else:
        time = LONG_AGO + (change == "time")
        written(file, time, rewards=[0.5, 1.0, 3.0 if change == "time" else 3.25])

    assert rewards(data)[2] == (3.25 if change == "size" else 3.0)
    assert len(readings) == before + 1


def test_what_was_written_just_now_is_not_kept(file, readings):
    """It may be written again in the same tick of the clock."""
    file.touch()
    data = open_dataset(file)

    assert rewards(data) == rewards(data) == [0.5, 1.0, 2.0]
    assert len(readings) == 2


def test_what_is_too_large_is_not_kept(file, monkeypatch, readings):
    """It takes memory."""
    monkeypatch.setattr("rlconnect.offline.dataset._MOST_BYTES", 10)
    data = open_dataset(file)

    assert rewards(data) == rewards(data) == [0.5, 1.0, 2.0]
    assert len(readings) == 2


def test_half_a_pass_keeps_nothing(file):
    """Whoever stops early does not shorten the data for the next one."""
    file.write_text("\n".join([file.read_text()] * 2))
    os.utime(file, ns=(LONG_AGO, LONG_AGO))
    data = open_dataset(file)

    next(data.recordings_at_once(keep=True))

    assert len(rewards(data)) == 6


def test_damage_is_told_each_time(file):
    """Also where nothing is read."""
    file.write_text(file.read_text() + "\n{")
    os.utime(file, ns=(LONG_AGO, LONG_AGO))
    data = open_dataset(file)

    for _ in range(2):
        with pytest.warns(DamagedDataWarning, match="line 2"):
            assert len(rewards(data)) == 3


def test_data_as_a_policy_sees_it_is_not_kept(file, readings):
    """It depends on the policy, too, which may learn meanwhile."""
    seen = open_dataset(file).through(AdapterChain(), observation_space=Box(-9, 9, (1,)))

    assert rewards(seen) == rewards(seen) == [0.5, 1.0, 2.0]
    assert len(readings) == 2
