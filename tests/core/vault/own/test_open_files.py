"""A folder is replaced although something in it is open, or who holds it is told."""

import gc
import os

import numpy as np
import pytest
from rlconnect.core.errors import CheckpointWriteError, CorruptCheckpointError
from rlconnect.core.vault.own import file_bytes
from rlconnect.core.vault.own.atomic import replaced_file
from rlconnect.core.vault.own.own_format import read_folder
from rlconnect.core.vault.own.writer import save_folder

from .windows_files import as_on_windows, open_files


@pytest.fixture
def folder(tmp_path):
    """A checkpoint of more than is read at once, whose reader has its arrays' file open."""
    gc.collect()  # readers of other tests
    save_folder(tmp_path / "a", {"w": np.arange(100_000.0)}, kind="module")
    return tmp_path / "a"


def test_our_own_readers_let_go_of_what_is_replaced(folder, monkeypatch):
    """The new save is in place, and the old arrays are still those that were opened."""
    own = read_folder(folder)
    assert any(str(folder) in name for name in open_files())
    as_on_windows(monkeypatch)

    save_folder(folder, {"w": np.zeros(100_000)}, kind="module")

    assert read_folder(folder).arrays["w"].read().sum() == 0
    assert np.array_equal(own.arrays["w"].read(), np.arange(100_000.0))
    assert os.listdir(folder.parent) == ["a"]


def test_a_reader_lets_go_of_a_single_file(folder, monkeypatch):
    """As of a folder."""
    own = read_folder(folder)
    file = folder / "arrays.safetensors"
    as_on_windows(monkeypatch)

    with replaced_file(file) as staged:
        staged.write_bytes(b"new")

    assert file.read_bytes() == b"new"
    assert own.arrays["w"].read()[-1] == 99_999


def test_what_was_cut_before_a_reader_let_go_is_missed_when_it_is_read(folder, monkeypatch):
    """The save does not fail for it."""
    own = read_folder(folder)
    os.truncate(folder / "arrays.safetensors", 1000)
    as_on_windows(monkeypatch)

    save_folder(folder, {"w": np.zeros(3)}, kind="module")

    with pytest.raises(CorruptCheckpointError, match="was cut"):
        own.arrays["w"].read()


def test_a_map_of_somebody_else_is_told_by_its_file(folder, monkeypatch):
    """The error names the file; the old save is whole, and goes once the map is gone."""
    held = np.memmap(folder / "arrays.safetensors", mode="r")
    as_on_windows(monkeypatch)

    with pytest.raises(CheckpointWriteError, match="permission denied") as caught:
        save_folder(folder, {"w": np.zeros(3)}, kind="module")

    assert "let go of 'arrays.safetensors'" in caught.value.hint
    assert read_folder(folder).arrays["w"].read()[-1] == 99_999
    assert os.listdir(folder.parent) == ["a"]
    del held
    save_folder(folder, {"w": np.zeros(3)}, kind="module")
    assert read_folder(folder).arrays["w"].read().sum() == 0


def test_a_forked_process_reads_although_a_thread_was_reading(folder):
    """Nobody in it would ever give the turn back; `os.fork` calls what is called here."""
    own = read_folder(folder)
    (content,) = (each for each in file_bytes._OPEN if len(each) > 800_000)

    with content._turn:
        file_bytes._unlock_all()

        assert own.arrays["w"].read()[-1] == 99_999
