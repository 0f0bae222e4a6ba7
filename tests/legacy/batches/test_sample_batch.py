"""The column store: what Ray's numbers in the golden scenarios leave open."""

import copy
import pickle

import numpy as np
import pytest
from gymnasium.spaces import Box
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.core.errors import PieceError
from rlconnect.legacy.batches.multi_agent_batch import concat_samples
from rlconnect.legacy.batches.sample_batch import SampleBatch
from rlconnect.legacy.views.views import ViewRequirement


def batch():
    return SampleBatch({"obs": np.arange(6.0).reshape(3, 2), "rewards": [1.0, 2.0, 3.0]})


def sequences(lens):
    total = sum(lens)
    return SampleBatch(
        {
            "obs": np.arange(total * 2.0).reshape(total, 2),
            "nested": {"a": (np.arange(total),)},
            "infos": [{"i": i} for i in range(total)],
            "state_in_0": np.arange(len(lens))[:, None] * 10.0,
            "seq_lens": np.array(lens),
        }
    )


LENS = st.lists(st.integers(1, 5), min_size=1, max_size=6)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(LENS, st.data())
def test_cut_and_joined_is_whole(lens, data):
    """Cutting anywhere and joining gives every row back, states once more at the cut."""
    whole = sequences(lens)
    place = data.draw(st.integers(0, len(whole)))

    joined = concat_samples([whole.slice(0, place), whole.slice(place, len(whole))])

    np.testing.assert_array_equal(joined["obs"], whole["obs"])
    assert joined["infos"] == whole["infos"]
    assert int(joined["seq_lens"].sum()) == len(whole)
    assert len(joined["state_in_0"]) == len(joined["seq_lens"])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(LENS, st.integers(0, 12), st.integers(0, 12))
def test_an_index_never_cuts_a_sequence(lens, start, stop):
    """Whatever the edges of a slice, sequences in it are whole and rows match their lengths."""
    piece = sequences(lens)[start:stop]

    assert len(piece["obs"]) == piece["seq_lens"].sum() == len(piece["nested"]["a"][0])
    assert set(piece["seq_lens"].tolist()) <= set(lens)
    assert len(piece["state_in_0"]) == len(piece["seq_lens"])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(LENS, st.integers(1, 7))
def test_pieces_cover_the_batch(lens, size):
    """Timeslices by size or by number hold all rows, in order."""
    whole = sequences(lens)

    for pieces in (whole.timeslices(size=size), whole.timeslices(num_slices=size)):
        rows = [row for piece in pieces for row in piece["obs"].tolist()]
        assert rows == whole["obs"].tolist()


@settings(max_examples=30, deadline=None, derandomize=True)
@given(LENS)
def test_padding_keeps_steps_and_adds_zeros(lens):
    """A padded batch counts its steps, and each sequence sits at the start of its block."""
    padded, whole = sequences(lens).right_zero_pad(6), sequences(lens)

    blocks = padded["obs"].reshape(len(lens), 6, 2)
    steps = np.concatenate([block[:n] for block, n in zip(blocks, lens, strict=True)])
    np.testing.assert_array_equal(steps, whole["obs"])
    assert padded.count == len(whole)
    assert np.abs(blocks).sum() == np.abs(whole["obs"]).sum()
    assert (padded.zero_padded, padded.max_seq_len) == (True, 6)


def test_rows_bring_their_sequence_s_state():
    """Each step as a dict, with the state at the start of its sequence."""
    rows = list(sequences([1, 2]).rows())

    assert [row["state_in_0"].tolist() for row in rows] == [[0.0], [10.0], [10.0]]
    assert rows[2]["infos"] == {"i": 2}
    assert rows[1]["nested"]["a"][0] == 1


def test_shuffling_moves_rows_together():
    """All columns are put in one order; the values stay, sequences stay whole."""
    plain = batch().shuffle()
    padded = sequences([2, 3, 1]).right_zero_pad(3).shuffle()

    assert sorted(plain["rewards"]) == [1.0, 2.0, 3.0]
    assert (plain["obs"][:, 0] == (plain["rewards"] - 1) * 2).all()
    first_rows = padded["obs"].reshape(3, 3, 2)[:, 0, 0]
    starts = {0.0: 0.0, 10.0: 4.0, 20.0: 10.0}
    assert first_rows.tolist() == [starts[state] for state in padded["state_in_0"][:, 0]]
    with pytest.raises(PieceError, match="padded"):
        sequences([2, 3]).shuffle()


@pytest.mark.parametrize(
    "copier", [copy.deepcopy, lambda b: pickle.loads(pickle.dumps(b)), lambda b: b.copy()]
)
def test_copies_are_independent_and_alike(copier):
    """A copy has the columns and flags, and its own memory."""
    one = sequences([1, 2]).right_zero_pad(4)
    one.set_training(True)

    twin = copier(one)
    twin["obs"][0] = 99

    assert type(twin) is SampleBatch
    assert (twin.zero_padded, twin.max_seq_len, twin.is_training) == (True, 4, True)
    assert one["obs"][0, 0] == 0.0


def test_shallow_copies_share_arrays():
    """Columns may be replaced in one and not in the other."""
    one = batch()
    twin = one.copy(shallow=True)
    twin["rewards"] = np.zeros(3)

    assert twin["obs"] is one["obs"]
    assert one["rewards"].tolist() == [1.0, 2.0, 3.0]


def test_a_missing_column_is_a_key_error_that_lists_the_others():
    """KeyError as of a dict, with the names there are; get() stays silent."""
    with pytest.raises(KeyError, match="obs"):
        batch()["obz"]
    assert batch().get("obz", 7) == 7


