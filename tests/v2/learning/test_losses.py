"""The losses as formulas: against definitions written out, and against what must not matter."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rlconnect.v2.learning.losses import (
    RowMean,
    adapted_kl_coeff,
    cloning_loss,
    marwil_terms,
    ppo_terms,
    value_explained,
)

SETTINGS = {
    "clip_param": 0.2,
    "vf_clip_param": 1.5,
    "vf_loss_coeff": 0.5,
    "entropy_coeff": 0.01,
    "kl_coeff": 0.3,
}
COLUMNS = ("logp", "old_logp", "advantages", "entropy", "kl", "values", "value_targets")


def noise(seed, shape, names=COLUMNS):
    made = torch.Generator().manual_seed(seed)
    return {name: torch.randn(shape, generator=made) for name in names}


def test_ppo_is_the_formula_written_out():
    """The total is the clipped surrogate, the clipped error, the entropy and the divergence."""
    c = {name: column.numpy() for name, column in noise(0, 7).items()}
    ratio = np.exp(c["logp"] - c["old_logp"])
    surrogate = np.minimum(
        c["advantages"] * ratio, c["advantages"] * np.clip(ratio, 0.8, 1.2)
    ).mean()
    error = np.minimum((c["values"] - c["value_targets"]) ** 2, 1.5).mean()
    expected = -surrogate + 0.5 * error - 0.01 * c["entropy"].mean() + 0.3 * c["kl"].mean()

    terms = ppo_terms(**noise(0, 7), mask=None, **SETTINGS)

    assert terms.total.item() == pytest.approx(expected, rel=1e-5)
    assert terms.policy_loss.item() == pytest.approx(-surrogate, rel=1e-5)
    assert terms.vf_loss.item() == pytest.approx(error, rel=1e-5)


@given(seed=st.integers(0, 99), keep=st.lists(st.booleans(), min_size=2, max_size=12))
@settings(max_examples=25)
def test_rows_outside_the_mask_do_not_matter(seed, keep):
    """A masked loss is that of the rows that count, whatever the others hold."""
    keep[0] = True
    mask = torch.tensor(keep)
    columns = noise(seed, len(keep))

    masked = ppo_terms(**columns, mask=mask, **SETTINGS)
    alone = ppo_terms(**{k: v[mask] for k, v in columns.items()}, mask=None, **SETTINGS)

    for ours, expected in zip(masked, alone, strict=True):
        assert ours.item() == pytest.approx(expected.item(), rel=1e-4, abs=1e-5)


def test_sequences_are_rows():
    """Sequences of shape (B, T) cost what their steps cost one after the other."""
    flat = noise(1, 6)
    mask = torch.tensor([True, True, False, True, True, True])

    in_rows = ppo_terms(
        **{k: v.reshape(2, 3) for k, v in flat.items()}, mask=mask.reshape(2, 3), **SETTINGS
    )

    assert in_rows.total.item() == pytest.approx(
        ppo_terms(**flat, mask=mask, **SETTINGS).total.item(), rel=1e-5
    )


def test_what_is_left_out_costs_nothing():
    """Without divergence and values their terms are zero."""
    columns = {**noise(2, 5), "kl": None, "values": None}

    terms = ppo_terms(**columns, mask=None, **SETTINGS)

    assert terms.mean_kl_loss.item() == terms.vf_loss.item() == 0.0


@given(kl=st.floats(0, 1), coeff=st.floats(0.01, 10))
@settings(max_examples=25)
def test_the_divergences_weight_moves_towards_its_target(kl, coeff):
    """Above twice the target it grows, below half of it shrinks, between it stays."""
    now = adapted_kl_coeff(coeff, kl, kl_target=0.1)

    expected = 1.5 if kl > 0.2 else 0.5 if kl < 0.05 else 1.0
    assert now == pytest.approx(expected * coeff)


def test_marwil_without_advantages_is_cloning():
    """Where all advantages are zero, every action weighs one."""
    logp = torch.tensor([-0.5, -1.0])
    values = torch.tensor([2.0, 3.0])

    terms, norm = marwil_terms(
        logp=logp,
        log_std=None,
        values=values,
        value_targets=values,
        mask=None,
        squared_norm=torch.tensor(4.0),
        update_rate=0.5,
        beta=3.0,
        vf_coeff=1.0,
        bc_logstd_coeff=0.0,
    )

    assert terms.total.item() == cloning_loss(logp=logp, log_std=None, mask=None).item() == 0.75
    assert norm.item() == 2.0


def test_a_wide_policy_is_rewarded():
    """The coefficient of the deviation takes its share off the loss of cloning."""
    logp, log_std = torch.tensor([-1.0, -1.0]), torch.tensor([0.5, 1.5])

    loss = cloning_loss(logp=logp, log_std=log_std, mask=None, bc_logstd_coeff=0.1)

    assert loss.item() == pytest.approx(1.0 - 0.1)


def test_explained_variance_of_sequences_leaves_padding_out():
    """Zeros of padding neither help nor harm."""
    targets = torch.tensor([[1.0, 2.0, 0.0], [3.0, 5.0, 4.0]])
    mask = torch.tensor([[True, True, False], [True, True, True]])
    values = torch.where(mask, targets, torch.tensor(99.0))

    assert value_explained(values, targets, mask).item() == 1.0
    assert value_explained(values[:1, :1], targets[:1, :1], mask[:1, :1]).item() == -1.0


def test_row_mean_without_mask_is_the_mean():
    """No mask counts every row."""
    assert RowMean()(torch.tensor([1.0, 2.0])).item() == 1.5


@pytest.mark.parametrize("shape", [(3,), (2, 2)])
def test_a_minibatch_of_padding_alone_teaches_nothing(shape):
    """Where no row counts, losses and gradients are 0 and moving averages stay."""
    values = torch.ones(shape, requires_grad=True)
    rows = {"logp": values, "values": values, "value_targets": torch.zeros(shape)}
    nobody = torch.zeros(shape, dtype=torch.bool)

    ppo = ppo_terms(
        **rows,
        old_logp=torch.zeros(shape),
        advantages=torch.ones(shape),
        entropy=values,
        kl=values,
        mask=nobody,
        clip_param=0.2,
        vf_clip_param=10.0,
        vf_loss_coeff=1.0,
        entropy_coeff=0.1,
        kl_coeff=0.2,
    )
    marwil, norm = marwil_terms(
        **rows,
        log_std=None,
        mask=nobody,
        squared_norm=torch.tensor(100.0),
        update_rate=0.5,
        beta=1.0,
        vf_coeff=1.0,
        bc_logstd_coeff=0.0,
    )
    (ppo.total + marwil.total).backward()

    assert [term.item() for term in (*ppo, *marwil)] == [0.0] * 8
    assert float(norm) == 100.0
    assert not values.grad.any()
