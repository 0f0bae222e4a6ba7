"""Parquet files: what RLlib's runners held when they wrote them, each episode once."""

import json
import pickle
import warnings
from pathlib import Path

import msgpack
import numpy as np
import pytest
from rlconnect.core.data.budget import Budget, Limits
from rlconnect.core.data.msgpack_arrays import encode_msgpack_object
from rlconnect.offline import DamagedDataWarning, open_dataset
from rlconnect.offline.readers import episode_reader
from rlconnect.offline.readers.episode_reader import quick_state
from rlconnect.offline.readers.tables import rows_within
from rlconnect.v2 import SingleAgentEpisode
from rlconnect.v2.saving.checkpoint_files import packed_state, plain_state

from tests.offline.columns import leaves

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

GOLDEN = Path(__file__).parents[2] / "golden/offline"
CASES = ["episodes_tuple", "episodes_chunks", "columns_tuple", "columns_dict_plain"]


@pytest.mark.parametrize("case", CASES)
def test_episodes_are_those_that_were_played(case):
    """Every recorded episode or piece comes once, with the numbers and dtypes Ray held."""
    meta = json.loads((GOLDEN / "2.60.0" / case / "truth.json").read_text(encoding="utf-8"))
    truth = np.load(GOLDEN / "2.60.0" / case / "truth.npz")
    has_time = case.startswith("episodes")
    wanted = {
        (each["id_"], each["t_started"] if has_time else 0): (number, each)
        for number, each in enumerate(meta["episodes"])
        if each["id_"] in meta["in_files"]
    }

    episodes = list(open_dataset(GOLDEN / "2.60.0" / case / "data").episodes())

    assert sorted((each.id_, each.t_started) for each in episodes) == sorted(wanted)
    for each in episodes:
        number, told = wanted[each.id_, each.t_started]
        assert len(each) == told["length"]
        ends = each.is_terminated, each.is_truncated
        assert ends == (told["terminated"], told["truncated"])
        held = dict(leaves(each.get_observations(slice(0, len(each) + 1)), "obs"))
        held |= dict(leaves(each.get_actions(slice(0, len(each))), "actions"))
        for path, column in held.items():
            recorded = truth[f"ep|{number}|{path}"]
            np.testing.assert_array_equal(column, recorded)
            assert column.dtype == recorded.dtype


def test_batches_in_tables_are_those_of_lines():
    """A row of Ray Data's Parquet is a batch like a line of JSON."""
    data = open_dataset(GOLDEN / "2.7.2/dataset_parquet_multi/data")
    meta = json.loads(
        (GOLDEN / "2.7.2/dataset_parquet_multi/truth.json").read_text(encoding="utf-8")
    )

    info = data.info()

    assert info["format"] == "sample-batch-parquet"
    assert info["counts"]["rows"] == sum(meta["counts"])
    assert sum(each.count for each in data.sample_batches(10)) == sum(meta["counts"])


@pytest.mark.parametrize("case", ["parquet_cut", "parquet_item_cut"])
def test_a_damaged_file_costs_itself_alone(case):
    """A file without a footer, or a cut episode, is told; its neighbours are read."""
    meta = json.loads((GOLDEN / "damaged" / case / "truth.json").read_text(encoding="utf-8"))
    data = open_dataset(GOLDEN / "damaged" / case / "data")

    info = data.info()
    with pytest.warns(DamagedDataWarning):
        episodes = list(data.episodes())

    assert len(info["damaged"]) == 1
    assert {each.id_ for each in episodes} == set(meta["in_files"])


def test_episodes_become_batches_of_the_old_stack():
    """Rows of the new stack are columns of the old one, steps in order."""
    data = open_dataset(GOLDEN / "2.60.0/columns_dict_plain/data")

    batches = list(data.sample_batches(5))

    assert sum(each.count for each in batches) == data.info()["counts"]["rows"]
    assert all(len(each["new_obs"]) == each.count for each in batches)


def rows_of(folder, actions):
    """A file of two rows in the new stack's columns."""
    columns = {"eps_id": ["a", "a"], "obs": [[0.0], [1.0]], "new_obs": [[1.0], [2.0]]}
    columns |= {"actions": actions, "rewards": [1.0, 2.0], "terminateds": [False, True]}
    parquet.write_table(pa.table(columns), folder / "rows.parquet")
    return folder


def test_rows_make_an_episode(tmp_path):
    """Plain columns that anybody wrote read like Ray's own."""
    (episode,) = open_dataset(rows_of(tmp_path, [0, 1])).episodes()

    np.testing.assert_array_equal(episode.get_observations(), [[0.0], [1.0], [2.0]])
    assert episode.get_return() == 3.0
    assert episode.is_terminated


