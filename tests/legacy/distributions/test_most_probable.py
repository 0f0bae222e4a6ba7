"""The most probable choice is found without computing probabilities, and is the same one."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.legacy.distributions.array_formulas import log_softmax, most_probable, softmax

SIZES = st.sampled_from([1, 2, 5, 64, 300])


def by_probability(logits):
    return softmax(log_softmax(logits)).argmax(axis=-1)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(
    SIZES,
    st.sampled_from([2, 3, 4, 18, 63, 64, 65, 500]),
    st.sampled_from([0.0, 1e-6, 1e-3, 0.7, 1.0, 30.0, 300.0, 1e5]),
    st.sampled_from([0.0, 1e-8, 6e-8, 2e-7, 1e-6, 5e-6, 1e-5, 2e-5, 1.0]),
    st.integers(0, 2**31),
)
def test_close_calls_are_decided_on_probabilities(rows, choices, around, apart, seed):
    """For logits of any size, as near each other as rounding allows."""
    rng = np.random.default_rng(seed)
    noise = rng.integers(-3, 4, (rows, choices)) * apart
    logits = (around * rng.choice([-1, 1]) + noise).astype(np.float32)

    for given_as in (logits, np.asfortranarray(logits)):
        found = most_probable(given_as)
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, by_probability(logits))


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.sampled_from([2, 64, 1000, 20_000]), st.floats(-500, 500, width=32))
def test_logits_further_apart_have_different_probabilities(choices, top):
    """The margin beyond which nobody looks again leaves no tie behind."""
    top = np.float32(top)
    second = np.float32(top - np.float32(1e-5))
    if not second < top:
        second = np.nextafter(top, np.float32(-np.inf))
    beyond = np.nextafter(second, np.float32(-np.inf))
    logits = np.full((1, choices), beyond, np.float32)
    logits[0, -1] = top

    assert by_probability(logits)[0] == choices - 1
    table = torch.from_numpy(logits)
    assert int((table - table.logsumexp(-1, keepdim=True)).softmax(-1).argmax()) == choices - 1


@pytest.mark.parametrize("rows", [1, 3, 400])
def test_forbidden_choices_are_never_taken(rows):
    """A logit of minus infinity has no probability."""
    logits = np.full((rows, 4), -np.inf, np.float32)
    logits[:, 2] = -1e9

    assert most_probable(logits).tolist() == [2] * rows
