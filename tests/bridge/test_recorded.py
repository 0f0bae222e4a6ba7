"""Recorded observations from files."""

from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.bridge.proof.recorded import read_courses
from rlconnect.core.errors import CheckpointError, ConfigError
from rlconnect.offline import open_dataset
from rlconnect.v2 import SingleAgentEpisode
from rlconnect.v2.algorithms.episode_files import write_episodes

GOLDEN = Path(__file__).parents[1] / "golden/offline"


def test_an_array_is_one_episode(tmp_path, rng):
    """A row is a step."""
    seen = rng.normal(size=(5, 3)).astype(np.float32)
    np.save(tmp_path / "seen.npy", seen)

    (course,) = read_courses(tmp_path / "seen.npy")

    np.testing.assert_array_equal(course, seen)


def test_several_arrays_are_several_episodes(tmp_path, rng):
    """Of any length."""
    np.savez(tmp_path / "seen.npz", a=rng.normal(size=(5, 3)), b=rng.normal(size=(2, 3)))

    assert [len(each) for each in read_courses(tmp_path / "seen.npz")] == [5, 2]


@pytest.mark.parametrize(
    "columns",
    [{"eps_id": [7, 7, 7, 9, 9]}, {"dones": [0, 0, 1, 0, 1]}, {"truncateds": [0, 0, True, 0, 0]}],
)
def test_columns_are_split_where_episodes_end(columns, tmp_path, rng):
    """By episode ids or by ends, as sample batches have them."""
    np.savez_compressed(tmp_path / "batch.npz", obs=rng.normal(size=(5, 3)), **columns)

    assert [len(each) for each in read_courses(tmp_path / "batch.npz")] == [3, 2]


def test_episodes_of_our_own_are_read(tmp_path):
    """Those that offline_data(output=...) writes."""
    space = Box(-1, 1, (2,), np.float32)
    episode = SingleAgentEpisode(observation_space=space, action_space=Discrete(2))
    episode.add_env_reset(np.zeros(2, np.float32))
    episode.add_env_step(np.ones(2, np.float32), 1, 0.5, terminated=True)
    write_episodes(tmp_path / "episodes", [episode])

    (course,) = read_courses(tmp_path / "episodes.msgpack")

    np.testing.assert_array_equal(course, [[0, 0], [1, 1]])


def test_samples_of_any_kind_are_read():
    """Whatever `open_dataset` reads, by the same readers."""
    samples = GOLDEN / "2.60.0/json_box/data"

    found = read_courses(samples)

    lengths = [len(each) + 1 for each in open_dataset(samples).episodes()]
    assert [len(each) for each in found] == lengths
    with pytest.raises(ConfigError, match="several agents"):
        read_courses(GOLDEN / "2.60.0/json_multi/data")


def test_what_holds_no_numbers_is_told(tmp_path):
    """Objects are not built, nothing else is taken for an array."""
    np.save(tmp_path / "objects.npy", np.array([{"a": 1}], object), allow_pickle=True)
    (tmp_path / "text.npy").write_text("no array", encoding="utf-8")
    np.savez(tmp_path / "empty.npz")
    np.save(tmp_path / "cut.npy", np.zeros(100))
    cut = (tmp_path / "cut.npy").read_bytes()[:-8]
    (tmp_path / "cut.npy").write_bytes(cut)

    for name in ("objects.npy", "text.npy", "cut.npy", "nowhere.npy"):
        with pytest.raises(CheckpointError):
            read_courses(tmp_path / name)
    with pytest.raises(ConfigError, match="no observations"):
        read_courses(tmp_path / "empty.npz")