@pytest.mark.parametrize(
    ("kind", "storage", "told"),
    [
        ("pickled_object", [pickle.dumps(print)] * 2, b""),
        ("tensor_v2", [[0.0], [1.0]], b"[7, 1000000]"),
        ("tensor_v2", [[0.0], [1.0]], b"[-1]"),
        ("tensor_v2", [[0.0], [1.0]], b"no shape"),
    ],
)
def test_hostile_cells_are_told(tmp_path, kind, storage, told):
    """A pickle that names a function, and a shape that lies, are damage and nothing else."""
    table = parquet.read_table(rows_of(tmp_path, [0, 1]) / "rows.parquet")
    marks = {"ARROW:extension:name": f"ray.data.arrow_{kind}", "ARROW:extension:metadata": told}
    array = pa.array(storage, pa.large_binary() if kind == "pickled_object" else None)
    table = table.set_column(3, pa.field("actions", array.type, metadata=marks), array)
    parquet.write_table(table, tmp_path / "rows.parquet")

    info = open_dataset(tmp_path).info()

    assert info["counts"]["rows"] == 0
    assert info["damaged"]


def test_rows_that_differ_in_shape_are_told(tmp_path):
    """Rows that make no column are damage of their episode."""
    columns = {"eps_id": ["a", "a"], "obs": [[0.0], [1.0]], "new_obs": [[1.0], [2.0, 3.0]]}
    columns |= {"actions": [0, 1], "rewards": [1.0, 2.0], "terminateds": [False, True]}
    parquet.write_table(pa.table(columns), tmp_path / "rows.parquet")

    (found,) = open_dataset(tmp_path).info()["damaged"]

    assert "episode a" in found["why"]


def an_episode(**outputs):
    return SingleAgentEpisode(
        "e",
        observations=[{"a": np.ones(2, np.float32), "b": (1, np.float32(2))}] * 3,
        actions=[np.int32(1), np.int32(0)],
        rewards=[1.0, 2.0],
        infos=[{}, {"x": np.float64(3)}, {}],
        terminated=True,
        len_lookback_buffer=0,
        extra_model_outputs=outputs,
    )


@pytest.mark.parametrize(
    "outputs",
    [
        {},
        {"p": [0.5, 0.25], "z": [np.zeros((2, 0)), np.zeros((2, 0))]},
        {"s": [{"h": np.ones(3, np.float16)}] * 2},
        {"mixed": [1, 2.5]},
        {"t": [np.datetime64("2020-01-01")] * 2},
    ],
)
def test_both_decoders_of_episodes_agree(outputs, monkeypatch):
    """What the quick one takes on is what the vault's decoder makes of it, dtypes included."""
    episode = an_episode()
    state = episode.get_state()
    buffer = state["actions"]
    state["extra_model_outputs"] = {name: {**buffer, "data": own} for name, own in outputs.items()}
    data = msgpack.packb(state, default=_packed)

    is_usual = quick_state(data, Budget()) is not None
    quick = columns_of(episode_reader._episode_of({"item": data}, Budget()))
    monkeypatch.setattr(episode_reader, "quick_state", lambda *_: None)
    slow = columns_of(episode_reader._episode_of({"item": data}, Budget()))

    assert is_usual != bool({"mixed", "t"} & set(outputs))
    assert quick.keys() == slow.keys()
    for path, array in slow.items():
        np.testing.assert_array_equal(quick[path], array)
        assert np.asarray(quick[path]).dtype == np.asarray(array).dtype


def columns_of(episode):
    held = {"obs": episode.get_observations(), "actions": episode.get_actions()}
    held |= {"rewards": episode.get_rewards(), **episode.extra_model_outputs}
    held |= {name: episode.get_extra_model_outputs(name) for name in episode.extra_model_outputs}
    parts = {path: own for name in held for path, own in leaves(held[name], name)}
    return {**parts, "infos": np.array(list(map(repr, episode.get_infos())))}


def _packed(value):
    if isinstance(value, np.datetime64):
        return {"nd": False, "type": "<M8[D]", "data": value.tobytes()}
    return encode_msgpack_object(value)


@pytest.mark.parametrize(
    "data",
    [
        b"\xdd\xff\xff\xff\xff",
        b"\xdc\xff\xff" * 2000,
        b"\x91" * 100_000,
        b"\x81\xa1a" * 5000 + b"\xc0",
        b"\xc7\x04\x01abcd",
        msgpack.packb({1: 2}),
        msgpack.packb({"observations": {"data": [1], "finalized": False}}),
    ],
)
def test_hostile_items_are_left_to_the_vault(data):
    """Lengths that lie, depth, extensions and odd keys are not taken on in C."""
    assert quick_state(data, Budget()) is None