def test_dones_are_terminateds():
    """The old name reads the new column."""
    ends = SampleBatch({"terminateds": np.array([False, True])})

    assert ends["dones"].tolist() == [False, True]


def test_an_interceptor_changes_columns_once():
    """Columns pass it when first read; what is set afresh passes again; None switches it off."""
    one, calls = batch(), []
    one.set_get_interceptor(lambda column: calls.append(1) or column * 10)

    values = [one["rewards"][0], one["rewards"][1]]
    one["rewards"] = np.zeros(3)
    values.append(one["rewards"][0])
    one.set_get_interceptor(None)

    assert values == [10.0, 20.0, 0.0]
    assert len(calls) == 2
    assert one["rewards"].tolist() == [0.0, 0.0, 0.0]


def test_access_is_noted():
    """Which columns were read, added and deleted."""
    one = batch()
    one["obs"]
    one["extra"] = np.zeros(3)
    del one["extra"]

    assert (one.accessed_keys, one.added_keys, one.deleted_keys) == ({"obs"}, {"extra"}, {"extra"})
    with pytest.raises(AttributeError, match="nothing"):
        _ = one.nothing


def test_sequences_may_be_indexed_by_number():
    """After enable_slicing_by_batch_id, a slice counts sequences."""
    one = sequences([1, 2, 2])
    one.enable_slicing_by_batch_id()
    piece = one[1:3]
    one.disable_slicing_by_batch_id()

    assert piece["seq_lens"].tolist() == [2, 2]
    assert len(piece["obs"]) == 4
    assert len(one[0:1]["obs"]) == 1


def test_time_major_batches_are_cut_and_joined_along_their_axes():
    """Slices take time steps; joining adds sequences."""
    one = SampleBatch(
        {"obs": np.arange(6).reshape(3, 2), "seq_lens": np.array([2, 3])}, _time_major=True
    )

    assert one[0:2]["obs"].tolist() == [[0, 1], [2, 3]]
    assert concat_samples([one, one])["obs"].shape == (3, 4)


@pytest.mark.parametrize(
    ("parts", "match"),
    [
        ([{"a": [1]}, {"b": [1]}], "lacks columns"),
        ([{"a": np.zeros((1, 2))}, {"a": np.zeros((1, 3))}], "'a' cannot be joined"),
    ],
)
def test_unequal_batches_do_not_join(parts, match):
    """Missing columns and other shapes are told by name."""
    with pytest.raises(PieceError, match=match):
        concat_samples([SampleBatch(part) for part in parts])


def test_padding_must_agree_to_join():
    """A padded batch does not join one that is not, nor one of another length."""
    short, long = sequences([1]).right_zero_pad(2), sequences([1]).right_zero_pad(3)

    with pytest.raises(PieceError, match="max_seq_len"):
        concat_samples([short, long])
    with pytest.raises(PieceError, match="zero_padded"):
        concat_samples([short, sequences([1])])


def test_one_step_of_a_trajectory():
    """At the end of a trajectory its last values are the previous ones, "new_obs" the present."""
    needs = {
        "obs": ViewRequirement(space=Box(-1, 1, ())),
        "prev_actions": ViewRequirement("actions", shift=-1),
        "prev": ViewRequirement("rewards", shift="-2:-1"),
        "state_in_0": ViewRequirement("state_out_0", shift=-1),
        "unused": ViewRequirement(used_for_compute_actions=False),
    }
    whole = SampleBatch(
        {
            "obs": np.arange(3.0),
            "new_obs": np.arange(1.0, 4.0),
            "actions": np.array([7, 8, 9]),
            "rewards": np.array([0.1, 0.2, 0.3]),
            "state_out_0": np.arange(3.0)[:, None],
        }
    )

    last = whole.get_single_step_input_dict(needs, "last")
    first = whole.get_single_step_input_dict(needs, 0)

    assert last["obs"].tolist() == [3.0]
    assert last["prev_actions"].tolist() == [9]
    assert last["prev"].tolist() == [[0.2, 0.3]]
    assert last["state_in_0"].tolist() == [[2.0]]
    assert last["seq_lens"].tolist() == [1]
    assert first["prev"].tolist() == [[0.0, 0.1]]
    with pytest.raises(PieceError, match="'actions'"):
        SampleBatch({"obs": np.zeros(2)}).get_single_step_input_dict(needs)


def test_columns_move_to_torch():
    """Numbers become tensors, doubles float32; infos stay."""
    torch = pytest.importorskip("torch")
    read_only = np.arange(3)[::-1]
    read_only.flags.writeable = False
    one = SampleBatch({"obs": np.zeros((3, 2)), "n": read_only, "infos": [{}, {}, {}]})

    one.to_device("cpu")

    assert (one["obs"].dtype, one["n"].tolist()) == (torch.float32, [2, 1, 0])
    assert one["infos"] == [{}, {}, {}]
    assert one[0:2]["obs"].shape == (2, 2)
    assert concat_samples([one, one])["n"].tolist() == [2, 1, 0, 2, 1, 0]
    with pytest.raises(PieceError, match="tf"):
        one.to_device("cpu", framework="tf")


@pytest.mark.parametrize(
    "call",
    [
        lambda b: b.right_zero_pad(3),
        lambda b: b.timeslices(),
        lambda b: b.timeslices(1, 2),
        lambda b: b.split_by_episode("t"),
        lambda b: sequences([3]).right_zero_pad(2),
    ],
)
def test_impossible_calls_are_refused(call):
    """Calls that cannot mean anything raise instead of guessing."""
    with pytest.raises(PieceError):
        call(batch())


def test_compression_is_left_to_others():
    """compress() keeps columns readable; there and back is the same batch."""
    one = batch()

    assert one.compress().decompress_if_needed() is one
