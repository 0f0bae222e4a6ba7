"""Batches cut into sequences; Ray's numbers are in the golden scenarios."""

import numpy as np
import pytest
from rlconnect.core.errors import PieceError
from rlconnect.legacy.batches.sample_batch import SampleBatch
from rlconnect.legacy.batches.sequences import (
    add_time_dimension,
    pad_batch_to_sequences_of_same_size,
    timeslice_along_seq_lens_with_overlap,
)
from rlconnect.legacy.views.views import ViewRequirement


def trajectory(**columns):
    return SampleBatch(
        {
            "obs": np.arange(6.0),
            "eps_id": np.array([1, 1, 5, 5, 5, 5]),
            "unroll_id": np.full(6, 4),
            "agent_index": np.zeros(6, int),
            **columns,
        }
    )


def test_a_batch_without_states_stays():
    """Nothing to cut where nothing recurs; it counts as padded, as in Ray."""
    one = trajectory()

    pad_batch_to_sequences_of_same_size(one, max_seq_len=3)

    assert one["obs"].tolist() == [0, 1, 2, 3, 4, 5]
    assert one.zero_padded


def test_padding_twice_is_padding_once():
    """A padded batch is left alone."""
    one = trajectory(state_in_0=np.arange(6.0))
    pad_batch_to_sequences_of_same_size(one, max_seq_len=3)
    before = one["obs"].tolist()

    pad_batch_to_sequences_of_same_size(one, max_seq_len=3)

    assert one["obs"].tolist() == before


def test_columns_not_needed_for_training_stay():
    """View requirements say which columns are padded; nested ones are, infos are not."""
    one = trajectory(
        state_in_0=np.arange(6.0),
        extra=np.arange(6),
        nested={"a": np.arange(6)},
        infos=[{} for _ in range(6)],
    )

    pad_batch_to_sequences_of_same_size(
        one, max_seq_len=4, view_requirements={"extra": ViewRequirement(used_for_training=False)}
    )

    assert one["nested"]["a"].tolist() == [0, 1, 0, 0, 2, 3, 4, 5]
    assert len(one["extra"]) == len(one["infos"]) == 6


def test_shuffling_keeps_sequences_whole():
    """Shuffled sequences keep their rows, lengths and states together."""
    one = trajectory(state_in_0=np.arange(6.0))

    pad_batch_to_sequences_of_same_size(one, max_seq_len=2, shuffle=True)

    starts = one["obs"].reshape(-1, 2)[:, 0]
    assert sorted(starts.tolist()) == [0.0, 2.0, 4.0]
    assert starts.tolist() == one["state_in_0"].tolist()


def test_time_axis_first():
    """Time-major swaps sequences and time."""
    found = add_time_dimension(np.arange(6), seq_lens=[2, 3], time_major=True)

    assert found.tolist() == [[0, 3], [1, 4], [2, 5]]


def test_overlapping_slices():
    """Each slice begins with the end of the one before, never across episodes."""
    one = SampleBatch(
        {
            "obs": np.arange(6.0),
            "eps_id": np.array([1, 1, 1, 1, 2, 2]),
            "state_in_0": np.ones((3, 1)),
            "state_out_0": np.arange(6.0)[:, None],
        }
    )

    pieces = timeslice_along_seq_lens_with_overlap(
        one, seq_lens=[2, 2, 2], zero_pad_max_seq_len=3, pre_overlap=1, zero_init_states=False
    )

    assert [piece["obs"].tolist() for piece in pieces] == [[0, 0, 1], [1, 2, 3], [0, 4, 5]]
    assert [piece["state_in_0"].tolist() for piece in pieces] == [[[0.0]], [[0.0]], [[3.0]]]
    with pytest.raises(PieceError, match="sequences"):
        timeslice_along_seq_lens_with_overlap(one)


def test_slices_of_a_padded_batch_have_all_of_its_sequences():
    """As in Ray 2.60: sizes are in steps that were taken, and sequences stay whole."""
    steps = np.arange(10, dtype=np.float32)
    batch = SampleBatch({"obs": steps, "state_in_0": np.zeros((3, 1)), "seq_lens": [3, 5, 2]})
    batch.right_zero_pad(max_seq_len=6)

    slices = batch.timeslices(num_slices=2)

    assert [list(each["seq_lens"]) for each in slices] == [[3], [5, 2]]
    assert [len(each["obs"]) for each in slices] == [6, 12]
