"""Buffers in one block of bytes come back as they were, whatever their sizes."""

import pickle

import numpy as np
import pytest
from gymnasium.spaces import Discrete
from rlconnect.v2 import InfiniteLookbackBuffer
from rlconnect.v2.episodes.packing import packed_buffers, unpacked_buffers

COLUMNS = [
    np.arange(3, dtype=np.uint8),
    np.arange(5, dtype=np.float32),
    np.arange(2, dtype=np.float64)[::-1],
    np.arange(12, dtype=np.int16).reshape(3, 4)[:, 1:],
    np.zeros((0, 2)),
    np.arange(40_000, dtype=np.float32),
    np.array(["a", "bc"]),
    {"a": np.arange(3), "b": (np.zeros((3, 2)),)},
    [{}, {}, {}],
    [{}, {"i": 1}],
    [1, None],
    [],
]


def test_columns_of_any_size_and_form():
    """Odd lengths, strided, empty, large, nested, texts and plain lists, all in one go."""
    shared, own = Discrete(2), Discrete(3)
    spaces = [None, shared, own]
    buffers = [
        InfiniteLookbackBuffer(column, 1, spaces[place % 3]) for place, column in enumerate(COLUMNS)
    ]

    headers, block = packed_buffers(buffers, [shared])
    back = unpacked_buffers(headers, block, [shared])

    assert len(block) < 200
    for place, (buffer, column) in enumerate(zip(back, COLUMNS, strict=True)):
        np.testing.assert_equal(buffer.data, column)
        assert buffer.finalized is not isinstance(column, list)
        assert buffer.lookback == buffers[place].lookback
        assert buffer.space == spaces[place % 3]
    assert all(type(one) is dict for one in back[8].data)
    assert back[8].data[0] is not back[8].data[1]


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_views_of_the_block_are_independent(place):
    """Writing to one column leaves its neighbours."""
    headers, block = packed_buffers([InfiniteLookbackBuffer(c.copy()) for c in COLUMNS[:4]])
    back = unpacked_buffers(headers, block)

    back[place].data[...] = 99

    for other in {0, 1, 2, 3} - {place}:
        np.testing.assert_array_equal(back[other].data, COLUMNS[other])
        assert back[other].data.flags.aligned


def test_columns_built_alike_share_a_header():
    """What tells how they are built is pickled once; their rows stay their own."""
    columns = [np.full((5, 3), value, np.int16) for value in range(4)]

    headers, block = packed_buffers(map(InfiniteLookbackBuffer, columns))
    back = unpacked_buffers(pickle.loads(pickle.dumps(headers)), block)

    assert len(pickle.dumps(headers)) < len(pickle.dumps(headers[:1])) + 20
    for buffer, column in zip(back, columns, strict=True):
        np.testing.assert_array_equal(buffer.data, column)
        buffer.append(column[0])
    assert [buffer.data.sum() for buffer in back] == [0, 18, 36, 54]
