"""Steps as plain arrays: `.npz` files, and HDF5 files of D4RL."""

from __future__ import annotations

import os
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rlconnect.core.data.budget import Limits
from rlconnect.core.errors import UnknownFormatError
from rlconnect.offline import DamagedDataWarning, open_dataset

ENDS = [2, 5, 9]
STEPS = 9


def arrays(rng: np.random.Generator, **others: Any) -> dict[str, Any]:
    """Three episodes of 2, 3 and 4 steps: the first two ended, the last was cut."""
    ended, cut = np.zeros((2, STEPS), bool)
    ended[[1, 4]] = cut[8] = True
    return {
        "observations": rng.normal(size=(STEPS, 3)).astype(np.float32),
        "actions": rng.integers(0, 4, STEPS),
        "rewards": np.arange(STEPS, dtype=np.float32),
        "terminals": ended,
        "timeouts": cut,
        **others,
    }


def read(path: Path, **options: Any) -> list[Any]:
    """The episodes of a file, none of it damaged."""
    data = open_dataset(path, **options)
    assert data.format == "array-columns"
    assert data.info()["damaged"] == []
    return list(data.episodes())


@pytest.mark.parametrize("suffix", [".npz", ".hdf5"])
def test_episodes_end_where_outcomes_say(
    suffix: str, tmp_path: Path, rng: np.random.Generator
) -> None:
    """Columns of the names that D4RL uses make its episodes, in a packed file as in a plain one."""
    held = arrays(rng, next_observations=rng.normal(size=(STEPS, 3)).astype(np.float32))
    held |= {"infos/action_log_probs": -rng.random(STEPS), "infos/qpos": rng.random((STEPS, 2))}
    path = tmp_path / f"run{suffix}"
    write(path, held)
    found = read(path)
    assert [len(episode) for episode in found] == [2, 3, 4]
    assert [(e.is_terminated, e.is_truncated) for e in found] == [
        (True, False), (True, False), (False, True),
    ]  # fmt: skip
    assert [episode.get_return() for episode in found] == [1.0, 9.0, 26.0]
    for episode, start, stop in zip(found, [0, *ENDS], ENDS, strict=False):
        seen = episode.get_observations()
        np.testing.assert_array_equal(seen[:-1], held["observations"][start:stop])
        np.testing.assert_array_equal(seen[-1], held["next_observations"][stop - 1])
        np.testing.assert_array_equal(episode.get_actions(), held["actions"][start:stop])
        np.testing.assert_array_equal(
            episode.get_extra_model_outputs("action_logp"),
            held["infos/action_log_probs"][start:stop],
        )
        np.testing.assert_array_equal(episode.get_infos(0)["qpos"], held["infos/qpos"][start])
    assert sum(batch.count for batch in open_dataset(path).sample_batches()) == STEPS


def write(path: Path, held: dict[str, Any]) -> None:
    """Pack arrays into a file of the kind that its name tells."""
    if path.suffix == ".npz":
        np.savez_compressed(path, **held)
        return
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        for name, own in held.items():
            chunks = (4, *([2] * (own.ndim - 1)))
            file.create_dataset(name, data=own, chunks=chunks, compression="gzip", shuffle=True)
        file["metadata/algorithm"] = "SAC"