@pytest.mark.parametrize(
    "odd", [{"id_": [["e"]]}, {"is_terminated": [True, False]}, {"is_truncated": [[1]]}]
)
def test_an_episode_with_an_odd_id_or_outcome_is_told(tmp_path, odd):
    """An id or an outcome of several parts costs the row it lies in, and nothing after it."""
    whole, broken = (an_episode().to_numpy().get_state() for _ in "ab")
    rows = [packed_state(plain_state(state)) for state in ({**broken, **odd}, whole)]
    parquet.write_table(pa.table({"item": pa.array(rows, pa.binary())}), tmp_path / "a.parquet")
    data = open_dataset(tmp_path)

    with pytest.warns(DamagedDataWarning):
        batches = list(data.sample_batches(1))

    assert [each.count for each in batches] == [2]
    assert [each["line"] for each in data.info()["damaged"]] == [1]


def long_row(values):
    """Rows of which one has so many equal values: a few bytes of dictionary and runs."""
    lists = pa.LargeListArray.from_arrays(
        pa.array([0, values], pa.int64()), pa.array([0.0] * values)
    )
    return pa.table({"obs": lists, "new_obs": lists, "actions": [0], "rewards": [1.0]})


@pytest.mark.parametrize("is_lying", [False, True])
def test_a_row_that_unfolds_without_end_is_told(tmp_path, is_lying):
    """A million values in two kilobytes stop at the bounds, whatever the footer says of them."""
    file = tmp_path / "rows.parquet"
    parquet.write_table(long_row(1_000_000), file)
    if is_lying:  # a million, as Thrift writes it, becomes a few in the footer alone
        data = file.read_bytes()
        pages = parquet.read_metadata(file).serialized_size + 8
        footer = data[-pages:].replace(b"\x80\x89\x7a", b"\x88\x80\x00")
        assert footer != data[-pages:]
        file.write_bytes(data[:-pages] + footer)
    data = open_dataset(tmp_path, limits=Limits(base_memory=1 << 20, memory_factor=2))

    (found,) = data.info()["damaged"]

    assert "may unfold" in found["why"]


def test_texts_that_repeat_are_read_some_rows_at_a_time(tmp_path):
    """A long text that each row repeats is read in as many rows at a time as there is room for."""
    rows, text = 50, "e" * 100_000
    columns = {"eps_id": [text] * rows, "obs": [[float(i)] for i in range(rows)]}
    columns |= {"new_obs": [[float(i + 1)] for i in range(rows)], "actions": [0] * rows}
    columns |= {"rewards": [1.0] * rows, "terminateds": [False] * (rows - 1) + [True]}
    parquet.write_table(pa.table(columns), tmp_path / "rows.parquet")

    data = open_dataset(tmp_path, limits=Limits(base_memory=1 << 20, memory_factor=16))

    assert data.info()["counts"]["rows"] == rows
    with_rows = parquet.ParquetFile(tmp_path / "rows.parquet")
    with (tmp_path / "rows.parquet").open("rb") as file:
        assert 1 <= rows_within(file, with_rows.metadata, 64, 1 << 20) < 64


FLOATS = pa.list_(pa.float32())
PARTS = pa.struct([("a", pa.int32()), ("b", FLOATS)])


@pytest.mark.parametrize(
    ("kind", "action", "dtypes"),
    [
        (PARTS, {"a": 1, "b": [0.5, 0.25]}, ["int32", "float32"]),
        (pa.list_(FLOATS), [[0.5, 0.25], [0.125]], ["float32", "float32"]),
        (pa.large_list(FLOATS), [[0.5, 0.25], [0.125, 0.0]], ["float32"]),
        (pa.float32(), 0.5, ["float32"]),
    ],
)
@pytest.mark.parametrize("has_gap", [False, True])
def test_actions_of_several_parts_keep_their_types(tmp_path, kind, action, dtypes, has_gap):
    """Structs and lists of lists have the numbers that the file declares; so have gaps."""
    rows, obs = 3, pa.array([[0.5]] * 3, FLOATS)
    actions = [action, None if has_gap else action, action]
    columns = {"eps_id": ["x"] * rows, "obs": obs, "actions": pa.array(actions, kind)}
    ends = {"terminateds": [False, False, True], "truncateds": [False] * rows}
    table = pa.table({**columns, "new_obs": obs, "rewards": [1.0] * rows, **ends})
    parquet.write_table(table, tmp_path / "rows.parquet")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedDataWarning)
        (batch,) = open_dataset(tmp_path).sample_batches(9)

    found = [column for _, column in leaves(batch["actions"], "actions")]
    assert batch.count == rows - has_gap
    assert [str(column.dtype) for column in found] == dtypes
    flat = np.concatenate([column[0].ravel() for column in found])
    assert flat.tolist() == _numbers(action)


def _numbers(value):
    """The numbers in an action, in order."""
    parts = list(value.values()) if isinstance(value, dict) else value
    return [n for part in parts for n in _numbers(part)] if isinstance(parts, list) else [parts]
