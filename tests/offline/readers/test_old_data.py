"""JSON lines of the old stack: what RLlib held when it wrote them, and what a stranger may not."""

import base64
import json
import pickle
import shutil
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.core.data.budget import Budget, Limits
from rlconnect.core.errors import (
    CheckpointNotFoundError,
    CorruptCheckpointError,
    UnknownFormatError,
)
from rlconnect.core.vault.decode.constructors import CONSTRUCTORS
from rlconnect.core.vault.decode.pickle_machine import PickleMachine
from rlconnect.legacy import MultiAgentBatch, SampleBatch
from rlconnect.offline import DamagedDataWarning, open_dataset
from rlconnect.offline.readers import json_lines
from rlconnect.offline.readers.old_batches import array_of
from rlconnect.offline.readers.packed import array_of_pickle

from tests.offline.columns import leaves

GOLDEN = Path(__file__).parents[2] / "golden/offline"
CASES = sorted(path.parent for path in GOLDEN.glob("[0-9]*/*json*/truth.json"))
ROWS = {
    "obs": [[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]],
    "new_obs": [[1.0, 2.0], [2.0, 3.0], [3.0, 4.0]],
    "actions": [0, 1, 0],
    "rewards": [0.5, 1.0, 2.0],
    "terminateds": [False, False, True],
    "truncateds": [False, False, False],
    "eps_id": [2**60 + 1] * 3,
    "t": [0, 1, 2],
}


def written(folder, *lines):
    """A file of these batches or texts."""
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path = folder / "output-0.json"
    path.write_text("\n".join(texts), encoding="utf-8")
    return path


def batch(**columns):
    return {"type": "SampleBatch", **ROWS, **columns}


def packed(value, protocol=5):
    data = value if isinstance(value, bytes) else pickle.dumps(value, protocol)
    return base64.b64encode(zlib.compress(data)).decode()


def all_rows(data):
    """Every column of all batches, by policy and path."""
    held = {}
    for each in data.sample_batches(10):
        parts = each.policy_batches if isinstance(each, MultiAgentBatch) else {"": each}
        for policy, part in parts.items():
            for name in part:
                for path, array in leaves(part[name], name):
                    held.setdefault((policy, path), []).append(array)
    return {key: np.concatenate(parts) for key, parts in held.items() if key[1] != "infos"}


