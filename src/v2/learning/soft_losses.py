"""The losses of SAC, CQL and IQL, as formulas on tensors; rows are steps `(B,)`.

How values of actions are held to what they should be, `q_losses` says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from .q_losses import QTerms


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
