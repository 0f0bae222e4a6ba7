"""The losses of action values, and of SAC, CQL and IQL, as formulas on tensors.

Rows may be steps `(B,)` or padded sequences `(B, T)`; values of all actions have one axis more,
distributions over returns two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

LossName = Literal["huber", "mse"]


class QTerms(NamedTuple):
    """What became of each row: its loss, and how far its value was off."""

    losses: Tensor
    td_error: Tensor


def of_actions(values: Tensor, actions: Tensor) -> Tensor:
    """The value of one action a row; that of a forbidden one, minus infinity, counts as 0.

    Args:
        values: Of all actions `(..., n)`.
        actions: One a row `(...)`.

    Example:
        >>> of_actions(torch.tensor([[1.0, 2.0], [3.0, -torch.inf]]), torch.tensor([1, 1]))
        tensor([2., 0.])
    """
    return _allowed(values.gather(-1, actions.long().unsqueeze(-1)).squeeze(-1))


def highest(values: Tensor) -> Tensor:
    """The value of the best action a row; where all are forbidden, 0."""
    return _allowed(values.amax(dim=-1))


def _allowed(values: Tensor) -> Tensor:
    if values.device.type == "cpu" and values.detach().min().item() != -torch.inf:
        return values  # Looking is quicker than putting something in place of nothing.
    return values.masked_fill(values == -torch.inf, 0.0)


def worth_of_the_next(gamma: float, n_step: Tensor | int, terminateds: Tensor) -> Tensor:
    """What the value at the end of each row's steps is worth at their beginning."""
    if isinstance(n_step, Tensor):
        return torch.pow(gamma, n_step).masked_fill(terminateds.bool(), 0.0)
    return gamma**n_step * (1.0 - terminateds.float())


def expected_loss(
    chosen: Tensor, target: Tensor, weights: Tensor | float, loss_name: LossName = "huber"
) -> QTerms:
    """Losses of values that are expectations.

    Args:
        chosen: Values of the actions that were done.
        target: What they should be.
        weights: How much each row counts.
        loss_name: Whether large errors cost linearly (beyond 1) or as squares.
    """
    target = target.detach()
    loss = functional.huber_loss if loss_name == "huber" else functional.mse_loss
    losses = weights * loss(chosen, target, reduction="none")
    return QTerms(losses, (chosen.detach() - target).abs())


def distributional_loss(
    logits: Tensor, next_probs: Tensor, atoms: Tensor, shifted: Tensor, weights: Tensor
) -> QTerms:
    """Losses of distributions over returns: cross-entropies to where the next ones land.

    Args:
        logits: Of the actions that were done `(..., atoms)`.
        next_probs: Of the best next actions, the same shape.
        atoms: The returns that have a probability `(atoms,)`, equally far apart.
        shifted: What these are worth one row earlier `(..., atoms)`.
        weights: How much each row counts.
    """
    target = projected(next_probs, atoms, shifted).detach()
    errors = -(target * logits.log_softmax(dim=-1)).sum(dim=-1)
    return QTerms(weights * errors, errors.detach())


def projected(probs: Tensor, atoms: Tensor, shifted: Tensor) -> Tensor:
    """Probabilities of shifted returns, shared among the two nearest atoms each.

    Example:
        >>> atoms = torch.tensor([0.0, 1.0, 2.0])
        >>> projected(torch.tensor([[0.5, 0.5, 0.0]]), atoms, torch.tensor([[0.25, 1.0, 9.0]]))
        tensor([[0.3750, 0.6250, 0.0000]])
    """
    least, most, count = atoms[0], atoms[-1], atoms.shape[-1]
    place = (shifted.clamp(least, most) - least) / ((most - least) / (count - 1))
    below, above = place.floor(), place.ceil()
    shares = torch.zeros_like(probs)
    shares.scatter_add_(-1, below.long(), probs * (above - place + (above == below)))
    shares.scatter_add_(-1, above.long().clamp(max=count - 1), probs * (place - below))
    return shares


def mean_error(terms: Sequence[QTerms]) -> Tensor:
    """How far the values of each row were off, the mean of the networks."""
    return torch.stack([each.td_error for each in terms]).mean(0)


def soft_values(probs: Tensor, log_probs: Tensor, q: Tensor, alpha: Tensor) -> Tensor:
    """What states are worth when choosing among a few actions at random is worth something, too.

    Args:
        probs: Of all actions, `(B, n)`.
        log_probs: Their logarithms.
        q: Values of all actions.
        alpha: Worth of entropy.
    """
    return (probs * (q - alpha * log_probs)).sum(-1)


def temperature_loss(log_alpha: Tensor, logp: Tensor, target_entropy: Tensor) -> Tensor:
    """Raises the worth of entropy where there is less of it than wanted, and lowers it else."""
    return -(log_alpha * (logp.detach() + target_entropy)).mean()


def conservative_penalty(
    q: Tensor,
    drawn: Sequence[tuple[Tensor, Tensor]],
    *,
    temperature: float,
    min_q_weight: float,
) -> Tensor:
    """CQL's: what actions nobody took seem worth beyond those that were taken.

    Args:
        q: Estimates for the recorded actions, `(B,)`.
        drawn: Estimates for drawn actions and the logarithms of their densities, each `(B, n, 1)`.
        temperature: How much the best of them stand out.
        min_q_weight: Weight of the penalty.
    """
    above = torch.cat([values - logp for values, logp in drawn], dim=1)
    overestimated = torch.logsumexp(above / temperature, dim=1).mean() * temperature
    return min_q_weight * (overestimated - q.mean())


def uniform_log_density(width: int) -> float:
    """The logarithm of the density of actions drawn from -1 to 1 in each of so many numbers."""
    return width * math.log(0.5)


def expectile_loss(errors: Tensor, expectile: Tensor | float) -> Tensor:
    """Squared errors that count `expectile` where values are too small, and the rest of 1 else.

    Example:
        >>> expectile_loss(torch.tensor([1.0, -1.0]), 0.75)
        tensor(0.5000)
    """
    shares = torch.where(errors > 0, expectile, 1 - expectile)
    return (shares * errors.square()).mean()


MOST_WEIGHT = 100.0


def advantage_weights(advantages: Tensor, temperature: Tensor | float) -> Tensor:
    """IQL's: how much better actions count when they are imitated, 100 times at most."""
    return torch.exp(temperature * advantages.detach()).clamp(max=MOST_WEIGHT)
