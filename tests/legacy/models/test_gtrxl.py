"""The transformer's parts do what their formulas say."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.legacy.models.attention import (
    GRUGate,
    RelativePositionEmbedding,
    relative_shift,
)


@given(rows=st.integers(1, 5), memory=st.integers(0, 5), heads=st.integers(1, 3))
def test_relative_shift_moves_each_row_by_its_distance(rows, memory, heads):
    """Row t of T is moved T - 1 - t to the left; what the mask hides is free."""
    span = rows + memory
    score = torch.arange(2.0 * rows * span * heads).reshape(2, rows, span, heads)

    shifted = relative_shift(score)

    for t in range(rows):
        offset = rows - 1 - t
        seen = span - offset
        assert torch.equal(shifted[:, t, :seen], score[:, t, offset:])


def test_positions_run_from_the_most_distant():
    """The last row is distance zero: sines 0, cosines 1."""
    embedding = RelativePositionEmbedding(4)(3)

    assert embedding.shape == (3, 4)
    assert embedding[-1].tolist() == [0.0, 0.0, 1.0, 1.0]
    np.testing.assert_allclose(embedding[0, 0], np.sin(2.0), rtol=1e-6)
    np.testing.assert_allclose(embedding[0, 3], np.cos(2.0 / 100), rtol=1e-6)


def test_a_large_bias_keeps_the_skip_input():
    """At the start the gate lets the skip input through."""
    gate = GRUGate(3, init_bias=50.0)
    skip, x = torch.randn(2, 3), torch.randn(2, 3)

    np.testing.assert_allclose(gate(skip, x).detach(), skip, atol=1e-6)