def test_observations_may_have_the_last_one_of_each_episode(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    """With one row more for each episode, an episode keeps what it ended in."""
    held = arrays(rng)
    held["obs"] = rng.normal(size=(STEPS + 3, 3))
    del held["observations"]
    write(tmp_path / "run.npz", held)
    found = read(tmp_path / "run.npz")
    whole = np.concatenate([episode.get_observations() for episode in found])
    np.testing.assert_array_equal(whole, held["obs"])


def test_nested_observations(tmp_path: Path, rng: np.random.Generator) -> None:
    """Columns `observations/PART` are one observation, a dict of its parts."""
    held = arrays(rng)
    camera = rng.integers(0, 255, (STEPS, 4, 4)).astype(np.uint8)
    held |= {"observations/arm/camera": camera, "observations/speed": held.pop("observations")}
    write(tmp_path / "run.npz", held)
    seen = read(tmp_path / "run.npz")[1].get_observations(0)
    np.testing.assert_array_equal(seen["arm"]["camera"], camera[2])
    np.testing.assert_array_equal(seen["speed"], held["observations/speed"][2])


@pytest.mark.parametrize("column", ["episode_starts", "eps_id"])
def test_episodes_end_where_the_next_one_begins(
    column: str, tmp_path: Path, rng: np.random.Generator
) -> None:
    """First steps, as Stable-Baselines wrote them, and ids tell episodes apart as well."""
    held = arrays(rng)
    del held["terminals"], held["timeouts"]
    starts = np.zeros(STEPS, bool)
    starts[[0, 2, 5]] = True
    held[column] = starts if column == "episode_starts" else np.cumsum(starts) + 10
    held["episode_returns"] = np.zeros(3)
    write(tmp_path / "run.npz", held)
    found = read(tmp_path / "run.npz")
    assert [len(episode) for episode in found] == [2, 3, 4]
    assert [episode.is_terminated for episode in found] == [True, True, False]
    assert [e.id_ for e in found] == (["0", "1", "2"] if column != "eps_id" else ["11", "12", "13"])


def test_columns_of_other_names(tmp_path: Path, rng: np.random.Generator) -> None:
    """What a column is called may be told; unknown names are no data we know."""
    held = arrays(rng)
    held["what_i_saw"] = held.pop("observations")
    write(tmp_path / "run.npz", held)
    with pytest.raises(UnknownFormatError):
        open_dataset(tmp_path / "run.npz")
    assert len(read(tmp_path / "run.npz", columns={"obs": "what_i_saw"})) == 3


def test_columns_first_arrays(tmp_path: Path, rng: np.random.Generator) -> None:
    """An array in Fortran order reads the same."""
    held = arrays(rng)
    held["observations"] = np.asfortranarray(held["observations"])
    np.savez(tmp_path / "run.npz", **held)
    np.testing.assert_array_equal(
        read(tmp_path / "run.npz")[2].get_observations(slice(0, 4)), held["observations"][5:]
    )


class Evil:
    """An object that would run a command when it is unpickled."""

    def __reduce__(self) -> Any:
        return os.system, ("touch unpickled",)


def test_objects_are_never_built(
    tmp_path: Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column of pickled objects is passed over and told; the rest is read."""
    monkeypatch.chdir(tmp_path)
    held = arrays(rng, infos=np.array([Evil()] * STEPS))
    np.savez(tmp_path / "run.npz", **held)
    data = open_dataset(tmp_path / "run.npz")
    with pytest.warns(DamagedDataWarning, match="Python objects"):
        assert len(list(data.episodes())) == 3
    assert not Path("unpickled").exists()


def header(shape: tuple[int, ...], dtype: str = "<f4") -> bytes:
    """The beginning of an `.npy` member that declares so much."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("observations", header((1 << 40, 3)), "declares more"),
        ("observations", header((STEPS, 1 << 40)), "declares more"),
        ("observations", header((STEPS + 1, 3)) + bytes(12 * (STEPS + 1)), "number of rows"),
        ("rewards", header((1 << 19,)) + bytes(1 << 21), "would take"),
        ("rewards", header((STEPS, 2)) + bytes(8 * STEPS), "one number for each step"),
        ("rewards", header((), "<f4") + bytes(4), "one number for each step"),
        ("rewards", b"no array", "magic"),
        ("rewards", b"", "magic"),
    ],
    ids=range(8),
)
def test_files_that_lie(
    name: str, content: bytes, why: str, tmp_path: Path, rng: np.random.Generator
) -> None:
    """Shapes that lie and bombs are told as damage with a reason; a good file beside is read."""
    held = arrays(rng)
    np.savez(tmp_path / "a.npz", **held)
    del held[name]
    np.savez(tmp_path / "b.npz", **held)
    with zipfile.ZipFile(tmp_path / "b.npz", "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{name}.npy", content)
    data = open_dataset(tmp_path, limits=Limits(base_memory=1 << 20))
    damage = data.info()["damaged"]
    assert [each["file"] for each in damage] == ["b.npz"]
    assert why in damage[0]["why"]
    assert data.info()["counts"]["episodes"] == 3


def test_cut_files(tmp_path: Path, rng: np.random.Generator) -> None:
    """A file cut or flipped anywhere ends in episodes and a reason, never in a foreign error."""
    np.savez_compressed(tmp_path / "whole.npz", **arrays(rng))
    whole = (tmp_path / "whole.npz").read_bytes()
    for at in rng.integers(0, len(whole), 150):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << rng.integers(8)
        (tmp_path / "whole.npz").write_bytes(damaged if at % 3 else whole[:at])
        with suppress(UnknownFormatError):
            open_dataset(tmp_path / "whole.npz").info()
