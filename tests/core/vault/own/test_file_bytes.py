"""A file is read when its bytes are asked for, as it was checked, or not at all."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from rlconnect.core.errors import CorruptCheckpointError
from rlconnect.core.vault.own import file_bytes
from rlconnect.core.vault.own.file_bytes import FileBytes
from rlconnect.core.vault.own.manifest import file_of
from rlconnect.core.vault.own.own_format import read_folder
from rlconnect.core.vault.own.writer import save_folder

SIZE = (1 << 20) + 300_001


@pytest.fixture(params=[True, False], ids=["offsets", "none"])
def held(request, rng, tmp_path, monkeypatch):
    """A file of some blocks and what it holds, on systems that read at offsets and others."""
    monkeypatch.setattr(file_bytes, "_HAS_OFFSETS", request.param and hasattr(os, "preadv"))
    data = rng.bytes(SIZE)
    (tmp_path / "f").write_bytes(data)
    return file_of(tmp_path, "f", SIZE), data


def test_slices_are_those_of_the_file(held):
    """From anywhere to anywhere, and as blocks from the beginning."""
    content, data = held

    assert isinstance(content, FileBytes)
    assert len(content) == SIZE
    for part in (slice(8), slice(0), slice(5, 5), slice(SIZE - 3, SIZE + 9), slice(100, 1_200_000)):
        assert content[part] == data[part]
    assert content.array(3, 1_100_000).tobytes() == data[3:1_100_000]
    assert b"".join(map(bytes, content.blocks())) == data


def test_threads_share_it(held):
    """Each gets the bytes it asked for."""
    content, data = held
    starts = range(0, SIZE - 1000, 997)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda at: content[at : at + 1000], starts))

    assert found == [data[at : at + 1000] for at in starts]


def test_a_file_that_is_cut_meanwhile_is_an_error(tmp_path):
    """Whoever reads an array of it goes on living, and is told."""
    save_folder(tmp_path / "a", {"w": np.ones(100_000)}, kind="module")
    own = read_folder(tmp_path / "a")
    os.truncate(tmp_path / "a" / "arrays.safetensors", 1000)

    with pytest.raises(CorruptCheckpointError, match=r"arrays.safetensors was cut"):
        own.arrays["w"].read()
    with pytest.raises(CorruptCheckpointError):
        read_folder(tmp_path / "a")


def test_arrays_outlive_their_folder(tmp_path):
    """What was opened is what is read, whatever lies there by then; each array is the caller's."""
    save_folder(tmp_path / "a", {"w": np.ones(100_000)}, kind="module")
    own = read_folder(tmp_path / "a")
    save_folder(tmp_path / "a", {"w": np.zeros(100_000)}, kind="module")

    first, second = own.arrays["w"].read(), own.arrays["w"].read()
    first[:] = 7

    assert second.min() == second.max() == 1


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files are not listed here")
def test_files_are_closed_with_what_reads_them(tmp_path):
    """A process that loads for ever does not run out of descriptors."""
    save_folder(tmp_path / "a", {"w": np.ones(100_000)}, kind="module")
    before = len(os.listdir("/proc/self/fd"))

    for _ in range(20):
        assert read_folder(tmp_path / "a").document["w"].shape == (100_000,)

    assert len(os.listdir("/proc/self/fd")) <= before + 1
