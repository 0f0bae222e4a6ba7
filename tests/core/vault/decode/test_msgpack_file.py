"""The msgpack reader agrees with the msgpack library, and with Ray's own files."""

import math

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.core.data.msgpack_arrays import encode_msgpack_object
from rlconnect.core.errors import CorruptCheckpointError, LimitExceededError
from rlconnect.core.vault.decode.load_limits import Budget, Limits
from rlconnect.core.vault.decode.msgpack_file import decode_msgpack
from rlconnect.core.vault.decode.standins import Opaque

from ..fuzz import GOLDEN

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(),
    st.text(),
    st.text(min_size=30, max_size=300),
    st.binary(max_size=300),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=20),
        st.dictionaries(st.one_of(st.text(), st.integers(0, 9), st.binary()), inner, max_size=20),
    ),
    max_leaves=30,
)


def decode(data, hook=None, **limits):
    return decode_msgpack(data, Budget(Limits(**limits), len(data)), hook=hook)


def plain(value):
    """NaN equal to itself, views as bytes."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [plain(part) for part in value]
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return bytes(value) if isinstance(value, memoryview) else value


@given(VALUES)
def test_equals_the_library(value):
    """Every value the library packs is what it unpacks."""
    data = msgpack.packb(value)

    want = msgpack.unpackb(data, strict_map_key=False)

    assert plain(decode(data, hook=lambda made: made)) == plain(want)


@pytest.mark.parametrize("count", [15, 16, 255, 256, 65535, 65536])
def test_every_width_of_size(count):
    """Sizes of one, two and four bytes, of all kinds."""
    for value in ("x" * count, b"x" * count, [None] * count, {str(i): 1 for i in range(count)}):
        assert plain(decode(msgpack.packb(value))) == value


@pytest.mark.parametrize("file", sorted(GOLDEN.rglob("*.msgpck")), ids=lambda p: p.parent.name)
def test_files_of_ray(file):
    """Ray's own files: the library's structure, arrays where msgpack-numpy's maps lie."""
    data = file.read_bytes()
    arrays = []

    def compare(got, want):
        if isinstance(got, np.ndarray):
            arrays.append(got)
            assert (got.dtype.str, list(got.shape)) == (want[b"type"], want[b"shape"])
            assert got.tobytes() == want[b"data"]
        elif isinstance(got, dict):
            assert list(got) == list(want)
            for key, part in got.items():
                compare(part, want[key])
        elif isinstance(got, list):
            assert len(got) == len(want)
            for part, wanted in zip(got, want, strict=True):
                compare(part, wanted)
        else:
            assert plain(got) == want

    compare(decode(data), msgpack.unpackb(data, strict_map_key=False))

    assert arrays or file.stem == "algorithm_state"


@pytest.mark.parametrize(
    "value",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.zeros((0, 3), np.int64),
        np.array(1.5),
        np.array(["a", "é"]),
        np.array([True, False]),
        np.float32(2.5),
        np.arange(2000.0),
    ],
    ids=lambda value: f"{value.dtype}{value.shape}",
)
def test_arrays_round_trip(value):
    """What our encoder writes comes back as the same array or number."""
    got = decode(msgpack.packb({"w": value}, default=encode_msgpack_object))["w"]

    np.testing.assert_array_equal(got, value)
    assert got.dtype == value.dtype
    assert got.shape == value.shape


def test_pickled_arrays_are_inert():
    """An object array is a pickle; it is told, not read."""
    data = msgpack.packb({b"nd": True, b"type": "O", b"kind": b"O", b"shape": [1], b"data": b"N."})

    got = decode(data)

    assert isinstance(got, Opaque)
    assert "2 bytes" in got.args[0]


def test_depth_is_bounded():
    """As deep as allowed, not one deeper."""
    assert decode(b"\x91" * 20 + b"\xc0", max_depth=20)
    with pytest.raises(LimitExceededError, match="deep"):
        decode(b"\x91" * 21 + b"\xc0", max_depth=20)


def test_cut_anywhere_is_corrupt():
    """A file that ends early never decodes to something."""
    file = min(GOLDEN.rglob("*.msgpck"), key=lambda p: p.stat().st_size)
    data = file.read_bytes()

    for end in range(0, len(data), 7):
        with pytest.raises(CorruptCheckpointError):
            decode(data[:end])