@pytest.mark.parametrize("case", CASES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_rows_are_what_ray_held(case):
    """Every recorded column comes back with its numbers, and packed ones with their dtypes."""
    meta = json.loads((case / "truth.json").read_text(encoding="utf-8"))
    truth = np.load(case / "truth.npz")

    held = all_rows(open_dataset(case / "data"))

    assert truth.files
    for key in truth.files:
        _, policy, path = key.split("|", 2)
        path = {"dones": "terminateds"}.get(path, path)
        mine = held.get((policy, path), held.get(("default_policy", path)))
        rounded = 1e-9 if meta["format"] == "dataset_json" else 0
        np.testing.assert_allclose(mine, truth[key], rtol=0, atol=rounded, err_msg=key)
        if path.split(".")[0] in meta["compress_columns"]:
            assert mine.dtype == truth[key].dtype


@pytest.mark.parametrize("case", CASES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_episodes_are_those_that_were_played(case):
    """Each episode comes once, with the rewards and the end of each of its agents."""
    meta = json.loads((case / "truth.json").read_text(encoding="utf-8"))
    truth = np.load(case / "truth.npz")
    wanted = {}
    for policy, parts in meta["episodes"].items():
        for part in parts:
            rows = slice(part["start"], part["stop"])
            rewards = truth[f"rows|{policy}|rewards"][rows].astype(np.float64)
            wanted.setdefault(str(part["eps_id"]), []).append(rewards.round(6).tolist())

    episodes = list(open_dataset(case / "data").episodes())

    found = {
        each.id_: [
            agent.get_rewards().astype(np.float64).round(6).tolist()
            for agent in getattr(each, "agent_episodes", {"": each}).values()
        ]
        for each in episodes
    }
    assert len(found) == len(episodes)
    assert {key: sorted(value) for key, value in found.items()} == {
        key: sorted(value) for key, value in wanted.items()
    }
    assert all(each.is_done for each in episodes)


def test_infos_lie_at_the_step_they_tell_of():
    """Before Ray 2.3 a row's info is of the step after it, since then of its observation."""
    old = next(iter(open_dataset(GOLDEN / "1.13.0/json_box_infos_packed/data").episodes()))
    new = next(iter(open_dataset(GOLDEN / "2.60.0/json_box/data").episodes()))

    assert old.get_infos(0) == {}
    assert old.get_infos(1)["t"] == 1
    assert "start" in new.get_infos(0)
    assert new.get_infos(1)["t"] == 1
    assert new.get_infos(-1) == {}


def test_agents_that_wait_keep_their_place_in_time():
    """An agent that skips a step has none there; its next observation comes when it came."""
    episode = next(iter(open_dataset(GOLDEN / "2.60.0/json_multi/data").episodes()))
    agents = episode.agent_episodes

    assert {episode.module_for(agent) for agent in agents} == {"even", "odd"}
    lengths = {agent: len(part) for agent, part in agents.items()}
    assert len(episode) == max(lengths.values()) > min(lengths.values())


@pytest.mark.parametrize(
    ("case", "lines"),
    [("json_noise", [4, 6, 7]), ("json_pickle_runs", [2]), ("json_truncated", [3])],
)
def test_damage_costs_its_line_alone(case, lines, tmp_path, monkeypatch):
    """What cannot be read is told with its line, the rest is read, and nothing is run."""
    monkeypatch.chdir(tmp_path)
    meta = json.loads((GOLDEN / "damaged" / case / "truth.json").read_text(encoding="utf-8"))
    data = open_dataset(GOLDEN / "damaged" / case / "data")

    info = data.info()
    with pytest.warns(DamagedDataWarning, match=f"line {lines[0]}"):
        steps = sum(each.count for each in data.sample_batches())

    assert [each["line"] for each in info["damaged"]] == lines
    assert steps == info["counts"]["rows"] == sum(meta["counts"])
    assert list(tmp_path.iterdir()) == []


def test_an_archive_is_read_where_it_lies(tmp_path):
    """A zip of files counts as its files, and nothing is unpacked beside it."""
    shutil.copytree(GOLDEN / "damaged/json_zip/data", tmp_path / "data")
    before = sorted(tmp_path.rglob("*"))

    counts = open_dataset(tmp_path / "data").info()["counts"]

    assert counts["rows"] == 74
    assert sorted(tmp_path.rglob("*")) == before


HOSTILE = {
    "a bomb": packed(zlib.compress(bytes(1 << 22)) and pickle.dumps(bytes(1 << 26))),
    "a function": packed(b"cos\nsystem\n(S'true'\ntR."),
    "a cut pickle": packed(pickle.dumps(np.zeros(3))[:-5]),
    "too few rows": packed(np.zeros((2, 2))),
    "no rows": packed(np.float64(3.0)),
    "no array": packed({"a": 3}),
    "objects": packed(np.array([None, {}, []], object)),
    "no base64": "not packed at all",
    "a lying shape": packed(pickle.dumps(np.zeros((3, 2))).replace(b"K\x03K\x02", b"K\xf3K\x02")),
    "ragged": [[0.0], [1.0, 2.0], [3.0]],
    "texts": ["a" * 9, "b", ""],
    "a number": 3.0,
    "deep": json.loads("[" * 90 + "]" * 90),
    "objects in a list": [{}, {}, {}],
}


def test_steps_beyond_whole_numbers_are_told(tmp_path):
    """A time step that no counter reaches is damage of its line, not of what is made of it."""
    path = written(tmp_path, batch(), batch(t=[0.0, -1e308, 2.0]))

    (found,) = open_dataset(path).info()["damaged"]

    assert found["line"] == 2


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_columns_are_refused_with_their_place(kind, tmp_path):
    """A column that lies costs its line: told by a known error, in bounded memory."""
    path = written(tmp_path, batch(), batch(obs=HOSTILE[kind]), batch())
    limits = Limits(base_memory=1 << 22, memory_factor=2)
    data = open_dataset(path, limits=limits)

    info = data.info()

    if kind != "texts":
        (found,) = info["damaged"]
        assert found["file"] == "output-0.json"
        assert found["line"] == 2
        assert found["why"]
        assert info["counts"]["rows"] == 6


def test_integers_beyond_64_bits_are_floats(tmp_path):
    """No array of integers holds them, so they are as near as a float comes."""
    (each,) = open_dataset(written(tmp_path, batch(obs=[10**30, 1, 2**70]))).sample_batches()

    assert each["obs"].tolist() == [1e30, 1.0, float(2**70)]


def test_a_line_without_end_is_not_held_in_memory(tmp_path):
    """A line beyond the bounds is told, and no more of it is read than they allow."""
    path = written(tmp_path, batch(), "[" + "0," * 50_000)

    (found,) = open_dataset(path, limits=Limits(max_json_bytes=5_000)).info()["damaged"]

    assert found["line"] == 2
    assert "5,000 bytes" in found["why"]


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(["u1", "i4", "i8", "f4", "f8", "?"]),
    st.lists(st.integers(0, 300), min_size=1, max_size=4),
    st.integers(0, 5),
    st.binary(max_size=3),
)
def test_arrays_known_by_their_bytes_are_those_of_the_machine(dtype, shape, protocol, noise):
    """A pickled array reads alike by its bytes and by the machine, and noise in it is not taken."""
    array = np.arange(np.prod(shape) if np.prod(shape) < 10**6 else 0).astype(dtype)
    array = array.reshape(shape if array.size == np.prod(shape) else [0])
    data = pickle.dumps(array, protocol)

    quick = array_of_pickle(data, Budget())
    slow = PickleMachine(memoryview(data), Budget(), constructors=CONSTRUCTORS).load()

    if quick is not None:
        assert quick.dtype == slow.dtype
        np.testing.assert_array_equal(quick, slow)
        assert array_of_pickle(data[:20] + noise + data[20:], Budget()) is None or not noise
    else:
        assert protocol != 5 or not array.size
    assert array_of_pickle(data + noise, Budget()) is None or not noise


NUMBERS = st.floats(-1e6, 1e6, width=32)


@st.composite
def recordings(draw):
    """Episodes as columns of all their rows, and where a writer cut them into lines."""
    lengths = draw(st.lists(st.integers(1, 5), min_size=1, max_size=5))
    cuts = draw(st.sets(st.integers(1, max(1, sum(lengths) - 1))))
    return lengths, sorted(cuts)


@settings(deadline=None, max_examples=40)
@given(recordings(), st.booleans(), st.data())
def test_lines_cut_anywhere_give_the_same_episodes(tmp_path_factory, recorded, is_packed, data):
    """Episodes come back whole wherever a writer's lines cut them, packed or not."""
    lengths, cuts = recorded
    total = sum(lengths)
    values = np.array(data.draw(st.lists(NUMBERS, min_size=total, max_size=total)), np.float32)
    ids = np.repeat(np.arange(len(lengths)) + 2**59, lengths)
    steps = np.concatenate([np.arange(length) for length in lengths])
    ends = np.concatenate([np.arange(length) == length - 1 for length in lengths])
    columns = {"obs": values[:, None], "new_obs": values[:, None] + 1, "actions": steps % 2}
    columns |= {"rewards": values, "terminateds": ends, "eps_id": ids, "t": steps}
    lines = []
    for start, stop in zip([0, *cuts], [*cuts, total], strict=True):
        part = {name: column[start:stop] for name, column in columns.items()}
        line = {name: column.tolist() for name, column in part.items()}
        if is_packed:
            line["obs"] = packed(part["obs"])
        if start < stop:
            lines.append({"type": "SampleBatch", **line})

    path = written(tmp_path_factory.mktemp("recorded"), *lines)
    episodes = list(open_dataset(path).episodes())

    assert [len(each) for each in episodes] == lengths
    assert [each.id_ for each in episodes] == [str(2**59 + i) for i in range(len(lengths))]
    np.testing.assert_array_equal(np.concatenate([e.get_rewards() for e in episodes]), values)
    for each in episodes:
        assert each.is_terminated
        assert each.get_observations(-1) == each.get_observations(-2) * 0 + (
            values[sum(lengths[: episodes.index(each) + 1]) - 1] + np.float32(1)
        )


def test_episodes_of_one_id_are_told_apart(tmp_path):
    """A careless writer's episodes, all of one id, are as many as there are ends."""
    path = written(tmp_path, batch(eps_id=[0, 0, 0]), batch(eps_id=[0, 0, 0]))

    ids = [each.id_ for each in open_dataset(path).episodes()]

    assert ids == ["0", "0_1"]


def test_batches_gather_whole_lines(tmp_path):
    """A batch has as many rows as were asked for, or more: lines stay whole."""
    path = written(tmp_path, *[batch()] * 5)
    data = open_dataset(path)

    assert [each.count for each in data.sample_batches(4)] == [6, 6, 3]
    assert [type(each) for each in data.sample_batches()] == [SampleBatch] * 5


def test_what_is_no_data_is_told(tmp_path):
    """A path with nothing, and a file of something else, say what was expected."""
    (tmp_path / "a.json").write_text('{"a": 1}\n', encoding="utf-8")

    with pytest.raises(CheckpointNotFoundError, match="no recorded data"):
        open_dataset(tmp_path / "b.json")
    with pytest.raises(UnknownFormatError, match=r"a\.json"):
        open_dataset(tmp_path)


def test_paths_of_any_form_name_the_same(tmp_path):
    """A file, a folder, a pattern and a list read alike; numbers in names count as numbers."""
    for number in (10, 9):
        written(tmp_path, batch(eps_id=[number] * 3)).rename(tmp_path / f"out_{number}.json")
    forms = [tmp_path, f"{tmp_path}/*.json", [tmp_path / "out_9.json", tmp_path / "out_10.json"]]

    for form in forms:
        assert [each.id_ for each in open_dataset(form).episodes()] == ["9", "10"]


MIXED = st.booleans() | st.integers(-3, 3) | st.integers(-(2**63), 2**64) | st.floats(width=32)


@given(st.lists(MIXED, min_size=1, max_size=6) | st.lists(st.tuples(MIXED, MIXED), min_size=1))
def test_lists_of_any_numbers_are_the_arrays_that_numpy_makes_of_them(numbers):
    """Whatever kinds of numbers stand side by side; what is beyond 64 bits counts as float64."""
    expected = np.array(numbers)
    if expected.dtype.hasobject:
        expected = np.array(numbers, np.float64)

    column = array_of(json.loads(json.dumps(numbers)), Budget(), "c")

    np.testing.assert_array_equal(column, expected, strict=True)


@pytest.mark.parametrize("strange", ["1.5", "x", {"a": 1.0}])
def test_what_is_no_number_is_none_behind_numbers(strange):
    """A text that looks like one is refused as well, and null is not a number."""
    with pytest.raises(CorruptCheckpointError):
        array_of([1.5, strange], Budget(), "c")

    assert np.isnan(array_of([1.5, None], Budget(), "c")[1])


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"infos": [{"a": 1}, {}, {}]},
        {"rewards": [0.5, float("nan"), 1.0]},
        {"obs": packed(np.zeros((3, 2)))},
        {"obs": "packed badly"},
        {"actions": [1, "x", 2]},
        {"t": None},
        {"obs": {"a": [[1.0]] * 3}},
    ],
    ids=["plain", "infos", "nan", "packed", "no packed value", "a text", "null", "dict"],
)
def test_long_lines_are_read_as_short_ones(tmp_path, monkeypatch, change):
    """A member at a time or all at once: the same batches, and the same damage."""
    path = written(tmp_path, batch(**change), json.dumps(batch())[:-20] + "]}", batch())
    short = _read_all(path)
    monkeypatch.setattr(json_lines, "_LONG", 0)

    long = _read_all(path)

    assert long[0].keys() == short[0].keys()
    for name in short[0]:
        np.testing.assert_array_equal(long[0][name], short[0][name])
    assert [each["line"] for each in long[1]] == [each["line"] for each in short[1]]


