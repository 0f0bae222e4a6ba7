"""Layers by columns are the layers."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.core.errors import SpaceError
from rlconnect.core.nets.numpy_columns import BLOCK, NARROW, ColumnStack, quickest
from rlconnect.core.nets.numpy_layers import Dense, Stack, numpy_activation

ACTS = ["tanh", "relu", "swish", "elu", "linear", "LeakyReLU", "Hardtanh"]


def layers(widths, acts, seed=0):
    rng = np.random.default_rng(seed)
    return [
        Dense(
            (rng.normal(size=(a, b)) / np.sqrt(a)).astype(np.float32),
            rng.normal(size=b).astype(np.float32),
            numpy_activation(act),
        )
        for a, b, act in zip(widths, widths[1:], acts, strict=False)
    ]


@settings(derandomize=True, max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 40), min_size=2, max_size=5),
    st.lists(st.sampled_from(ACTS), min_size=4, max_size=4),
    st.lists(st.sampled_from([0, 1, 2, 7, BLOCK, BLOCK + 1]), min_size=1, max_size=3),
)
def test_columns_equal_rows(widths, acts, sizes):
    """Up to rounding, for any number of rows in turn; what is given stays as it was."""
    made = layers(widths, acts)
    by_rows, by_columns = Stack(made), ColumnStack(made)

    for rows in sizes:
        x = np.random.default_rng(rows).normal(size=(rows, widths[0])).astype(np.float32)
        kept = x.copy()
        found = by_columns(x)
        assert found.dtype == np.float32
        assert found.shape == by_rows(x).shape
        np.testing.assert_allclose(found, by_rows(x), rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(x, kept)


def test_answers_belong_to_who_asked():
    """A later call changes no earlier answer."""
    stack = ColumnStack(layers([3, 5, 2], ACTS))
    first = stack(np.ones((4, 3), np.float32))
    kept = first.copy()

    stack(np.zeros((4, 3), np.float32))

    np.testing.assert_array_equal(first, kept)


def test_threads_share_a_stack():
    """Each thread computes in places of its own."""
    stack = ColumnStack(layers([8, 64, 64, 4], ["tanh", "tanh", "linear"]))
    batches = [np.full((64, 8), number / 50, np.float32) for number in range(50)]
    wanted = [stack(batch) for batch in batches]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(stack, batches * 4))

    for own, want in zip(found, wanted * 4, strict=True):
        np.testing.assert_array_equal(own, want)


def test_a_stack_travels():
    """Layers are all there is to pickle."""
    stack = ColumnStack(layers([3, 5, 2], ["tanh", "linear"]))
    x = np.ones((2, 3), np.float32)

    np.testing.assert_array_equal(pickle.loads(pickle.dumps(stack))(x), stack(x))


def test_another_width_is_refused():
    """One feature is not spread over all."""
    with pytest.raises(SpaceError, match="do not fit"):
        ColumnStack(layers([3, 2], ["linear"]))(np.ones((4, 1), np.float32))


def test_the_quickest_form_follows_the_width():
    """Wide observations are cheaper by rows, and without layers there is nothing to turn."""
    assert isinstance(quickest(layers([NARROW, 2], ["relu"])), ColumnStack)
    assert isinstance(quickest(layers([NARROW + 1, 2], ["relu"])), Stack)
    assert isinstance(quickest([]), Stack)
