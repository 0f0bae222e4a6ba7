"""The recurrence that returns of all kinds are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.core.arrays.reverse_scan import reverse_scan


def looped(x, decay):
    y, following = np.zeros_like(x), 0.0
    for place in range(len(x) - 1, -1, -1):
        following = y[place] = x[place] + decay[place] * following
    return y


@given(
    st.lists(st.tuples(st.floats(-1e3, 1e3), st.sampled_from([0.0, 0.5, 0.99, 1.0])), max_size=40)
)
def test_the_scan_is_its_loop(pairs):
    """The doubling scan equals one step after the other, resets included."""
    x, decay = np.array(pairs, float).reshape(-1, 2).T

    result = reverse_scan(x, decay)

    np.testing.assert_allclose(result, looped(x, decay), rtol=1e-12, atol=1e-9)


def test_the_scan_keeps_its_input_and_takes_tensors(rng):
    """Further axes are apart from each other; torch gives the same numbers in one graph."""
    torch = pytest.importorskip("torch")
    x, decay = rng.normal(size=(13, 2, 3)), rng.integers(0, 2, (13, 2, 3)) * 0.9
    before = x.copy()

    result = reverse_scan(x, decay)
    scan = torch.compile(reverse_scan, backend="eager", fullgraph=True)
    tensor = scan(torch.from_numpy(x), torch.from_numpy(decay))

    np.testing.assert_array_equal(x, before)
    np.testing.assert_allclose(result[:, 1, 2], looped(x[:, 1, 2], decay[:, 1, 2]), rtol=1e-12)
    np.testing.assert_allclose(tensor.numpy(), result, rtol=1e-12)