def _read_all(path):
    data = open_dataset(path)
    damaged = data.info()["damaged"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedDataWarning)
        return all_rows(data), damaged


def line_with(**columns):
    """A line of three rows with more columns."""
    rows = {"obs": [[0.0]] * 3, "actions": [[1, 0.5]] * 3, "rewards": [1.0, 2.0, 3.0]}
    ends = {"dones": [False, False, True], "eps_id": [1, 1, 1], "t": [0, 1, 2]}
    return json.dumps({"type": "SampleBatch", **rows, **ends, **columns}) + "\n"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ([{"b": [0.0], "a": 0}, [1, 0.5], [2, 0.25]], [[0, 0], [1, 0.5], [2, 0.25]]),
        ([{"b": [0.0], "a": 0}, [1, 0.5], {"b": [0.0], "a": 0}], [[0, 0], [1, 0.5], [0, 0]]),
        ([{"b": [0.0], "a": 0}] * 3, [[0, 0]] * 3),
        ([[0, {"x": [0.0]}], [1, 0.5], [2, 0.25]], [[0, 0], [1, 0.5], [2, 0.25]]),
        ([[0, [0.0]], [1, 0.5], [0, [0.0]]], [[0, 0], [1, 0.5], [0, 0]]),
    ],
)
def test_previous_actions_of_nested_spaces_are_flat(tmp_path, written, read):
    """Ray 1.13 writes the zeros before an episode in parts, at its first row, all others flat."""
    (tmp_path / "x.json").write_text(line_with(prev_actions=written))

    dataset = open_dataset(tmp_path)
    (batch,) = dataset.sample_batches(1)

    assert batch["prev_actions"].tolist() == read
    assert dataset.info()["damaged"] == []


def test_a_damaged_side_column_is_left_out_and_reported(tmp_path):
    """The rest of the line is read; a column that is needed still condemns it."""
    (tmp_path / "x.json").write_text(line_with(notes=[1, [2, 3], {"a": 1}]))
    dataset = open_dataset(tmp_path)

    with pytest.warns(DamagedDataWarning, match="notes"):
        (batch,) = dataset.sample_batches(1)

    assert batch.count == 3
    assert "notes" not in batch
    (damaged,) = dataset.info()["damaged"]
    assert damaged["line"] == 1
    assert "notes" in damaged["why"]

    (tmp_path / "x.json").write_text(line_with(actions=[1, [2, 3], {"a": 1}]))
    assert open_dataset(tmp_path).info()["counts"]["rows"] == 0
