"""Datasets of Minari: the episodes it wrote, and files that lie."""

import io
import json
import shutil
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from rlconnect.core.data.budget import Limits
from rlconnect.core.errors import MissingExtraError
from rlconnect.offline import DamagedDataWarning, open_dataset

from tests.offline.columns import leaves

pa = pytest.importorskip("pyarrow")
h5py = pytest.importorskip("h5py")

GOLDEN = Path(__file__).parents[2] / "golden/offline/0.5.4"
CASES = ["minari_hdf5_tuple", "minari_arrow_tuple", "minari_arrow_image"]
SMALL = Limits(base_memory=1 << 20, memory_factor=4)


def as_plain(value):
    return json.loads(json.dumps(value, default=lambda each: each.tolist()))


@pytest.mark.parametrize("case", CASES)
def test_episodes_are_those_that_were_recorded(case):
    """Observations, actions, rewards, infos, ends and spaces are what Minari was given."""
    meta = json.loads((GOLDEN / case / "truth.json").read_text(encoding="utf-8"))
    truth = np.load(GOLDEN / case / "truth.npz")

    data = open_dataset(GOLDEN / case / "data")
    episodes = list(data.episodes())

    assert data.info()["written_by"] == f"minari {meta['minari']}"
    assert [each.id_ for each in episodes] == [each["id_"] for each in meta["episodes"]]
    for number, (each, told) in enumerate(zip(episodes, meta["episodes"], strict=True)):
        ends = each.is_terminated, each.is_truncated
        assert (len(each), *ends) == (told["length"], told["terminated"], told["truncated"])
        assert as_plain(each.get_infos(slice(0, len(each) + 1))) == told["infos"]
        held = dict(leaves(each.get_observations(slice(0, len(each) + 1)), "obs"))
        held |= dict(leaves(each.get_actions(slice(0, len(each))), "actions"))
        for path, array in held.items():
            wanted = truth[f"ep|{number}|{path}"]
            np.testing.assert_array_equal(array, wanted)
            assert array.dtype == wanted.dtype
        assert each.observation_space.contains(each.get_observations(0))
        assert each.action_space.contains(each.get_actions(0))


def test_a_file_alone_tells_as_much(tmp_path):
    """The file is enough: what Minari put beside it tells of spaces and is found there."""
    source = GOLDEN / "minari_hdf5_tuple/data/data/main_data.hdf5"
    lone = shutil.copy(source, tmp_path / "alone.h5")

    beside = next(open_dataset(source).episodes())
    alone = next(open_dataset(lone).episodes())

    assert beside.observation_space is not None
    assert alone.observation_space is None
    assert alone.get_return() == beside.get_return()


def written(folder, **columns):
    """A file of one episode of two steps with these columns, or what a function makes there."""
    held = {"observations": np.zeros((3, 2), np.float32), "actions": np.zeros(2, np.int64)}
    held |= {"rewards": np.ones(2), "terminations": np.zeros(2, bool)}
    held |= {"truncations": np.array([False, True])}
    with h5py.File(folder / "main_data.hdf5", "w") as file:
        for name in ("episode_0", "episode_1"):
            group = file.create_group(name)
            for key, value in {**held, **(columns if name == "episode_0" else {})}.items():
                value(group, key) if callable(value) else group.create_dataset(key, data=value)
    return folder


def packed(size, **settings):
    return lambda group, key: group.create_dataset(key, data=np.zeros((3, size)), **settings)


def elsewhere(group, key):
    group[key] = h5py.ExternalLink("/etc/hostname", "/")


def external(group, key):
    group.create_dataset(key, (3, 2), "u1", external=[("/etc/hostname", 0, 6)])


def virtual(group, key):
    layout = h5py.VirtualLayout((3, 2), "f4")
    layout[:] = h5py.VirtualSource("other.hdf5", "data", (3, 2))
    group.create_virtual_dataset(key, layout)


def bomb(group, key):
    made = group.create_dataset(key, (3, 2), "f4", chunks=(3, 2), compression="gzip")
    made.id.write_direct_chunk((0, 0), zlib.compress(bytes(1 << 26)))


