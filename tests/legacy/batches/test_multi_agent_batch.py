"""Batches of several policies."""

import numpy as np
import pytest
from rlconnect.core.errors import PieceError
from rlconnect.legacy.batches.multi_agent_batch import (
    MultiAgentBatch,
    concat_samples_into_ma_batch,
    convert_ma_batch_to_sample_batch,
)
from rlconnect.legacy.batches.sample_batch import SampleBatch


def rows(values, steps, episodes=None):
    return SampleBatch(
        {
            "a": np.array(values),
            "t": np.array(steps),
            "eps_id": np.array(episodes or [0] * len(values)),
        }
    )


def test_slices_follow_the_environment_s_steps():
    """Rows of one step of one episode stay together, whichever policy and order they are in."""
    whole = MultiAgentBatch(
        {"p": rows([1, 2, 3, 4], [3, 0, 1, 2]), "q": rows([5, 6, 7], [0, 1, 0], [0, 0, 1])}, 5
    )

    pieces = whole.timeslices(2)

    assert [piece.env_steps() for piece in pieces] == [2, 2, 1]
    assert pieces[0]["p"]["a"].tolist() == [2, 3]
    assert pieces[0]["q"]["a"].tolist() == [5, 6]
    assert pieces[1]["p"]["a"].tolist() == [4, 1]
    assert list(pieces[2].policy_batches) == ["q"]
    unrolls = [set(b["unroll_id"].tolist()) for p in pieces for b in p.policy_batches.values()]
    assert len(set(map(tuple, unrolls))) == len(unrolls)


def test_copies_are_independent():
    """Writing into a copy leaves the original."""
    one = MultiAgentBatch({"p": rows([1], [0])}, 1)

    one.copy()["p"]["a"][0] = 9

    assert one["p"]["a"].tolist() == [1]
    assert one.as_multi_agent() is one
    assert one.decompress_if_needed() is one


def test_only_batches_are_held():
    """A dict is no batch."""
    with pytest.raises(PieceError, match="'p'"):
        MultiAgentBatch({"p": {"a": [1]}}, 1)


def test_one_default_policy_is_a_plain_batch():
    """Joining plain batches gives the default policy's; others do not convert."""
    joined = concat_samples_into_ma_batch([rows([1], [0]), rows([2], [1])])

    plain = convert_ma_batch_to_sample_batch(joined)

    assert plain["a"].tolist() == [1, 2]
    assert convert_ma_batch_to_sample_batch(plain) is plain
    with pytest.raises(PieceError, match="default_policy"):
        convert_ma_batch_to_sample_batch(MultiAgentBatch({"p": rows([1], [0])}, 1))


def test_all_batches_move_together():
    """to_device reaches every policy."""
    pytest.importorskip("torch")
    one = MultiAgentBatch({"p": rows([1], [0]), "q": rows([2], [0])}, 1)

    one.to_device("cpu")

    assert [b["a"].tolist() for b in one.policy_batches.values()] == [[1], [2]]
    assert one.size_bytes() == sum(b.size_bytes() for b in one.policy_batches.values())
