"""Mean-std filters: RLlib's numbers of five versions, running and frozen."""

from pathlib import Path

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
from rlconnect.core.formulas.filters import FrozenFilter, centred, filter_running
from rlconnect.core.formulas.running_stat import RunningStat

GOLDEN = Path(__file__).parents[2] / "golden" / "formulas"
RECORDED = np.load(GOLDEN / "statistics.npz")
ROWS = RECORDED["rows"]
OPTIONS = {
    "plain": {},
    "keeps_mean": {"demean": False},
    "keeps_std": {"destd": False},
    "clip_1": {"clip": 1.0},
    "no_clip": {"clip": None},
}


@pytest.mark.parametrize(
    ("version", "rule"),
    [
        ("2.2.0", LEGACY_VARIANCE),
        ("2.7.2", LEGACY_VARIANCE),
        ("2.10.0", LEGACY_FLOAT32_VARIANCE),
        ("2.60.0", V2_VARIANCE),
    ],
)
def test_frozen_filters_equal_recordings_to_the_bit(version, rule):
    """What policies of four releases were given comes out again, batched."""
    recorded = np.load(GOLDEN / "old_filters.npz")
    parts = [recorded[f"{version}/{name}"] for name in ("n", "mean", "sum_sq")]

    one = FrozenFilter.of(Moments(int(parts[0]), *parts[1:]), rule=rule, clip=None)
    result = one(recorded[f"{version}/raw"])

    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, recorded[f"{version}/out"])


@pytest.mark.parametrize("name", OPTIONS)
def test_running_filters_equal_rllibs_pushed_one_by_one(name):
    """Each row is filtered by the statistics up to itself; later ones by all of them."""
    stat = RunningStat((3,))

    result = filter_running(stat, ROWS, rule=V2_VARIANCE, **OPTIONS[name])
    frozen = FrozenFilter.of(stat, rule=V2_VARIANCE, **OPTIONS[name])(ROWS * 2)

    assert result.dtype == np.float32
    np.testing.assert_allclose(result, RECORDED[f"filter/{name}"], rtol=2e-6, atol=2e-6)
    np.testing.assert_allclose(frozen, RECORDED[f"frozen/{name}"], rtol=2e-6, atol=2e-6)


def test_the_new_stacks_filter_equals_rllibs():
    """Three steps of four environments: every environment sees those before it."""
    stat = RunningStat((3,), tracks_delta=True)

    rows = [filter_running(stat, part, rule=V2_VARIANCE) for part in ROWS.reshape(3, 4, 3)]

    np.testing.assert_array_equal(rows[0][0], np.zeros(3))
    expected = RECORDED["v2_filter"]
    np.testing.assert_allclose(np.concatenate(rows), expected, rtol=2e-6, atol=2e-6)


def test_a_fresh_filter_is_rllibs():
    """Nothing seen, nothing subtracted, and a division by almost nothing meets the clip."""
    result = FrozenFilter.of(RunningStat((2,)))(np.ones(2))

    np.testing.assert_array_equal(result, RECORDED["filter/fresh"])


@given(st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=20), st.integers(0, 2))
def test_running_is_pushing_and_filtering_in_turn(numbers, which):
    """The vectorised filter equals the loop it stands for, by every rule."""
    rule = (LEGACY_VARIANCE, LEGACY_FLOAT32_VARIANCE, V2_VARIANCE)[which]
    rows = np.array(numbers)[:, None]
    stat, loop = RunningStat((1,)), RunningStat((1,))

    result = filter_running(stat, rows, rule=rule)

    for row, found in zip(rows, result, strict=True):
        loop.push(row)
        expected = FrozenFilter.of(loop, rule=rule)(row)
        # Where rows hardly differ, rounding is all there is to divide by.
        steady = 1e-12 * max(np.abs(rows).max(), 1) / (np.sqrt(loop.total.variance(rule)) + 1e-6)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 + float(steady[0]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_the_input_decides_the_dtype(dtype):
    """Integers are cut off towards zero, as RLlib does."""
    x = np.array([7, -7], dtype)

    result = centred(x, np.array([0.0, 0.0]), np.array([2.0, 2.0]), 10.0)

    assert result.dtype == dtype
    np.testing.assert_array_equal(np.trunc(result), [3, -3])


def test_numbers_stay_numbers():
    """A scalar comes back as a scalar of numpy."""
    result = centred(3.0, 1.0, 2.0, 10.0)

    assert isinstance(result, np.float64)


@pytest.mark.torch("2.6")
@pytest.mark.parametrize("rule", [LEGACY_VARIANCE, V2_VARIANCE])
def test_tensors_give_the_same_numbers_in_one_graph(rule, rng):
    """The compiled path computes in float64 too, and returns the dtype it was given."""
    torch = pytest.importorskip("torch")
    one = FrozenFilter.of(Moments.of_rows(ROWS), rule=rule)
    x = (rng.normal(size=(5, 4, 3)) * 100).astype(np.float32)

    compiled = torch.compile(one.on("cpu"), backend="eager", fullgraph=True)

    result = compiled(torch.from_numpy(x)).numpy()
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, one(x), rtol=1e-6, atol=1e-7)
