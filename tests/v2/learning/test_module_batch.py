"""A module's part of a minibatch is a dict as long as its rows."""

import copy
import pickle

import numpy as np
import pytest
import torch
from rlconnect.core import nest
from rlconnect.v2.learning.minibatches import Epochs, ModuleBatch, minibatches


@pytest.mark.parametrize("size", [None, 4])
def test_minibatches_know_their_rows(size):
    """Whole batches and parts of them have the length and `count` of their rows."""
    batch = {"p": {"actions": torch.zeros(8), "obs": {"a": torch.arange(8)}}}

    made = next(minibatches(batch, Epochs(1, size), np.random.default_rng(0)))

    assert len(made["p"]) == made["p"].count == (size or 8)
    assert sorted(made["p"]) == ["actions", "obs"]


def test_it_is_a_dict_otherwise():
    """Copies, pickles, unpacking and nests keep its columns."""
    batch = ModuleBatch(rewards=torch.arange(3), obs=torch.zeros(3, 2))

    for made in (batch.copy(), batch.copy(shallow=True), copy.copy(batch), {**batch}):
        assert list(made) == ["rewards", "obs"]
        assert made["obs"] is batch["obs"]
    assert len(pickle.loads(pickle.dumps(batch))) == 3
    doubled = nest.map_structure(lambda column: column * 2, batch)
    assert type(doubled) is ModuleBatch
    assert doubled["rewards"].tolist() == [0, 2, 4]


def test_one_without_columns_is_empty():
    """Nothing in it, no rows."""
    assert not ModuleBatch()
    assert len(ModuleBatch()) == 0
    assert ModuleBatch(obs=torch.zeros(0, 2))
