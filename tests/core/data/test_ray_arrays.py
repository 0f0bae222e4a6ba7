"""Ray's text form of arrays: read back exactly, stopped when it lies."""

import base64
import io
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as hnp
from rlconnect.core.data.budget import Budget
from rlconnect.core.data.ray_arrays import decode_ray_array, encode_ray_array
from rlconnect.core.errors import (
    CheckpointError,
    CorruptCheckpointError,
    LimitExceededError,
    SpaceError,
    UnsafeCheckpointError,
)

NUMBERS = hnp.arrays(
    dtype=hnp.boolean_dtypes() | hnp.integer_dtypes() | hnp.floating_dtypes(),
    shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
)


def text_of(header, content=b"", version=1):
    head = header.encode()
    width = 2 if version == 1 else 4
    start = b"\x93NUMPY" + bytes([version, 0]) + len(head).to_bytes(width, "little")
    return base64.b64encode(zlib.compress(start + head + content)).decode()


HEADER = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"


@given(NUMBERS)
def test_arrays_survive(array):
    """Dtype, byte order, shape and bits come back; Fortran order does not matter."""
    for given_array in (array, array.T):
        found = decode_ray_array(encode_ray_array(given_array))

        assert found.dtype == given_array.dtype
        assert found.shape == given_array.shape
        assert found.tobytes() == given_array.tobytes()


@given(NUMBERS)
def test_any_single_flipped_bit_is_noticed_or_harmless(array):
    """Damage ends in an error of ours or in an array of the declared form, never in a crash."""
    packed = bytearray(base64.b64decode(encode_ray_array(array)))
    place = (len(packed) * 7) // 11
    packed[place] ^= 4

    try:
        found = decode_ray_array(base64.b64encode(packed))
    except CheckpointError:
        return
    assert isinstance(found, np.ndarray)


def test_what_numpy_writes_is_read():
    """The three versions of the .npy header are understood."""
    content = np.array([1.5, -2.0], "<f4").tobytes()

    for version in (1, 2, 3):
        found = decode_ray_array(text_of(HEADER, content, version))
        assert found.tolist() == [1.5, -2.0]


def test_the_result_shares_no_writable_memory():
    """Decoded arrays are read-only views of the inflated bytes."""
    assert not decode_ray_array(encode_ray_array(np.zeros(3))).flags.writeable


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (__import__('os').getpid(),), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'extra': 1}",
        "{'descr': '<f4', 'fortran_order': 1, 'shape': (2,), }",
        "{'descr': '<f4', 'shape': (2,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': [2], }",
        "{'descr': '<U1', 'fortran_order': False, 'shape': (2,), }",
        "",
        "{" * 500,
    ],
)
def test_headers_are_matched_not_evaluated(header):
    """Only the exact form numpy writes is a header; nothing in it runs."""
    with pytest.raises(CorruptCheckpointError):
        decode_ray_array(text_of(header, bytes(8)))


@pytest.mark.parametrize("descr", ["'|O'", "[('a', '<f4')]"])
def test_objects_and_fields_are_unsafe(descr):
    """What would make numpy unpickle is refused."""
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': (2,), }}"

    with pytest.raises(UnsafeCheckpointError):
        decode_ray_array(text_of(header, bytes(16)))


@pytest.mark.parametrize("size", [0, 7, 9, 4096])
def test_content_must_fill_the_shape_exactly(size):
    """Less or more data than declared is corrupt."""
    with pytest.raises(CorruptCheckpointError):
        decode_ray_array(text_of(HEADER, bytes(size)))


def test_a_bomb_is_not_inflated():
    """Data that inflates a thousandfold is stopped where the header ends it."""
    bomb = zlib.compress(bytes(2**24))
    lying = text_of(HEADER, bytes(2**24))

    with pytest.raises(CorruptCheckpointError, match="does not end"):
        decode_ray_array(lying)
    with pytest.raises(CheckpointError):
        decode_ray_array(base64.b64encode(bomb))


def test_declared_size_is_checked_first():
    """An honest but large array needs leave."""
    text = encode_ray_array(np.zeros(1000))

    with pytest.raises(LimitExceededError):
        decode_ray_array(text, budget=Budget.of_bytes(4000))
    assert decode_ray_array(text, budget=Budget.of_bytes(20_000)).shape == (1000,)


def test_a_long_header_is_refused():
    """The header's own length is bounded."""
    with pytest.raises(LimitExceededError, match="header"):
        decode_ray_array(text_of(HEADER + " " * 20_000, bytes(8)))


@pytest.mark.parametrize("text", ["", "not base64!", "AAAA", b"\xff", 5, None, ["a"]])
def test_other_things_are_corrupt(text):
    """No text, no base64, no zlib, no .npy."""
    with pytest.raises(CorruptCheckpointError):
        decode_ray_array(text)


def test_a_cut_text_is_corrupt():
    """A stream without its end is noticed even if all numbers are there."""
    packed = base64.b64decode(encode_ray_array(np.arange(50)))

    for end in (len(packed) - 1, len(packed) - 4, len(packed) // 2, 3):
        with pytest.raises(CorruptCheckpointError):
            decode_ray_array(base64.b64encode(packed[:end]))


def test_objects_are_not_written():
    """Our twin does not pickle either."""
    with pytest.raises(SpaceError):
        encode_ray_array(np.array([None]))


def test_the_text_is_an_npy_file():
    """Ray, or anybody with numpy, can read what we write."""
    array = np.arange(6, dtype=">i4").reshape(2, 3)
    content = zlib.decompress(base64.b64decode(encode_ray_array(array)))

    assert np.load(io.BytesIO(content), allow_pickle=False).tolist() == array.tolist()
