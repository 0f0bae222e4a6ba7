"""The most probable choice is found without computing probabilities, and is torch's."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.core.formulas.categorical import (
    best_of_columns,
    most_probable,
    most_probable_of_columns,
)
from rlconnect.legacy.distributions.torch_discrete import TorchCategorical, TorchMultiCategorical

SIZES = st.sampled_from([1, 2, 5, 64, 300])


def by_probability(logits):
    top = logits.max(axis=-1, keepdims=True)
    total = top + np.log(np.exp(logits - top).sum(axis=-1, keepdims=True))
    return (logits - total).argmax(axis=-1)


def near_ties(rng, rows, choices, scale):
    """Logits whose best two are within four ten-millionths."""
    logits = (rng.normal(size=(rows, choices)) * scale).astype(np.float32)
    best = logits.argmax(axis=-1)
    other = (best + rng.integers(1, choices, rows)) % choices
    everyone = np.arange(rows)
    logits[everyone, other] = logits[everyone, best] - rng.uniform(0, 4e-7, rows)
    return logits


@pytest.mark.parametrize("choices", [2, 3, 4, 6, 18])
@pytest.mark.parametrize("scale", [1e-3, 0.1, 0.5, 2.0])
def test_near_ties_are_decided_as_torch_decides_them(choices, scale, rng):
    """By our torch class always, by numpy but for a hundredth: its exp rounds otherwise."""
    logits = near_ties(rng, 20_000, choices, scale)
    table = torch.from_numpy(logits)
    wanted = torch.distributions.Categorical(logits=table).probs.argmax(dim=-1)

    chosen = TorchCategorical(table).deterministic_sample()
    several = TorchMultiCategorical(torch.cat([table, table], 1), None, (choices,) * 2)

    assert torch.equal(chosen, wanted)
    assert torch.equal(several.deterministic_sample(), torch.stack([wanted, wanted], 1))
    assert np.count_nonzero(most_probable(logits) != wanted.numpy()) <= 200
    assert np.count_nonzero(logits.argmax(axis=-1) != wanted.numpy()) > 0


@pytest.mark.parametrize("choices", [2, 3, 4, 6, 18])
@pytest.mark.parametrize("scale", [1e-3, 0.1, 0.5, 2.0])
def test_columns_decide_near_ties_almost_as_torch(choices, scale, rng):
    """All but one in twenty; of small logits, which networks round as torch does, nearly all."""
    logits = near_ties(rng, 20_000, choices, scale)
    wanted = torch.distributions.Categorical(logits=torch.from_numpy(logits)).probs.argmax(dim=-1)

    chosen = most_probable_of_columns(logits.T.copy())

    assert chosen.dtype == np.int32
    assert np.count_nonzero(chosen != wanted.numpy()) <= (20 if scale == 1e-3 else 1000)


@pytest.mark.parametrize("choices", [1, 2, 5, 64, 65, 300])
@pytest.mark.parametrize("rows", [1, 40, 400])
def test_of_equal_numbers_the_first_is_the_best(rows, choices, rng):
    """However many there are of both."""
    columns = rng.integers(0, 3, (choices, rows)).astype(np.float32)

    assert np.array_equal(best_of_columns(columns), columns.argmax(axis=0))


@pytest.mark.torch("2.6")
@settings(derandomize=True, max_examples=200, deadline=None)
@given(
    SIZES,
    st.sampled_from([2, 3, 4, 18, 63, 64, 65, 500]),
    st.sampled_from([0.0, 1e-6, 1e-3, 0.7, 1.0, 30.0, 300.0, 1e5]),
    st.sampled_from([0.0, 1e-8, 6e-8, 2e-7, 1e-6, 5e-6, 1e-5, 2e-5, 1.0]),
    st.integers(0, 2**31),
)
def test_close_calls_are_decided_on_what_is_normalised(rows, choices, around, apart, seed):
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
    assert int(torch.distributions.Categorical(logits=table).probs.argmax()) == choices - 1


@pytest.mark.parametrize("rows", [1, 3, 400])
def test_forbidden_choices_are_never_taken(rows):
    """A logit of minus infinity has no probability."""
    logits = np.full((rows, 4), -np.inf, np.float32)
    logits[:, 2] = -1e9

    assert most_probable(logits).tolist() == [2] * rows
