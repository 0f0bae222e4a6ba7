"""Formulas of torch action distributions that are more than one call of `torch.distributions`."""

from __future__ import annotations

import math
from typing import Any, Final, TypeAlias, cast

import torch
from torch import Tensor
from torch.distributions import Distribution
from torch.nn import functional

Bound: TypeAlias = float | Tensor
"""One bound for all components, or one each."""

_EDGE: Final = 1e-6  # keeps a bound's inverse tangent finite


def squash(x: Tensor, low: Bound, high: Bound) -> Tensor:
    """Map the real line into `[low, high]` by a hyperbolic tangent.

    Example:
        >>> squash(torch.tensor([0.0, 99.0]), -2.0, 4.0)
        tensor([1., 4.])
    """
    stretched = (torch.tanh(x) + 1.0) / 2.0 * (high - low) + low
    # Rounding may step over a bound by one digit.
    return stretched.clamp(min=cast("Any", low)).clamp(max=cast("Any", high))


def unsquash(y: Tensor, low: Bound, high: Bound) -> Tensor:
    """Invert `squash`; the bounds themselves map to about -7.25 and 7.25."""
    normed = (y - low) / (high - low) * 2.0 - 1.0
    return torch.atanh(torch.clamp(normed, -1.0 + _EDGE, 1.0 - _EDGE))


def squashed_log_prob(normal: Distribution, unsquashed: Tensor) -> Tensor:
    """Log-density `(...)` of squashed values, given what they were before `(..., n)`.

    The tangent's slope is taken off; that of the stretch to `[low, high]` is not, as in RLlib.
    """
    # log(1 - tanh(x)^2), written so that it does not run out of digits at large |x|
    slope = 2.0 * (math.log(2.0) - unsquashed - functional.softplus(-2.0 * unsquashed))
    return (normal.log_prob(unsquashed) - slope).sum(dim=-1)


def straight_through(one_hot: Tensor, probs: Tensor) -> Tensor:
    """A sample as it is, with the gradient of its probabilities."""
    return one_hot + (probs - probs.detach())
