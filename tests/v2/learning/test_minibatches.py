"""Minibatches go round and round: in order first, every row as often as there are epochs."""

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.core.errors import ConfigError
from rlconnect.v2.learning import minibatches as home
from rlconnect.v2.learning.minibatches import Epochs, minibatches, row_count, step_count


def rows_of(batch, epochs, seed=0):
    """The rows of module "p" in each minibatch."""
    made = minibatches(batch, epochs, np.random.default_rng(seed))
    return [part["p"]["obs"].tolist() for part in made]


def numbered(rows):
    return {"p": {"obs": torch.arange(rows), "actions": torch.arange(rows) * 10}}


@given(
    rows=st.integers(1, 40),
    size=st.integers(1, 50),
    num_epochs=st.integers(1, 5),
    shuffle=st.booleans(),
)
@settings(max_examples=60)
def test_every_row_is_used_once_an_epoch(rows, size, num_epochs, shuffle):
    """All minibatches have one size, the first pass is in order, no row is used more than due."""
    made = rows_of(numbered(rows), Epochs(num_epochs, size, shuffle))
    stream = [row for part in made for row in part]

    assert {len(part) for part in made} == {size}
    assert len(made) == -(-rows * num_epochs // size)
    assert stream[:rows] == list(range(rows))[: len(stream)]
    whole = stream[: rows * num_epochs]
    assert set(Counter(whole).values()) == {num_epochs}
    if not shuffle:
        assert stream == [n % rows for n in range(len(stream))]


@given(rows=st.integers(2, 30), size=st.integers(1, 40), num_epochs=st.integers(1, 4))
@settings(max_examples=30)
def test_gathering_in_small_blocks_changes_nothing(rows, size, num_epochs):
    """How much is gathered at once is a matter of memory alone."""
    epochs = Epochs(num_epochs, size, shuffle=True)
    usual = rows_of(numbered(rows), epochs)
    limit, home._BLOCK_BYTES = home._BLOCK_BYTES, 1
    try:
        assert rows_of(numbered(rows), epochs) == usual
    finally:
        home._BLOCK_BYTES = limit


def test_columns_stay_together():
    """Every column of a minibatch holds the same rows: nests, lists and arrays too."""
    batch = {
        "p": {
            "obs": {"a": torch.arange(6), "b": (torch.arange(6) * 2,)},
            "infos": [{"row": row} for row in range(6)],
            "names": np.array(list("abcdef"), object),
        }
    }

    for part in minibatches(batch, Epochs(2, 4, True), np.random.default_rng(1)):
        rows = part["p"]["obs"]["a"].tolist()
        assert part["p"]["obs"]["b"][0].tolist() == [2 * row for row in rows]
        assert [info["row"] for info in part["p"]["infos"]] == rows
        assert list(part["p"]["names"]) == ["abcdef"[row] for row in rows]


def test_it_ends_when_every_module_is_through():
    """A module with fewer rows starts again while another is not through."""
    batch = {"a": {"obs": torch.arange(5)}, "b": {"obs": torch.arange(3)}}

    made = list(minibatches(batch, Epochs(1, 2), np.random.default_rng(0)))

    assert [part["a"]["obs"].tolist() for part in made] == [[0, 1], [2, 3], [4, 0]]
    assert [part["b"]["obs"].tolist() for part in made] == [[0, 1], [2, 0], [1, 2]]


@pytest.mark.parametrize(("size", "rows"), [(4, 1), (8, 2), (11, 3), (2, 1)])
def test_sequences_stay_whole(size, rows):
    """A minibatch of sequences of 3 steps on average holds as many as fit, at least one."""
    obs = torch.arange(5)[:, None, None].expand(5, 4, 1)
    batch = {"p": {"obs": obs, "seq_lens": torch.tensor([4, 4, 2, 4, 1])}}

    for part in minibatches(batch, Epochs(2, size, True), np.random.default_rng(0)):
        assert part["p"]["obs"].shape == (rows, 4, 1)


@pytest.mark.parametrize(
    ("size", "rows", "count"), [(8, 3, 4), (16, 6, 2), (5, 2, 5), (100, 41, 1)]
)
def test_as_many_sequences_as_ray_takes(size, rows, count):
    """Rows and numbers of minibatches as seen in a learner of Ray 2.60."""
    lens = torch.tensor([3, 1, 3, 3, 1, 3, 3, 3, 3, 1])
    batch = {"p": {"obs": torch.zeros(10, 3, 2), "seq_lens": lens}}

    made = list(minibatches(batch, Epochs(1, size), np.random.default_rng(0)))

    assert [len(part["p"]["obs"]) for part in made] == [rows] * count


def test_without_a_size_all_rows_come_each_time():
    """No minibatch size takes the batch itself, once an epoch."""
    batch = numbered(3)

    for part in minibatches(batch, Epochs(2), np.random.default_rng(0)):
        assert all(
            part[name][column] is batch[name][column] for name in batch for column in batch[name]
        )
    assert len(rows_of(batch, Epochs(2))) == 2


def test_a_number_of_minibatches_wins_over_epochs():
    """As many as asked for, however many epochs that makes."""
    assert len(rows_of(numbered(4), Epochs(1, 3, num_minibatches=5))) == 5


@pytest.mark.parametrize("wrong", [{"num_epochs": 0}, {"minibatch_size": 0}])
def test_portions_of_nothing_are_refused(wrong):
    """No epochs and no rows are settings that cannot be meant."""
    with pytest.raises(ConfigError, match="at least 1"):
        Epochs(**wrong)


def test_counts():
    """Rows are those of the columns; steps leave the padding of sequences out."""
    columns = {"obs": {"a": torch.zeros(3, 4)}, "seq_lens": torch.tensor([4, 1, 2])}

    assert row_count(columns) == 3
    assert step_count(columns) == 7
    assert step_count({"obs": torch.zeros(5)}) == 5
