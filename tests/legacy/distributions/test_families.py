"""Numpy distributions agree with torch on any input, and sample what they promise."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as array_strategy
from rlconnect.legacy import TorchCategorical, TorchSquashedGaussian
from rlconnect.legacy.distributions import families

FLOATS = st.floats(-40, 40, width=32)


@settings(derandomize=True, max_examples=40, deadline=None)
@given(array_strategy(np.float32, (4, 5), elements=FLOATS))
def test_categorical_agrees_with_torch(logits):
    """Log-probabilities agree; the choice is as probable as torch's, ties included."""
    twin, dist = families.Categorical(5), TorchCategorical(torch.from_numpy(logits))

    action = twin.deterministic(logits)

    theirs = dist.deterministic_sample().numpy()
    np.testing.assert_allclose(twin.logp(logits, action), dist.logp(action), atol=1e-5)
    np.testing.assert_allclose(twin.logp(logits, action), twin.logp(logits, theirs), atol=1e-6)


@pytest.mark.parametrize("start", [0.01, 1.0, 37.5, 900.0])
def test_close_calls_are_decided_on_probabilities(start):
    """Logits that differ by less than a float32 probability can tell choose the first."""
    logits = np.full((1, 3), start, np.float32)
    logits[0, 1] = np.nextafter(logits[0, 1], np.float32(1e9))

    expected = TorchCategorical(torch.from_numpy(logits)).deterministic_sample().numpy()

    np.testing.assert_array_equal(families.Categorical(3).deterministic(logits), expected)


@settings(derandomize=True, max_examples=40, deadline=None)
@given(array_strategy(np.float32, (3, 4), elements=st.floats(-8, 8, width=32)))
def test_squashed_gaussian_agrees_with_torch(inputs):
    """Means and log-probabilities of clearly inner actions agree with torch."""
    twin, dist = families.SquashedGaussian(4), TorchSquashedGaussian(torch.from_numpy(inputs))
    actions = np.tanh(inputs[:, :2] / 4)

    np.testing.assert_allclose(
        twin.deterministic(inputs), dist.deterministic_sample(), rtol=1e-6, atol=1e-6
    )
    np.testing.assert_allclose(
        twin.logp(inputs, actions), dist.logp(torch.from_numpy(actions)), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize(
    "dist",
    [
        families.Categorical(4),
        families.Categorical(4, 2.5),
        families.MultiCategorical((2, 2)),
        families.DiagGaussian(4),
        families.SquashedGaussian(4),
        families.Beta(4),
        families.Dirichlet(4),
    ],
)
def test_a_sample_comes_with_its_log_probability(dist, rows):
    """Sample and log-probability in one go equal the two apart, for one row and for many."""
    inputs = np.random.default_rng(3).normal(size=(rows, 4)).astype(np.float32)

    actions, logp = dist.sample_with_logp(inputs, np.random.default_rng(4))

    np.testing.assert_array_equal(actions, dist.sample(inputs, np.random.default_rng(4)))
    np.testing.assert_allclose(logp, dist.logp(inputs, actions), rtol=1e-5, atol=1e-5)


def test_single_rows_are_drawn_by_their_probabilities():
    """The short way for one row follows the same distribution as the one for a batch."""
    logits = np.log(np.float32([[0.1, 0.6, 0.3]]))
    rng = np.random.default_rng(0)

    drawn = np.concatenate([families.Categorical(3).sample(logits, rng) for _ in range(4000)])

    np.testing.assert_allclose(np.bincount(drawn) / 4000, [0.1, 0.6, 0.3], atol=0.03)


def test_categorical_samples_follow_their_probabilities():
    """Frequencies of many draws approach the softmax weights; a weight of zero is never drawn."""
    weights = np.array([0.1, 0.6, 0.0, 0.3])
    logits = np.log(np.maximum(weights, 1e-300)).astype(np.float32)
    rows = np.tile(logits, (20000, 1))

    drawn = families.Categorical(4).sample(rows, np.random.default_rng(0))

    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / 20000, weights, atol=0.02)
    assert not (drawn == 2).any()


@pytest.mark.parametrize(
    ("dist", "row", "mean", "spread"),
    [
        (families.DiagGaussian(2), [1.5, np.log(0.5)], 1.5, 0.5),
        (families.Beta(2, -1.0, 3.0), [2.0, 0.0], 1.595, 0.7916),
        (families.SquashedGaussian(2), [0.0, -9.0], 0.0, np.exp(-5.0)),
    ],
)
def test_real_samples_have_the_mean_and_spread_they_should(dist, row, mean, spread):
    """Many draws have the distribution's mean and standard deviation."""
    rows = np.tile(np.array(row, np.float32), (40000, 1))

    drawn = dist.sample(rows, np.random.default_rng(1))

    assert drawn.shape == (40000, 1)
    np.testing.assert_allclose(drawn.mean(), mean, atol=0.02)
    np.testing.assert_allclose(drawn.std(), spread, rtol=0.03)


def test_dirichlet_samples_sum_to_one():
    """Shares are positive and sum to one, with the means of their concentrations."""
    rows = np.tile(np.log(np.array([1.0, 2.0, 5.0], np.float32)), (20000, 1))

    drawn = families.Dirichlet(3).sample(rows, np.random.default_rng(2))

    np.testing.assert_allclose(drawn.sum(-1), 1, atol=1e-6)
    np.testing.assert_allclose(drawn.mean(0), [0.125, 0.25, 0.625], atol=0.01)
