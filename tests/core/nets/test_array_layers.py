"""Numpy's LSTM equals torch's."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.core.nets.array_layers import NumpyLstm


@given(
    features=st.integers(1, 9),
    cells=st.integers(1, 9),
    batch=st.integers(1, 4),
    steps=st.integers(1, 5),
)
def test_steps_and_sequences_equal_torch(features, cells, batch, steps):
    """Any size, from any state, step by step and at once."""
    torch.manual_seed(features)
    layer = torch.nn.LSTM(features, cells, batch_first=True)
    twin = NumpyLstm(*(p.detach().numpy() for p in layer.parameters()))
    rng = np.random.default_rng(cells)
    x = rng.normal(size=(batch, steps, features)).astype(np.float32)
    h, c = rng.normal(size=(2, batch, cells)).astype(np.float32)
    with torch.no_grad():
        want, (want_h, want_c) = layer(
            torch.from_numpy(x), (torch.from_numpy(h[None]), torch.from_numpy(c[None]))
        )
    before = (x.copy(), h.copy(), c.copy())

    outputs, last_h, last_c = twin.sequence(x, h, c)
    step_h, step_c = h, c
    for t in range(steps):
        step_h, step_c = twin.step([x[:, t]], step_h, step_c)

    for got, expected in (
        (outputs, want),
        (last_h, want_h[0]),
        (last_c, want_c[0]),
        (step_h, want_h[0]),
        (step_c, want_c[0]),
    ):
        np.testing.assert_allclose(got, expected.numpy(), rtol=0, atol=1e-6)
    for array, kept in zip((x, h, c), before, strict=True):
        np.testing.assert_array_equal(array, kept)
