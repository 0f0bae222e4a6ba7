"""Moments: each push, many at once and merges lead to the same numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.core.arrays.moments import (
    LEGACY_FLOAT32_VARIANCE,
    LEGACY_VARIANCE,
    V2_VARIANCE,
    Moments,
)

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=24)


def assert_same(moments, expected, rtol=1e-12, largest=1.0):
    assert moments.pushes == expected.pushes
    scale = max(largest, float(np.abs(expected.mean).max()))
    np.testing.assert_allclose(moments.mean, expected.mean, rtol=rtol, atol=rtol * scale)
    np.testing.assert_allclose(moments.sum_sq, expected.sum_sq, rtol=1e-9, atol=1e-9 * scale**2)


@pytest.mark.parametrize(
    ("rule", "lone", "dtype"),
    [
        (LEGACY_VARIANCE, 9.0, np.float64),
        (LEGACY_FLOAT32_VARIANCE, 9.0, np.float32),
        (V2_VARIANCE, 0.0, np.float32),
    ],
)
def test_a_single_push_has_the_variance_of_its_time(rule, lone, dtype):
    """Old versions took the mean squared, new ones zero; from 2.10 on in float32."""
    moments = Moments.zero().pushed(np.array(3.0))

    assert moments.variance(rule) == lone
    assert moments.variance(rule).dtype == dtype


@pytest.mark.parametrize("width", [1, 2, 4])
@given(NUMBERS, st.integers(0, 3))
def test_running_statistics_are_those_after_each_push(width, numbers, before):
    """The vectorised recurrence equals its definition, row by row, for any number of columns."""
    rows = np.outer(numbers, 1.0 + np.arange(width))
    largest = max(1.0, float(np.abs(rows).max(initial=0)))  # they may cancel out
    moments = Moments.zero((width,))
    for row in rows[:before]:
        moments = moments.pushed(row)

    running = moments.running(rows[before:])

    means = rows[before:] - running.deviations
    for place, row in enumerate(rows[before:]):
        moments = moments.pushed(row)
        found = Moments(int(running.counts[place, 0]), means[place], running.sum_sq[place])
        assert_same(found, moments, largest=largest)
    assert_same(running.last, moments, largest=largest)


@given(NUMBERS, st.integers(0, 24))
def test_merging_does_not_depend_on_the_order(numbers, cut):
    """Either half may come first."""
    rows = np.array(numbers)[:, None]
    one, other = Moments.of_rows(rows[:cut]), Moments.of_rows(rows[cut:])

    assert_same(one.merged(other), other.merged(one))
    assert_same(one.merged(other), Moments.of_rows(rows))
