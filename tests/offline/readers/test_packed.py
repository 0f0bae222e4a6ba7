"""LZ4 frames: what they hold, and what they may not do."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.core.data.budget import Budget, Limits
from rlconnect.core.errors import CheckpointError, CorruptCheckpointError, LimitExceededError
from rlconnect.offline.readers.packed import MAGIC, decode_lz4_frame

HEADER = MAGIC + b"\x60\x70\x00"


def extended(count):
    """A count beyond 15 as the bytes that follow the token."""
    return bytes([255] * ((count - 15) // 255) + [(count - 15) % 255]) if count >= 15 else b""


def sequence(literals, back=0, length=0):
    token = min(len(literals), 15) << 4 | (min(length - 4, 15) if back else 0)
    tail = back.to_bytes(2, "little") + extended(length - 4) if back else b""
    return bytes([token]) + extended(len(literals)) + literals + tail


def frame(*blocks):
    sized = (len(block).to_bytes(4, "little") + block for block in blocks)
    return HEADER + b"".join(sized) + bytes(4)


PIECES = st.lists(
    st.tuples(st.binary(min_size=1, max_size=400), st.integers(1, 400), st.integers(4, 700)),
    max_size=8,
)


@given(PIECES, st.binary(max_size=300))
def test_what_was_packed_comes_back(pieces, last):
    """Any row of bytes and copies of earlier ones unfolds to what the format says."""
    block, whole = b"", bytearray()
    for literals, back, length in pieces:
        whole += literals
        back = min(back, len(whole))
        block += sequence(literals, back, length)
        for _ in range(length):
            whole.append(whole[-back])
    whole += last

    assert decode_lz4_frame(frame(block + sequence(last)), Budget()) == whole


@given(st.binary(max_size=200))
def test_noise_is_refused_by_name(noise):
    """Whatever follows the magic number ends in a value or in an error of ours."""
    with suppress(CheckpointError):
        decode_lz4_frame(MAGIC + noise, Budget())


def test_every_cut_of_a_frame_is_told():
    """A frame that ends early is damage, wherever it ends."""
    whole = frame(sequence(b"abcdef", 3, 40) + sequence(b"end"))

    for stop in range(len(whole)):
        with pytest.raises(CorruptCheckpointError):
            decode_lz4_frame(whole[:stop], Budget())


def test_a_copy_from_before_the_beginning_is_refused():
    """No stretch is copied from where nothing lies yet."""
    with pytest.raises(CorruptCheckpointError, match="before its beginning"):
        decode_lz4_frame(frame(sequence(b"ab", 3, 4) + sequence(b"")), Budget())


def test_a_bomb_stops_at_the_budget():
    """A few kilobytes that unfold to a megabyte stop where the budget ends."""
    bomb = frame(sequence(b"a", 1, 1 << 20) + sequence(b""))

    with pytest.raises(LimitExceededError, match="unfolds to more"):
        decode_lz4_frame(bomb, Budget.of_bytes(1 << 16))
    assert len(decode_lz4_frame(bomb, Budget.of_bytes(1 << 21))) == (1 << 20) + 1


@pytest.mark.parametrize("size", [0, 5, 70_000, 3_000_000])
def test_the_library_and_the_decoder_agree(size, rng, monkeypatch):
    """A large frame unfolds to the same by pyarrow and here, and is bounded in both."""
    pa = pytest.importorskip("pyarrow")
    plain = rng.integers(0, 4, size).astype(np.uint8).tobytes()
    frame = pa.compress(plain, "lz4", asbytes=True)
    small = Budget(Limits(base_memory=size // 2, memory_factor=0))

    by_library = bytes(decode_lz4_frame(frame, Budget()))
    if size:
        with pytest.raises(LimitExceededError):
            decode_lz4_frame(frame, small)
    monkeypatch.setattr("rlconnect.offline.readers.packed._SMALL", 1 << 40)

    assert by_library == bytes(decode_lz4_frame(frame, Budget())) == plain


def test_a_damaged_large_frame_is_told(rng):
    """What the library refuses is told as our own decoder finds it."""
    pa = pytest.importorskip("pyarrow")
    frame = pa.compress(
        rng.integers(0, 256, 50_000).astype(np.uint8).tobytes(), "lz4", asbytes=True
    )

    with pytest.raises(CorruptCheckpointError):
        decode_lz4_frame(frame[: len(frame) // 2], Budget())
