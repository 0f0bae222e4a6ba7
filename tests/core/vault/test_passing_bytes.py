"""Large pickles are read once: arrays lie in the bytes that were read, and nothing beside them."""

import pickle
import sys

import numpy as np
import pytest
from rlconnect.core.vault.decode import pickle_machine
from rlconnect.core.vault.decode.load_limits import DEFAULT_LIMITS
from rlconnect.core.vault.decoding import Decoding
from rlconnect.core.vault.files import reading
from rlconnect.core.vault.files.reading import PassingBytes


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch):
    """Files and arrays of a few kilobytes go the way of large ones."""
    monkeypatch.setattr(reading, "_LARGE", 1)
    monkeypatch.setattr(pickle_machine, "TAKE_OUT_FROM", 4096)


def decoded(folder, value, protocol):
    """What a file of a pickle comes to."""
    path = folder / "state.pkl"
    path.write_bytes(pickle.dumps(value, protocol=protocol))
    decoding = Decoding(folder, DEFAULT_LIMITS)
    content = decoding.decode(path, "state")
    assert not decoding.skipped
    return content


@pytest.mark.parametrize("protocol", range(2, 6))
def test_a_large_pickle_is_decoded_to_what_it_holds(tmp_path, protocol):
    """Arrays of any order and kind of number, long bytes and text come back as they were."""
    rng = np.random.default_rng(0)
    value = {
        "first": rng.random((40, 50)),
        "fortran": np.asfortranarray(rng.random((60, 30))),
        "big-endian": np.arange(3000, dtype=">f4"),
        "bytes": rng.bytes(20_000),
        "text": "x" * 20_000,
        "small": np.arange(3),
    }

    found = decoded(tmp_path, value, protocol)

    assert found.keys() == value.keys()
    for name in ("first", "fortran", "big-endian", "small"):
        np.testing.assert_array_equal(found[name], value[name])
        assert found[name].dtype.newbyteorder("=") == value[name].dtype.newbyteorder("=")
        assert found[name].flags.f_contiguous == value[name].flags.f_contiguous
    assert bytes(found["bytes"]) == value["bytes"]
    assert found["text"] == value["text"]


@pytest.mark.parametrize("protocol", [4, 5])
def test_arrays_of_a_large_pickle_may_be_written(tmp_path, protocol):
    """Nobody else has their bytes, so weights may lie in them as they are."""
    found = decoded(tmp_path, [np.zeros(3000), np.ones(3000)], protocol)

    found[0] += 2.0

    assert found[0].min() == 2.0
    assert found[1].max() == 1.0


class Made:
    """An array as numpy pickles it, over bytes that something else in the file names, too."""

    def __init__(self, raw):
        self.raw = raw

    def __reduce__(self):
        call, arguments, _ = np.zeros(1).__reduce__()
        return call, arguments, (1, (len(self.raw) // 8,), np.dtype(float), False, self.raw)


def test_arrays_over_the_same_bytes_of_a_file_do_not_change_each_other(tmp_path):
    """One may lie in them; the second, and the bytes' own place in the file, do not follow it."""
    raw = np.ones(2000).tobytes()

    first, second = decoded(tmp_path, [Made(raw), Made(raw)], 4)
    first += 1.0

    assert second.max() == 1.0


def test_a_damaged_large_pickle_is_an_error_that_names_the_file(tmp_path):
    """What is cut off is told as of any other file."""
    path = tmp_path / "state.pkl"
    path.write_bytes(pickle.dumps(np.zeros(3000))[:-4000])
    decoding = Decoding(tmp_path, DEFAULT_LIMITS)

    assert decoding.attempt(path, "state", "the state") is None

    assert "state.pkl" in str(decoding.problems[0])


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere memory may stay until all is gone")
def test_the_memory_of_a_part_that_was_taken_goes_back(tmp_path):
    """What is made of a file does not lie beside the file; the bytes around it stay."""
    content = b"\1" * 100_000
    path = tmp_path / "file"
    path.write_bytes(content)

    with path.open("rb") as file:
        passing = PassingBytes(file.fileno(), len(content))
    taken = passing.take(10, 90_000)

    assert taken == content[10:90_000]
    assert set(passing.data[:10]) | set(passing.data[90_000:]) == {1}
    assert passing.data[8192:16384] == bytes(8192)


def test_a_file_that_is_shorter_than_it_was_holds_what_is_there(tmp_path):
    """It may be cut while it is read."""
    path = tmp_path / "file"
    path.write_bytes(b"abc")

    with path.open("rb") as file:
        assert bytes(PassingBytes(file.fileno(), 10).data) == b"abc"
