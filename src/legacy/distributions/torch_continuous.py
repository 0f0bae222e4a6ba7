"""Torch distributions over real numbers: Gaussian, squashed Gaussian, Beta, fixed, Dirichlet."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from typing_extensions import override

from ...core.errors import ConfigError
from ...core.formulas.distributions import (
    HALF_LOG_TWO_PI,
    SMALL,
    draw_noise,
    halves,
    normal_logp,
    squash,
)
from ...core.types import Nest
from .families import Beta, Deterministic, DiagGaussian, Dirichlet, SquashedGaussian
from .torch_base import FormulaDistribution


class _OfNormals(FormulaDistribution):
    """A distribution that independent normal ones underlie: a mean and a deviation a number."""

    mean: Tensor
    std: Tensor
    inputs_per_number = 2

    @property
    @override
    def parameters(self) -> tuple[Tensor, Tensor]:
        return self.mean, self.std

    def _torch_distribution(self) -> torch.distributions.Normal:
        return torch.distributions.Normal(self.mean, self.std)


class TorchDiagGaussian(_OfNormals):
    """Independent Gaussians; inputs are means, then log standard deviations.

    Args:
        inputs: Means and log standard deviations side by side, (B, 2k).
        model: The network they come from.
        action_space: A Box of shape () makes samples lose their last axis.
    """

    family = DiagGaussian(0)

    def __init__(self, inputs: Any, model: Any = None, *, action_space: Any = None) -> None:
        super().__init__(inputs, model)
        self.mean, self.log_std = torch.chunk(self.inputs, 2, dim=1)
        self.std = self.log_std.exp()
        self.zero_action_dim = action_space is not None and action_space.shape == ()
        if self.zero_action_dim:
            self.family = DiagGaussian(2, scalar=True)

    @override
    def sample(self, generator: torch.Generator | None = None) -> Tensor:
        """Gaussian draws; without the last axis where the space has none."""
        drawn = super().sample(generator)
        if self.zero_action_dim:
            self.last_sample = drawn.unsqueeze(-1)
        return drawn

    @override
    def entropy(self) -> Tensor:
        """Summed entropy."""
        return (0.5 + HALF_LOG_TWO_PI + self.std.log()).sum(-1)

    @override
    def kl(self, other: Any) -> Tensor:
        """Summed divergence."""
        return super().kl(other).sum(-1)


class TorchSquashedGaussian(_OfNormals):
    """A Gaussian bent into [low, high] by tanh; log standard deviations are clipped to [-5, 2].

    Args:
        inputs: Means and log standard deviations side by side, (B, 2k).
        model: The network they come from.
        low: Lower end of the actions.
        high: Upper end of the actions, above `low`.
    """

    def __init__(self, inputs: Any, model: Any = None, low: float = -1.0, high: float = 1.0):
        super().__init__(inputs, model)
        if not np.all(np.less(low, high)):
            raise ConfigError(
                "a squashed Gaussian cannot be built",
                expected="low below high",
                found=f"low={low}, high={high}",
            )
        self.low, self.high = low, high
        self.family = SquashedGaussian(self.inputs.shape[-1], low, high)
        self.mean, self.std = self.family.parameters(self.inputs)

    def sample_logp(self, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        """Actions and their log-densities from one draw, without unsquashing."""
        raw = self.mean + draw_noise(self.mean, generator) * self.std
        actions = squash(raw, self.low, self.high)
        logp = normal_logp(self.mean, self.std, raw) - (1 - actions * actions + SMALL).log()
        return actions, logp.sum(-1)

    @override
    def entropy(self) -> Tensor:
        """Not defined for this distribution: always a ValueError."""
        raise ValueError("Entropy not defined for SquashedGaussian!")

    @override
    def kl(self, other: Any) -> Tensor:
        """Not defined for this distribution: always a ValueError."""
        raise ValueError("KL not defined for SquashedGaussian!")


class TorchBeta(FormulaDistribution):
    """A Beta distribution stretched to [low, high].

    Args:
        inputs: Pre-alphas and pre-betas side by side, (B, 2k); each becomes log(exp(x) + 1) + 1.
        model: The network they come from.
        low: Lower end of the actions.
        high: Upper end of the actions.
    """

    inputs_per_number = 2

    def __init__(self, inputs: Any, model: Any = None, low: float = 0.0, high: float = 1.0):
        super().__init__(inputs, model)
        self.low, self.high = low, high
        self.family = Beta(self.inputs.shape[-1], low, high)
        self.inputs = self.family.shapes(self.inputs)
        self.alpha, self.beta = halves(self.inputs)

    @property
    @override
    def parameters(self) -> tuple[Tensor, Tensor]:
        return self.alpha, self.beta

    def _torch_distribution(self) -> torch.distributions.Beta:
        return torch.distributions.Beta(self.alpha, self.beta)


class TorchDeterministic(FormulaDistribution):
    """The inputs are the action."""

    family = Deterministic(0)

    @override
    def logp(self, x: Nest) -> Tensor:
        """Zeros: there is one possible action."""
        return torch.zeros(self.inputs.shape[0], dtype=torch.float32, device=self.inputs.device)

    @override
    def sampled_action_logp(self) -> Tensor:
        return self.logp(self.inputs)


class TorchDirichlet(FormulaDistribution):
    """Shares that sum to one; inputs are log concentrations."""

    family = Dirichlet(0)

    def __init__(self, inputs: Any, model: Any = None) -> None:
        super().__init__(inputs, model)
        self.epsilon = torch.tensor(Dirichlet.FLOOR, device=self.inputs.device)
        self.inputs = self.inputs.exp() + self.epsilon

    def _torch_distribution(self) -> torch.distributions.Dirichlet:
        return torch.distributions.Dirichlet(self.inputs)
