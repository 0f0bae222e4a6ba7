"""Arrays inside msgpack, as Ray's files hold them."""

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as hnp
from rlconnect.core.data.msgpack_arrays import decode_msgpack_object, encode_msgpack_object
from rlconnect.core.errors import CorruptCheckpointError, SpaceError, UnsafeCheckpointError


def through_msgpack(value, *, raw):
    packed = msgpack.packb(value, default=encode_msgpack_object)
    return msgpack.unpackb(packed, object_hook=decode_msgpack_object, raw=raw, strict_map_key=False)


@given(
    hnp.arrays(
        dtype=hnp.boolean_dtypes()
        | hnp.integer_dtypes()
        | hnp.floating_dtypes()
        | hnp.complex_number_dtypes()
        | hnp.unicode_string_dtypes(),
        shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
    )
)
def test_arrays_survive(array):
    """Packed and unpacked, with keys as text or bytes, the bits are the same."""
    for raw in (False, True):
        found = through_msgpack({"w": [array]}, raw=raw)[b"w" if raw else "w"][0]

        assert found.dtype == array.dtype
        assert found.shape == array.shape
        assert found.tobytes() == array.tobytes()


@pytest.mark.parametrize(
    "value", [np.float32(1.5), np.int64(-3), np.bool_(True), 1 + 2j, np.uint8(7)]
)
def test_numbers_survive(value):
    """numpy numbers keep their type, complex ones their parts."""
    found = through_msgpack(value, raw=False)

    assert found == value
    assert type(found) is type(value)


def test_the_layout_is_the_one_in_rays_files():
    """Keys are bytes, types are numpy's codes."""
    assert encode_msgpack_object(np.ones((1, 2), np.float32)) == {
        b"nd": True,
        b"type": "<f4",
        b"kind": b"",
        b"shape": [1, 2],
        b"data": np.ones(2, np.float32).tobytes(),
    }


def test_text_keys_are_read_too():
    """Some writers decode the keys to text."""
    data = {"nd": True, "type": "<i2", "kind": "", "shape": [2], "data": b"\1\0\2\0"}

    assert decode_msgpack_object(data).tolist() == [1, 2]


def test_arrays_share_the_bytes_of_the_file():
    """Nothing is copied, so nothing may be written."""
    content = np.arange(4.0).tobytes()

    found = decode_msgpack_object(
        {b"nd": True, b"type": "<f8", b"kind": b"", b"shape": [4], b"data": content}
    )

    assert not found.flags.writeable
    assert found.ctypes.data == np.frombuffer(content).ctypes.data


@pytest.mark.parametrize(
    "value", [{}, {"nd": 3}, {"nd": "x", "type": 1}, {"complex": False}, {1: 2}]
)
def test_other_maps_pass_through(value):
    """A map that is no array is handed back itself."""
    assert decode_msgpack_object(value) is value


GOOD = {b"nd": True, b"type": "<f4", b"kind": b"", b"shape": [2], b"data": bytes(8)}


@pytest.mark.parametrize(
    "change",
    [
        {b"shape": [3]},
        {b"shape": [2**40]},
        {b"shape": [-2, -1]},
        {b"shape": None},
        {b"shape": [2.0]},
        {b"type": "<f8"},
        {b"type": "nope"},
        {b"type": 4},
        {b"type": "<M8[0ns]x"},
        {b"type": "<U999999999"},
        {b"data": None},
        {b"data": "text"},
        {b"data": bytes(7)},
        {b"nd": False},
    ],
)
def test_contradictions_are_corrupt(change):
    """Shape, type and data have to agree to the byte; nothing is allocated to find out."""
    with pytest.raises(CorruptCheckpointError):
        decode_msgpack_object({**GOOD, **change})


@pytest.mark.parametrize("dtype", ["U0", "<U0", ">U0", "=U0", "S0", "|S0", "<S0", "|V0", "V0"])
@pytest.mark.parametrize("shape", [[1], [10**9], [2**40, 3], [1] * 20])
@pytest.mark.parametrize("as_key", [str, str.encode])
def test_elements_of_no_size_are_corrupt(dtype, shape, as_key):
    """An array whose elements take no bytes is refused, however many elements it declares."""
    data = {"nd": True, "type": dtype, "kind": b"", "shape": shape, "data": b""}

    with pytest.raises(CorruptCheckpointError):
        decode_msgpack_object({as_key(key): value for key, value in data.items()})


@pytest.mark.parametrize("dtype", ["<f4", "|b1", "<U3", "|S1", "<M8[s]"])
@pytest.mark.parametrize("shape", [[10**9, 0], [0, 10**9], [2**13, 0, 2**13]])
def test_empty_arrays_with_long_axes_are_corrupt(dtype, shape):
    """No bytes must not stand for a billion empty rows, each of which may become a list."""
    data = {b"nd": True, b"type": dtype, b"kind": b"", b"shape": shape, b"data": b""}

    with pytest.raises(CorruptCheckpointError):
        decode_msgpack_object(data)
    assert decode_msgpack_object({**data, b"shape": [3, 0, 84, 84]}).shape == (3, 0, 84, 84)


def test_impossible_characters_are_corrupt():
    """Text arrays whose numbers are no characters are refused, not handed on to break later."""
    data = {**GOOD, b"type": "<U2", b"shape": [1], b"data": b"\xff" * 8}

    with pytest.raises(CorruptCheckpointError):
        decode_msgpack_object(data)


def test_pickles_are_never_run():
    """An object array is refused, or what the caller's `on_pickle` makes of its bytes."""
    data = {**GOOD, b"type": "|O", b"kind": b"O", b"data": b"cos\nsystem\n(S'true'\ntR."}

    with pytest.raises(UnsafeCheckpointError):
        decode_msgpack_object(data)
    with pytest.raises(UnsafeCheckpointError):
        decode_msgpack_object({**data, b"kind": b""})
    assert decode_msgpack_object(data, on_pickle=len) == len(data[b"data"])


def test_fields_are_unsafe():
    """Structured arrays do not occur in checkpoints."""
    with pytest.raises(UnsafeCheckpointError):
        decode_msgpack_object({**GOOD, b"kind": b"V", b"type": [["a", "<f4"]]})


@pytest.mark.parametrize("text", ["__import__('os')", "1+", "", "1" * 500, None, 5])
def test_complex_numbers_are_matched(text):
    """The text of a complex number is a number, nothing else."""
    with pytest.raises(CorruptCheckpointError):
        decode_msgpack_object({b"complex": True, b"data": text})


def test_what_has_no_form_is_refused():
    """Objects raise a TypeError, as msgpack expects of a default; object arrays say why."""
    with pytest.raises(TypeError):
        encode_msgpack_object(object())
    with pytest.raises(SpaceError):
        encode_msgpack_object(np.array([None]))
