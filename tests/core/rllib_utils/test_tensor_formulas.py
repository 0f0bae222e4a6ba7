"""Formulas of losses on tensors hold what they promise."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.core.rllib_utils.tensor_formulas import (
    copy_torch_tensors,
    inverse_symlog,
    symlog,
    two_hot,
)

NUMBERS = st.lists(st.floats(-50, 50, width=32), min_size=1, max_size=5)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(NUMBERS)
def test_symlog_is_undone(numbers):
    """The inverse gives back what went in."""
    x = torch.tensor(numbers, dtype=torch.float64)

    torch.testing.assert_close(inverse_symlog(symlog(x)), x)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(NUMBERS)
def test_two_hot_rows_weigh_their_number(numbers):
    """Weights sum to one, and the points they weigh give the number, cut to the bounds."""
    x = torch.tensor(numbers)

    rows = two_hot(x, num_buckets=11, lower_bound=-20.0, upper_bound=20.0)

    torch.testing.assert_close(rows.sum(dim=-1), torch.ones(len(numbers)))
    torch.testing.assert_close(
        rows @ torch.linspace(-20, 20, 11), x.clamp(-20, 20), atol=1e-4, rtol=1e-5
    )


def test_copies_are_cut_loose():
    """Copies share neither memory nor graph with what they were made of."""
    x = torch.ones(2, requires_grad=True)

    copy = copy_torch_tensors({"x": x, "n": 3})

    assert copy["n"] == 3
    assert not copy["x"].requires_grad
    assert copy["x"].data_ptr() != x.data_ptr()