HOSTILE = {
    "a chunk that is a bomb": bomb,
    "a bomb": packed(1 << 22, chunks=(3, 1 << 22), compression="gzip"),
    "a lie": lambda group, key: group.create_dataset(key, (3, 1 << 40), "f4", chunks=(1, 1 << 10)),
    "another packing": packed(2, compression="lzf"),
    "a link": elsewhere,
    "a file of another": external,
    "a view of another": virtual,
    "references": lambda group, key: group.create_dataset(
        key, data=[group.ref] * 3, dtype=h5py.ref_dtype
    ),
    "texts": ["a", "b", "c"],
    "too few rows": np.zeros((2, 2)),
    "no rows": np.float64(1),
    "nothing": lambda group, key: group.create_dataset(key, data=h5py.Empty("f4")),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_episodes_cost_themselves(kind, tmp_path):
    """A dataset that lies about itself, or lies elsewhere, is told; the other episode is read."""
    data = open_dataset(written(tmp_path, observations=HOSTILE[kind]), limits=SMALL)

    info = data.info()

    if kind != "texts":  # observations of a Text space
        assert info["counts"]["episodes"] == 1
        assert info["damaged"][0]["why"].startswith("episode_0")


def test_packed_columns_are_unpacked(tmp_path, rng):
    """gzip with shuffled bytes, in chunks that stand out over the end, gives what was packed."""
    seen = rng.normal(size=(3, 5)).astype(np.float32)
    settings = {"chunks": (2, 2), "compression": "gzip", "shuffle": True, "fletcher32": True}

    def pack(group, key):
        group.create_dataset(key, data=seen, **settings)

    first = next(open_dataset(written(tmp_path, observations=pack)).episodes())

    np.testing.assert_array_equal(first.get_observations(slice(0, 3)), seen)


def arrow_episode(folder, columns, **settings):
    (folder / "0").mkdir()
    table = pa.table(columns)
    options = pa.ipc.IpcWriteOptions(**settings)
    with pa.ipc.new_file(folder / "0/part-0.arrow", table.schema, options=options) as file:
        file.write_table(table)
    return folder


COLUMNS = {
    "observations": [1.0, 2.0, 3.0],
    "actions": [0, 1, 0],
    "rewards": [0.5, 1.0, 0.0],
    "terminations": [False, True, False],
    "truncations": [False] * 3,
}


def test_packed_arrow_files_are_read(tmp_path):
    """What pyarrow packed reads like what it did not."""
    (episode,) = open_dataset(arrow_episode(tmp_path, COLUMNS, compression="lz4")).episodes()

    assert episode.get_rewards().tolist() == [0.5, 1.0]
    assert episode.is_terminated


@pytest.mark.parametrize(
    "change",
    [
        {"observations": pa.array([[1.0], [2.0, 3.0], [4.0]])},
        {"observations": pa.array([1.0, None, 2.0])},
        {"observations": pa.array(["a", "b", "a"]).dictionary_encode()},
        {"observations": [[0.0] * (1 << 16)] * 3},
        {"rewards": pa.array([b"x", b"y", b"z"])},
    ],
)
def test_arrow_files_that_lie_are_told(tmp_path, change):
    """Ragged, missing, coded and huge columns are damage of their episode."""
    folder = arrow_episode(tmp_path, {**COLUMNS, **change}, compression="zstd")

    info = open_dataset(folder, limits=SMALL).info()

    assert info["counts"]["episodes"] == 0
    assert len(info["damaged"]) == 1


@pytest.mark.parametrize("cut", [0, 3, 100, 600, -1])
def test_cut_files_are_told(tmp_path, cut):
    """A file that ends early is damage, of either layout."""
    for number, name in enumerate(("minari_hdf5_tuple", "minari_arrow_tuple")):
        shutil.copytree(GOLDEN / name / "data/data", tmp_path / str(number))
        for file in [*tmp_path.rglob("*.hdf5"), *tmp_path.rglob("*.arrow")]:
            file.write_bytes(file.read_bytes()[:cut] if cut >= 0 else b"")

        with pytest.warns(DamagedDataWarning):
            assert list(open_dataset(tmp_path / str(number)).episodes()) == []


@pytest.mark.parametrize("layout", ["hdf5", "arrow"])
def test_images_packed_as_jpeg_are_those_that_minari_reads(layout):
    """Beside columns that are not packed; libraries round pixels each in their own way."""
    pytest.importorskip("PIL")
    case = GOLDEN / f"minari_{layout}_jpeg"
    truth = np.load(case / "truth.npz")

    episodes = list(open_dataset(case / "data").episodes())

    assert len(episodes) == json.loads((case / "truth.json").read_text())["episodes"]
    for each in episodes:
        seen = each.get_observations(slice(0, len(each) + 1))
        for name in ("cam", "v"):
            wanted = truth[f"{each.id_}|{name}"]
            assert seen[name].dtype == wanted.dtype
            np.testing.assert_allclose(seen[name], wanted.astype(float), atol=2)
        assert each.observation_space.contains(each.get_observations(0))


def jpeg(height, width, **settings):
    image = pytest.importorskip("PIL.Image")
    file = io.BytesIO()
    image.fromarray(np.zeros((height, width, 3), np.uint8)).save(file, "JPEG", **settings)
    return file.getvalue()


def rows_of(packed, **settings):
    def make(group, key):
        kind = h5py.vlen_dtype(np.uint8)
        made = group.create_dataset(key, (3,), kind, maxshape=(None,), **settings)
        for row in range(3):
            made[row] = np.frombuffer(packed[row], np.uint8)

    return make


def many_passes(packed):
    """A JPEG whose last pass over all of it comes again and again."""
    at = packed.rindex(b"\xff\xda")
    return packed[:at] + packed[at:-2] * 4_000 + packed[-2:]


LYING = {
    "another shape": lambda: [jpeg(8, 8), jpeg(8, 8), jpeg(8, 9)],
    "cut": lambda: [jpeg(8, 8), jpeg(8, 8), jpeg(8, 8)[:-4]],
    "no JPEG": lambda: [b"GIF89a" * 9] * 3,
    "bytes: expected at most": lambda: [jpeg(4_000, 4_000)] * 3,
    "too large": lambda: [jpeg(8, 8).replace(b"\x00\x08\x00\x08\x03", b"\xff\xff\xff\xff\x03")] * 3,
    "steps to decode": lambda: [many_passes(jpeg(1_000, 1_000, progressive=True))] * 3,
}


@pytest.mark.parametrize("why", LYING)
def test_hostile_images_cost_their_episode(why, tmp_path):
    """What is no image, or another or a larger one than it should be, is damage in its place."""
    limits = Limits(base_memory=1 << 25, memory_factor=4)
    folder = written(tmp_path, observations=rows_of(LYING[why]()))

    info = open_dataset(folder, limits=limits).info()

    assert info["counts"]["episodes"] == 1
    assert info["damaged"][0]["why"].startswith("episode_0")
    assert why in info["damaged"][0]["why"]


def test_rows_that_claim_to_be_long_are_told_before_they_are_read(tmp_path):
    """A length that the file does not have room for takes no memory."""
    folder = written(tmp_path, observations=rows_of([jpeg(8, 8)] * 3))
    file = folder / "main_data.hdf5"
    size = len(jpeg(8, 8)).to_bytes(4, "little")
    assert file.read_bytes().count(size) >= 3
    file.write_bytes(file.read_bytes().replace(size, b"\xff\xff\xff\x7f"))

    info = open_dataset(folder, limits=SMALL).info()

    assert "episode_0" in info["damaged"][0]["why"]
    assert "bytes" in info["damaged"][0]["why"]


def test_packed_images_without_pillow_name_the_extra(tmp_path, monkeypatch):
    """Nothing else of the data needs it."""
    folder = written(tmp_path, observations=rows_of([jpeg(8, 8)] * 3))
    monkeypatch.setitem(sys.modules, "PIL", None)

    with pytest.raises(MissingExtraError, match=r"rlconnect\[offline\]"):
        list(open_dataset(folder).episodes())
