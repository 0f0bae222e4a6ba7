"""Sequences of the old stack: RLlib's cuts, paddings and initial states."""

from pathlib import Path

import numpy as np
import pytest
from rlconnect.core.arrays.sequences import add_time_dimension, chop_into_sequences, sequence_lens
from rlconnect.core.errors import EpisodeError

RECORDED = np.load(Path(__file__).parents[2] / "golden" / "formulas" / "padding.npz")
IDS = {
    "episode_ids": np.array([1, 1, 5, 5, 5, 5]),
    "unroll_ids": np.zeros(6, int),
    "agent_indices": np.array([0, 0, 0, 0, 0, 1]),
}
OPTIONS = {
    "ids": {**IDS, "max_seq_len": 3},
    "static": {**IDS, "max_seq_len": 4, "dynamic_max": False},
    "lens": {"seq_lens": np.array([2, 4]), "max_seq_len": 3},
    "last": {"seq_lens": np.array([2, 4]), "max_seq_len": 4, "padding": "last"},
    "extra": {"seq_lens": np.array([2, 4]), "max_seq_len": 4, "_extra_padding": 2},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_sequences_are_rllibs(name):
    """Features, states and lengths equal RLlib's, by ids or by lengths."""
    features, states, lens = chop_into_sequences(
        feature_columns=[np.arange(12.0).reshape(6, 2)],
        state_columns=[np.arange(6.0) * 10],
        **OPTIONS[name],
    )

    np.testing.assert_array_equal(features[0], RECORDED[f"chop/{name}/feature"])
    np.testing.assert_array_equal(states[0], RECORDED[f"chop/{name}/state"])
    np.testing.assert_array_equal(lens, RECORDED[f"chop/{name}/lens"])


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (([0] * 6, [0, 0, 0, 1, 1, 1], [0] * 6), [3, 3]),
        (([1, 1, 2, 2, 1, 1], [0] * 6, [0] * 6), [2, 2, 2]),
        (([1, 2], [0, 0], [1, 0]), [1, 1]),
        (([], [], []), []),
    ],
)
def test_a_sequence_ends_where_any_id_changes(ids, expected):
    """Also where the ids change so that their sum does not, which RLlib overlooks."""
    result = sequence_lens(*ids, max_seq_len=4)

    assert result.dtype == np.int32
    assert result.tolist() == expected


def test_columns_of_objects_are_padded_with_what_fits():
    """None, or empty dicts for infos."""
    infos = [{"x": 1}] * 3
    options = {"state_columns": [], "max_seq_len": 2, "seq_lens": [1, 2]}

    plain = chop_into_sequences(feature_columns=[np.array(["a"] * 3, object)], **options)
    dicts = chop_into_sequences(feature_columns=[infos], pad_infos_with_empty_dicts=True, **options)

    assert plain[0][0].tolist() == ["a", None, "a", "a"]
    assert dicts[0][0].tolist() == [{"x": 1}, {}, {"x": 1}, {"x": 1}]


def test_nested_columns_become_lists_of_leaves():
    """As RLlib returns them; states keep their form and may be reduced already."""
    column = {"a": np.arange(3), "b": (np.arange(3) * 10,)}

    features, states, _ = chop_into_sequences(
        feature_columns=[column],
        state_columns=[{"h": np.array([7.0, 8.0])}],
        max_seq_len=2,
        seq_lens=[1, 2],
        handle_nested_data=True,
        states_already_reduced_to_init=True,
    )

    np.testing.assert_array_equal(features[0], [[0, 0, 1, 2], [0, 0, 10, 20]])
    np.testing.assert_array_equal(states[0]["h"], [7, 8])


def test_shuffling_moves_whole_sequences():
    """Features, states and lengths keep together."""
    features, states, lens = chop_into_sequences(
        feature_columns=[np.arange(6)],
        state_columns=[np.arange(6)],
        max_seq_len=3,
        seq_lens=np.array([1, 2, 3]),
        shuffle=True,
    )

    assert sorted(lens) == [1, 2, 3]
    starts = {1: 0, 2: 1, 3: 3}
    np.testing.assert_array_equal(states[0], [starts[one] for one in lens])
    np.testing.assert_array_equal(features[0].reshape(3, 3)[:, 0], states[0])


def test_time_gets_its_axis_back():
    """Batch first, or time first; numpy and torch."""
    torch = pytest.importorskip("torch")
    rows = np.arange(12.0).reshape(6, 2)

    result = add_time_dimension(rows, seq_lens=[3, 3])
    turned = add_time_dimension(torch.from_numpy(rows), seq_lens=torch.ones(2), time_major=True)

    np.testing.assert_array_equal(result[1, 0], [6, 7])
    np.testing.assert_array_equal(turned.numpy(), result.swapaxes(0, 1))


def test_nothing_to_cut_by_is_refused():
    """All three ids are needed."""
    with pytest.raises(EpisodeError, match="ends of the sequences"):
        chop_into_sequences(feature_columns=[], state_columns=[], max_seq_len=2, episode_ids=[1, 1])
