"""Our own form of an array: exact in JSON and msgpack, small ones readable, nothing trusted."""

import json

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from rlconnect.core.data.array_codec import array_from_data, array_to_data
from rlconnect.core.data.budget import Budget
from rlconnect.core.errors import (
    CorruptCheckpointError,
    LimitExceededError,
    SpaceError,
    UnsafeCheckpointError,
)

NUMBERS = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64"
OTHERS = "complex64 complex128 >f4 >i8 >c16 >u2 longdouble"
DTYPES = st.sampled_from(f"{NUMBERS} {OTHERS}".split()).map(np.dtype)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=7)


def assert_same_bits(found, expected):
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()


@given(st.data(), DTYPES, SHAPES)
def test_any_bits_survive(data, dtype, shape):
    """Whatever bits an array holds, they come back from JSON and from msgpack."""
    count = int(np.prod(shape))
    if dtype.itemsize == 16 and dtype.kind == "f":  # not every pattern of bits is a long double
        array = np.full(shape, data.draw(st.floats(allow_nan=False)), dtype)
    elif dtype.kind == "b":
        array = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)))
        array = array.astype(bool).reshape(shape)
    else:
        size = count * dtype.itemsize
        bits = data.draw(st.binary(min_size=size, max_size=size))
        array = np.frombuffer(bits, dtype).reshape(shape)

    plain = array_to_data(array)

    assert_same_bits(array_from_data(json.loads(json.dumps(plain, allow_nan=False))), array)
    assert_same_bits(array_from_data(msgpack.unpackb(msgpack.packb(plain))), array)


@pytest.mark.parametrize(
    ("array", "form"),
    [
        (np.array([0.1, -np.inf], np.float32), {"values": [0.1, "-inf"]}),
        (np.array(5), {"values": [5]}),
        (np.zeros((84, 84), np.uint8), {"fill": 0}),
        (np.full(3, -0.0), {"fill": -0.0}),
        (np.array([0.0, -0.0]), {"values": [0.0, -0.0]}),
        (np.array([np.nan, np.inf]), {"values": ["nan", "inf"]}),
        (np.array([1 + 2j]), {"values": [[1.0, 2.0]]}),
        (np.zeros((0, 3)), {"values": []}),
        (np.array([True, False]), {"values": [True, False]}),
    ],
)
def test_small_arrays_are_readable(array, form):
    """A person can read what is small or uniform, down to the sign of zero."""
    data = array_to_data(array)

    content = {key: value for key, value in data.items() if key not in ("dtype", "shape")}
    assert repr(content) == repr(form)
    assert_same_bits(array_from_data(data), array)


def test_views_are_written_as_they_look():
    """Transposed, reversed and strided arrays are written in their own order."""
    base = np.arange(60.0).reshape(6, 10)

    for view in (base.T, base[::-1], base[:, ::3], np.asfortranarray(base)):
        assert_same_bits(array_from_data(array_to_data(view)), np.ascontiguousarray(view))


@pytest.mark.parametrize("array", [np.array([None]), np.array(["a"]), np.zeros(2, "M8[s]")])
def test_only_numbers_are_written(array):
    """Objects, text and times have no place here."""
    with pytest.raises(SpaceError, match="plain data"):
        array_to_data(array)


GOOD = {"dtype": "float32", "shape": [2], "values": [1.0, 2.0]}


@pytest.mark.parametrize(
    "change",
    [
        {"shape": [3]},
        {"shape": [-2]},
        {"shape": "2"},
        {"dtype": "<U4"},
        {"dtype": None},
        {"values": [1.0]},
        {"values": [1.0, None]},
        {"values": [1.0, "infinity"]},
        {"values": [1.0, True]},
        {"values": [1.0, 1e300]},
        {"values": [1.0, 10**400]},
        {"values": "12"},
        {"dtype": "int8", "values": [1, 128]},
        {"dtype": "uint8", "values": [1, -1]},
        {"dtype": "int64", "values": [1, 1.5]},
        {"dtype": "bool", "values": [1, 0]},
        {"dtype": "complex64", "values": [1.0, [1.0]]},
        {"values": None},
    ],
)
def test_contradictions_are_corrupt(change):
    """Dtype, shape and content have to agree."""
    with pytest.raises(CorruptCheckpointError):
        array_from_data({**GOOD, **change})


@pytest.mark.parametrize(
    "text", ["AAAA", "AAAAAAAAAA==AAAA", "!!!!!!!!!!==", "AAAAAAAAAAA=AAAA", 5]
)
def test_wrong_base64_is_corrupt(text):
    """Too short, too long, no base64, no text."""
    with pytest.raises(CorruptCheckpointError):
        array_from_data({"dtype": "float32", "shape": [2], "base64": text})


def test_sizes_are_checked_before_memory_is_taken():
    """A few bytes that declare terabytes end in an error."""
    with pytest.raises(LimitExceededError):
        array_from_data({"dtype": "float64", "shape": [2**40], "fill": 0.0})
    data = {"dtype": "float64", "shape": [100], "fill": 0.0}
    with pytest.raises(LimitExceededError):
        array_from_data(data, budget=Budget.of_bytes(799))


def test_objects_are_unsafe():
    """An object dtype is refused by name."""
    with pytest.raises(UnsafeCheckpointError):
        array_from_data({"dtype": "object", "shape": [1], "values": [1]})


@pytest.mark.parametrize("data", [None, [], "text", 3])
def test_what_is_no_mapping_is_corrupt(data):
    """The form is a mapping."""
    with pytest.raises(CorruptCheckpointError):
        array_from_data(data)
