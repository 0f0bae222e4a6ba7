"""Rows of one length: RLlib's helpers, and a plan that pads and unpads any column."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.core.arrays.batching import BatchedNdArray
from rlconnect.core.arrays.padding import (
    PaddingPlan,
    create_mask_and_seq_lens,
    split_and_zero_pad,
    split_and_zero_pad_n_episodes,
    unpad_data_if_necessary,
)
from rlconnect.core.errors import EpisodeError

RECORDED = np.load(Path(__file__).parents[2] / "golden" / "formulas" / "padding.npz")


@pytest.mark.parametrize(("length", "T"), [(5, 3), (6, 3), (2, 3), (0, 3)])
def test_masks_and_lengths_are_rllibs(length, T):
    """Lists of bool arrays and of Python ints; an empty episode is one empty row."""
    masks, lens = create_mask_and_seq_lens(length, T)

    assert all(type(one) is int for one in lens)
    np.testing.assert_array_equal(masks, RECORDED[f"mask/{length}/{T}"])
    np.testing.assert_array_equal(lens, RECORDED[f"lens/{length}/{T}"])


def test_steps_are_split_as_rllibs():
    """Single steps and tagged batches of steps make the same rows."""
    tagged = [BatchedNdArray(np.arange(10.0).reshape(5, 2)), BatchedNdArray(np.ones((3, 2)))]
    data = np.arange(14).reshape(7, 2)

    np.testing.assert_array_equal(split_and_zero_pad([0, 1, 2, 3, 4], 3), RECORDED["split/numbers"])
    np.testing.assert_array_equal(split_and_zero_pad(tagged, 3), RECORDED["split/tagged"])
    np.testing.assert_array_equal(
        split_and_zero_pad_n_episodes(data, [4, 3], 3), RECORDED["split/episodes"]
    )
    np.testing.assert_array_equal(
        unpad_data_if_necessary([4, 3], np.arange(9.0).reshape(3, 3)), RECORDED["unpadded"]
    )


def test_nested_steps_stay_nested():
    """Each row is built like a step."""
    rows = split_and_zero_pad([{"a": np.ones(2, np.float32), "b": (k,)} for k in range(4)], 3)

    assert len(rows) == 2
    assert rows[1]["a"].dtype == np.float32
    np.testing.assert_array_equal(rows[1]["a"], [[1, 1], [0, 0], [0, 0]])
    np.testing.assert_array_equal(rows[1]["b"][0], [3, 0, 0])


@given(st.lists(st.integers(0, 9), max_size=6), st.integers(1, 4))
def test_unpadding_undoes_padding(lens, length):
    """Every step has one place, in order, and everything else is zero."""
    plan = PaddingPlan.of_episodes(lens, length)
    column = np.arange(1, 2 * sum(lens) + 1).reshape(-1, 2)

    padded = plan.pad(column)

    assert padded.shape == (sum(-(-one // length) for one in lens), length, 2)
    assert not padded[~plan.mask].any()
    np.testing.assert_array_equal(plan.unpad(padded), column)


@pytest.mark.parametrize(
    "column",
    [
        np.arange(24.0).reshape(4, 2, 3),
        np.arange(24).reshape(4, 6)[:, ::2],
        np.arange(24).reshape(6, 4).T,
        np.arange(4)[::-1],
        np.array([["a", "bc"], ["d", ""], ["e", "f"], ["g", "h"]]),
        np.array([[None, 1], ["x", 2.0], [3, 4], [5, 6]], object),
        np.zeros((4, 0, 2), np.float32),
    ],
    ids=["nested", "strided", "transposed", "reversed", "text", "objects", "nothing"],
)
def test_rows_of_any_kind_are_put_in_their_places(column):
    """Whatever a row is made of and however it lies in memory, it arrives as it is."""
    plan = PaddingPlan.of_episodes([3, 1], 2)
    expected = np.zeros((3, 2, *column.shape[1:]), column.dtype)
    expected[0, 0], expected[0, 1], expected[1, 0], expected[2, 0] = column

    padded = plan.pad(column)

    assert padded.dtype == column.dtype
    np.testing.assert_array_equal(padded, expected)


def test_tensors_are_padded_alike():
    """Gather and mask in torch give the rows that a masked write gives in numpy."""
    torch = pytest.importorskip("torch")
    plan = PaddingPlan.of_episodes([4, 0, 3], 3)
    column = np.arange(14.0).reshape(7, 2)

    padded = plan.pad(torch.from_numpy(column))

    np.testing.assert_array_equal(padded.numpy(), plan.pad(column))
    np.testing.assert_array_equal(plan.unpad(padded).numpy(), column)


def test_data_of_one_axis_is_not_padded():
    """It comes back as it is."""
    data = np.arange(7.0)

    assert unpad_data_if_necessary([4, 3], data) is data


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: PaddingPlan.of_episodes([3], 0), "max_seq_len"),
        (lambda: split_and_zero_pad_n_episodes(np.arange(6.0), [5, 2], 3), "7 steps"),
        (lambda: unpad_data_if_necessary([4, 9], np.zeros((3, 3))), "does not fit"),
        (lambda: unpad_data_if_necessary([4], np.zeros((3, 3, 2))), "axes"),
    ],
)
def test_data_that_does_not_fit_its_episodes_is_refused(call, match):
    """RLlib pads what is missing or fails somewhere else."""
    with pytest.raises(EpisodeError, match=match):
        call()
