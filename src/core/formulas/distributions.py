"""Densities and draws of real numbers, as formulas that serve arrays and tensors.

Rows of numbers have shape (B, n). A random generator is numpy's for arrays, torch's for tensors, or
None for its global one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from .. import array_namespace as xp
from ..types import Array

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T")
"""An array or a tensor."""

SMALL: Final = 1e-6
"""Smallest distance that Ray keeps between an action and the edge of its distribution."""

LOG_STD_RANGE: Final = (-5.0, 2.0)
"""Range to which the log standard deviation of a squashed Gaussian is clipped."""

HALF_LOG_TWO_PI: Final = 0.5 * math.log(2 * math.pi)

_LANCZOS: Final = (
    0.99999999999980993,
    676.5203681218851,
    -1259.1392167224028,
    771.32342877765313,
    -176.61502916214059,
    12.507343278686905,
    -0.13857109526572012,
    9.9843695780195716e-6,
    1.5056327351493116e-7,
)


def halves(inputs: Any) -> tuple[Any, Any]:
    """The first and the second half of the last axis, as views."""
    middle = inputs.shape[-1] // 2
    if type(inputs) is not np.ndarray and 2 * middle == inputs.shape[-1] and xp.is_tensor(inputs):
        first, second = inputs.chunk(2, -1)  # in less time than two views take
        return first, second
    return inputs[..., :middle], inputs[..., middle:]


def normal_logp(mean: Any, std: Any, values: Any) -> Any:
    """Log-density of a Gaussian, per component."""
    log_std, away = xp.namespace(std).log(std), values - mean
    return away * away / (-2 * (std * std)) - log_std - HALF_LOG_TWO_PI


def bounded(x: T, low: Any, high: Any) -> T:
    """`x` between two bounds; of arrays without `clip`'s layers of Python."""
    value: Any = x
    inside: T
    if type(value) is np.ndarray:
        inside = np.minimum(np.maximum(value, low), high)
    elif type(low) is type(high):
        inside = value.clip(low, high)
    else:  # torch does not accept a tensor together with a number
        inside = value.clip(min=low).clip(max=high)
    return inside


def squash(x: T, low: Any, high: Any) -> T:
    """Map the real line into `[low, high]` by a hyperbolic tangent.

    Example:
        >>> squash(np.array([0.0, 99.0]), -2.0, 4.0)
        array([1., 4.])
    """
    bent: T = (xp.namespace(x).tanh(x) + 1.0) / 2.0 * (high - low) + low
    return bounded(bent, low, high)  # rounding may step over a bound by one digit


def unsquash(y: T, low: Any, high: Any) -> T:
    """Invert `squash`; the bounds themselves map to about -7.25 and 7.25."""
    normed: Any = (y - low) / (high - low) * 2.0 - 1.0
    # In the dtype of the actions: the inverse tangent of the bound depends on its last digit.
    raw: T = xp.namespace(normed).arctanh(bounded(normed, -1.0 + SMALL, 1.0 - SMALL))
    return raw


def squashed_log_prob(normal: Any, unsquashed: Tensor) -> Tensor:
    """Log-density `(...)` of squashed tensors, given what they were before `(..., n)`.

    The tangent's slope is taken off; that of the stretch to `[low, high]` is not, as in RLlib.
    """
    softplus = xp.namespace(unsquashed).nn.functional.softplus
    # log(1 - tanh(x)^2), written so that it does not run out of digits at large |x|
    slope = 2.0 * (math.log(2.0) - unsquashed - softplus(-2.0 * unsquashed))
    logp: Tensor = (normal.log_prob(unsquashed) - slope).sum(dim=-1)
    return logp


def straight_through(one_hot: Tensor, probs: Tensor) -> Tensor:
    """Return a sample unchanged, with the gradient of its probabilities."""
    return one_hot + (probs - probs.detach())


def log_gamma(x: Array) -> Array:
    """The logarithm of the gamma function for positive numbers (Lanczos, 1e-14)."""
    y = np.asarray(x, np.float64)
    series = _LANCZOS[0] + sum(c / (y + k) for k, c in enumerate(_LANCZOS[1:], start=1))
    t = y + 7.5
    shifted = HALF_LOG_TWO_PI + (y + 0.5) * np.log(t) - t + np.log(series)
    result: Array = shifted - np.log(y)  # the series gives log(gamma(y + 1))
    return result


def dirichlet_logp(concentration: Any, shares: Any) -> Any:
    """Log-density of shares that sum to one, over the last axis; of arrays in float64."""
    if xp.is_tensor(concentration):
        dirichlet = xp.namespace(concentration).distributions.Dirichlet
        return dirichlet(concentration).log_prob(shares)
    c, x = concentration.astype(np.float64), shares.astype(np.float64)
    weighted = np.where(c == 1, 0.0, (c - 1) * np.log(x)).sum(axis=-1)
    return weighted + log_gamma(c.sum(axis=-1)) - log_gamma(c).sum(axis=-1)


def draw_noise(like: Any, rng: Any) -> Any:
    """Standard normal numbers in the shape of `like`; arrays in float32."""
    torch = xp.namespace(like)
    if torch is not np:
        # torch.normal and not randn: the draw Ray's distributions take from the same seed.
        return torch.normal(torch.zeros_like(like), torch.ones_like(like), generator=rng)
    return rng.standard_normal(like.shape, np.float32)


def draw_normal(mean: Any, std: Any, rng: Any) -> Any:
    """Gaussian numbers; no gradient flows through tensors."""
    functions = xp.namespace(mean)
    if functions is not np:
        return functions.normal(mean, std, generator=rng)
    return mean + std * draw_noise(mean, rng)


def draw_dirichlet(concentration: Any, rng: Any) -> Any:
    """Shares that sum to one; arrays in float64."""
    functions = xp.namespace(concentration)
    if functions is not np:
        return functions._sample_dirichlet(concentration, generator=rng)
    drawn = rng.standard_gamma(concentration.astype(np.float64))
    return drawn / drawn.sum(axis=-1, keepdims=True)


def draw_beta(alpha: Any, beta: Any, rng: Any) -> Any:
    """Numbers between 0 and 1; arrays in float64."""
    functions = xp.namespace(alpha)
    if functions is not np:
        pairs = functions.stack([alpha, beta], dim=-1)
        return draw_dirichlet(pairs, rng)[..., 0]
    return rng.beta(alpha, beta)
