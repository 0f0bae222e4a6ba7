"""Readable numbers keep every bit, or are not offered."""

import numpy as np
import pytest
from rlconnect.core.data.inline_values import from_values, to_values


def test_every_half_float_is_kept_or_declined():
    """All 65536 float16 values: written readably and read back exactly, odd NaNs declined."""
    every = np.arange(65536, dtype=np.uint16).view(np.float16)
    plain = every[~np.isnan(every)]
    odd = every[np.isnan(every)]

    values = to_values(plain)
    declined = [value for value in odd if to_values(value.reshape(1)) is None]

    assert from_values(values, plain.dtype, plain.shape).tobytes() == plain.tobytes()
    assert len(declined) == len(odd) - 1  # the one NaN that `nan` means


def test_single_floats_are_short_and_exact(rng):
    """Random float32 bits come back exactly; 0.1 is written as 0.1."""
    floats = rng.integers(0, 2**32, 50_000, dtype=np.uint32).view(np.float32)
    floats = floats[~np.isnan(floats)]

    again = from_values(to_values(floats), floats.dtype, floats.shape)

    assert again.tobytes() == floats.tobytes()
    assert to_values(np.array([0.1, -0.0], np.float32)) == [0.1, -0.0]


@pytest.mark.parametrize(
    ("array", "values"),
    [
        (np.array(5, np.uint8), 5),
        (np.array([[True], [False]]), [[True], [False]]),
        (np.array([2**64 - 1], np.uint64), [2**64 - 1]),
        (np.array([1 + 2j]), [[1.0, 2.0]]),
        (np.array(["1970-01-02"], "M8[D]"), [1]),
        (np.array(["é", ""]), ["é", ""]),
        (np.zeros((0, 3)), []),
        (np.array([b"ab"]), None),
        (np.array(["\ud800"]), None),
        (np.array(["x" * 5000, *[""] * 500]), None),
    ],
)
def test_values(array, values):
    """Numbers, flags, dates and text are readable; bytes and broken text are not offered."""
    assert to_values(array) == values
    if values is not None:
        again = from_values(values, array.dtype, array.shape)
        assert (again.dtype, again.shape, again.tobytes()) == (
            array.dtype,
            array.shape,
            array.tobytes(),
        )
