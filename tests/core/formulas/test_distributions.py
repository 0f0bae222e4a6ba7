"""The formulas of squashed and straight-through samples."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rlconnect.core.formulas.distributions import (
    squash,
    squashed_log_prob,
    straight_through,
    unsquash,
)

VALUES = st.floats(-4, 4, width=32)


@given(x=VALUES, low=st.floats(-9, 9, width=32), width=st.floats(0.125, 8, width=32))
def test_unsquash_inverts_squash(x, low, width):
    """Between the bounds, away from where the tangent is flat, one undoes the other."""
    there = squash(torch.tensor([x], dtype=torch.float64), low, low + width)

    assert low <= float(there) <= low + width
    assert float(unsquash(there, low, low + width)) == pytest.approx(x, abs=1e-6)


def test_bounds_themselves_map_back_to_something_finite():
    """An action on the bound has a finite place on the real line."""
    back = unsquash(torch.tensor([-2.0, 3.0]), -2.0, 3.0)

    assert back.tolist() == pytest.approx([-7.2477, 7.2477], abs=1e-3)


@given(loc=VALUES, x=VALUES)
def test_the_density_integrates_the_slope_of_the_tangent(loc, x):
    """It is the normal density less the logarithm of the tangent's slope."""
    normal = torch.distributions.Normal(torch.tensor(loc, dtype=torch.float64), 1.0)
    at = torch.tensor([x], dtype=torch.float64)

    found = squashed_log_prob(normal, at)

    slope = torch.log(1 - torch.tanh(at) ** 2)
    assert float(found) == pytest.approx(float((normal.log_prob(at) - slope).sum()), abs=1e-9)


def test_far_out_the_density_keeps_its_digits():
    """Where 1 - tanh^2 rounds to zero, the density stays finite."""
    normal = torch.distributions.Normal(torch.zeros(1), torch.ones(1))

    assert bool(torch.isfinite(squashed_log_prob(normal, torch.tensor([40.0]))))


def test_a_straight_through_sample_has_the_gradient_of_its_probabilities():
    """Its value is the sample; its gradient is that of `probs`."""
    probs = torch.tensor([0.25, 0.75], requires_grad=True)

    sample = straight_through(torch.tensor([0.0, 1.0]), probs)
    sample[1].backward()

    assert sample.tolist() == [0.0, 1.0]
    assert probs.grad.tolist() == [0.0, 1.0]
