"""The losses of SAC, CQL and IQL, as formulas on tensors.

Nothing here knows modules or batches. Rows are steps `(B,)`; `q` holds the estimates of one or two
networks for the same actions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import huber_loss


def q_targets(
    rewards: Tensor, terminateds: Tensor, next_values: Tensor, discounts: Tensor | float
) -> Tensor:
    """What action values should have been: rewards, and the values of what came then.

    Args:
        rewards: Of the steps, discounted sums where these are several.
        terminateds: Whether nothing came then.
        next_values: What the next state is worth.
        discounts: What that counts: `gamma` to the power of the steps.
    """
    return (rewards + discounts * (1.0 - terminateds.float()) * next_values).detach()


def td_errors(q: Sequence[Tensor], targets: Tensor) -> Tensor:
    """How far estimates are from their targets, the mean of the networks; one per row.

    Example:
        >>> td_errors([torch.tensor([1.0]), torch.tensor([4.0])], torch.tensor([2.0]))
        tensor([1.5000])
    """
    errors = [(each.detach() - targets).abs() for each in q]
    return torch.stack(errors).mean(0) if len(errors) > 1 else errors[0]


def critic_loss(q: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """The Huber loss of estimates, weighted by rows."""
    return (weights * huber_loss(q, targets, reduction="none")).mean()


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
