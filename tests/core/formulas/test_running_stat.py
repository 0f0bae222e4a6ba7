"""Running statistics: RLlib's numbers, merging that counts everything once, states that travel."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.core.arrays.moments import V2_VARIANCE, Moments
from rlconnect.core.errors import CorruptCheckpointError, SpaceError
from rlconnect.core.formulas.running_stat import RunningStat

from tests.core.arrays.test_moments import NUMBERS, assert_same

GOLDEN = Path(__file__).parents[2] / "golden" / "formulas"
RECORDED = np.load(GOLDEN / "statistics.npz")
ROWS = RECORDED["rows"]


def pushed(rows, **options):
    stat = RunningStat(rows.shape[1:], **options)
    for row in rows:
        stat.push(row)
    return stat


def test_every_push_is_rllibs():
    """Mean and sum of squares after each push; Ray 2.60 rounds its product otherwise."""
    stat = RunningStat((3,))

    for row, mean, sum_sq in zip(ROWS, RECORDED["means"], RECORDED["sums"], strict=False):
        stat.push(row)
        np.testing.assert_array_equal(stat.mean, mean)
        np.testing.assert_allclose(stat.total.sum_sq, sum_sq, rtol=1e-14)


def test_a_merge_is_rllibs():
    """Two streams together equal what RLlib makes of them."""
    stat, other = pushed(ROWS[:8]), pushed(ROWS[8:])

    stat.update(other)

    assert stat.n == len(ROWS)
    np.testing.assert_allclose(stat.mean, RECORDED["merged_mean"], rtol=1e-14)
    np.testing.assert_allclose(stat.total.sum_sq, RECORDED["merged_sum"], rtol=1e-14)
    variance = stat.total.variance(V2_VARIANCE)
    assert variance.dtype == RECORDED["merged_var"].dtype
    np.testing.assert_allclose(variance, RECORDED["merged_var"], rtol=1e-7)


@given(NUMBERS, st.integers(0, 24))
def test_rows_at_once_are_rows_one_by_one(numbers, cut):
    """A batch, a running batch and single pushes lead to the same statistics."""
    rows = np.array(numbers)[:, None]
    expected = pushed(rows).total

    batched, running = pushed(rows[:cut]), pushed(rows[:cut])
    batched.push_batch(rows[cut:])
    running.push_running(rows[cut:])

    assert_same(batched.total, expected)
    assert_same(running.total, expected)


def test_deltas_count_everything_once_over_many_rounds(rng):
    """Two workers, three rounds: the merged statistics are those of all data."""
    rows = rng.normal(50, 3, (3, 2, 10, 2))
    merged = RunningStat((2,))

    for round_ in rows:
        state = merged.to_state("v2")
        for part in round_:
            worker = RunningStat.from_state(state)
            worker.start_delta()
            worker.push_running(part)
            merged.merge(worker.delta)

    assert_same(merged.total, Moments.of_rows(rows.reshape(-1, 2)))


@pytest.mark.parametrize("layout", ["legacy", "v2"])
def test_states_round_trip(layout):
    """Either layout holds everything that later pushes build on, as plain data."""
    stat = pushed(ROWS, tracks_delta=True)

    state = json.loads(json.dumps(stat.to_state(layout)))
    twin = RunningStat.from_state(state)

    assert_same(twin.total, stat.total, rtol=0)
    assert (twin.delta is not None) == (layout == "v2")


def test_the_new_layout_is_rllibs():
    """Entries have RLlib's names, and a text of RLlib's is read."""
    assert list(RunningStat().to_state("v2")) == list(RECORDED["state_keys"])

    state = {**RunningStat((3,)).to_state(), "mean_array": str(RECORDED["state_mean_text"])}

    np.testing.assert_array_equal(RunningStat.from_state(state).mean, RECORDED["merged_mean"])


@pytest.mark.parametrize("version", ["2.2.0", "2.7.2", "2.10.0", "2.60.0"])
def test_states_of_checkpoints_are_read(version):
    """What eight releases wrote comes back with its numbers."""
    recorded = np.load(GOLDEN / "old_filters.npz")

    stat = RunningStat.from_state(json.loads(str(recorded[f"{version}/state"])))

    assert stat.num_pushes == recorded[f"{version}/n"]
    np.testing.assert_array_equal(stat.mean, recorded[f"{version}/mean"])
    np.testing.assert_array_equal(stat.total.sum_sq, recorded[f"{version}/sum_sq"])


def test_a_copy_goes_its_own_way():
    """Pushing to one leaves the other alone."""
    stat = pushed(ROWS[:2], tracks_delta=True)

    twin = stat.copy()
    twin.push(ROWS[2])

    assert (stat.n, twin.n, twin.delta.pushes) == (2, 3, 3)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"mean_array": None}, "incomplete"),
        ({"num_pushes": -1}, "no count"),
        ({"std_array": np.zeros(2)}, "contradict"),
        ({"mean_array": np.array(["a"])}, "no numbers"),
    ],
)
def test_broken_states_are_refused(change, match):
    """The error says which entry is wrong."""
    state = {**RunningStat((3,)).to_state(), **change}
    state = {key: value for key, value in state.items() if value is not None}

    with pytest.raises(CorruptCheckpointError, match=match):
        RunningStat.from_state(state)


def test_arrays_of_another_shape_are_refused():
    """One push of a wrong shape would spoil all that follow."""
    with pytest.raises(SpaceError, match="shape"):
        RunningStat((2,)).push(np.zeros(3))
    with pytest.raises(SpaceError, match="shape"):
        RunningStat((2,)).push_batch(np.zeros((4, 3)))


def test_statistics_have_rllibs_names(rng):
    """What strangers' code and tests read of a filter, whichever release they were written for."""
    stat = RunningStat((2,), tracks_delta=True)
    stat.push_batch(rng.normal(size=(6, 2)))
    stat.start_delta()
    stat.push(np.ones(2))

    assert stat.num_pushes == 7
    assert stat.num_pushes_delta == 1
    np.testing.assert_array_equal(stat.mean_array, stat.mean)
    np.testing.assert_allclose(stat.sum_sq_diff_array / 6, stat.var)
    np.testing.assert_array_equal(stat.std_array, stat.sum_sq_diff_array)
    np.testing.assert_array_equal(stat.mean_delta_array, np.ones(2))
    np.testing.assert_array_equal(stat.sum_sq_diff_delta_array, np.zeros(2))
    assert RunningStat((2,)).num_pushes_delta == 0
