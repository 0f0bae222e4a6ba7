"""Torch distributions over real numbers: Gaussian, squashed Gaussian, Beta, fixed, Dirichlet."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...core.errors import ConfigError
from ...core.types import Nest
from .array_formulas import LOG_STD_RANGE, SMALL
from .torch_base import TorchDistributionWrapper

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


def _normal_logp(mean: torch.Tensor, std: torch.Tensor, values: Any) -> torch.Tensor:
    logp: torch.Tensor = -((values - mean) ** 2) / (2 * std**2) - std.log() - _HALF_LOG_TWO_PI
    return logp


def _noise(like: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
    # torch.normal and not randn: the draw Ray's distributions take from the same seed.
    return torch.normal(torch.zeros_like(like), torch.ones_like(like), generator=generator)


def _as_tensor(values: Any, like: torch.Tensor) -> torch.Tensor:
    return torch.as_tensor(values, device=like.device)


def _components(action_space: Any) -> int:
    return int(np.prod(action_space.shape, dtype=np.int64))


class TorchDiagGaussian(TorchDistributionWrapper):
    """Independent Gaussians; inputs are means, then log standard deviations.

    Args:
        inputs: Means and log standard deviations side by side, (B, 2k).
        model: The network they come from.
        action_space: A Box of shape () makes samples lose their last axis.
    """

    def __init__(self, inputs: Any, model: Any = None, *, action_space: Any = None) -> None:
        super().__init__(inputs, model)
        self.mean, self.log_std = torch.chunk(self.inputs, 2, dim=1)
        self.std = self.log_std.exp()
        self.zero_action_dim = action_space is not None and action_space.shape == ()

    def _torch_distribution(self) -> torch.distributions.Normal:
        return torch.distributions.Normal(self.mean, self.std)

    def deterministic_sample(self) -> torch.Tensor:
        """The means."""
        chosen: torch.Tensor = self.mean
        self.last_sample = chosen
        return chosen

    def sample(self, generator: torch.Generator | None = None) -> torch.Tensor:
        """Gaussian draws; without the last axis where the space has none."""
        drawn = torch.normal(self.mean, self.std, generator=generator)
        self.last_sample = drawn
        return drawn.squeeze(-1) if self.zero_action_dim else drawn

    def logp(self, x: Nest) -> torch.Tensor:
        """Summed log-densities."""
        values = _as_tensor(x, self.mean)
        if self.zero_action_dim and values.ndim < self.mean.ndim:
            values = values.unsqueeze(-1)
        return _normal_logp(self.mean, self.std, values).sum(-1)

    def entropy(self) -> torch.Tensor:
        """Summed entropy."""
        return (0.5 + _HALF_LOG_TWO_PI + self.std.log()).sum(-1)

    def kl(self, other: Any) -> torch.Tensor:
        """Summed divergence."""
        divergence: torch.Tensor = super().kl(other).sum(-1)
        return divergence

    @staticmethod
    def required_model_output_shape(action_space: Any, model_config: Mapping[str, Any]) -> int:
        """Mean and log standard deviation of each component."""
        return 2 * _components(action_space)


class TorchSquashedGaussian(TorchDistributionWrapper):
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
        self.mean, log_std = torch.chunk(self.inputs, 2, dim=-1)
        self.std = log_std.clamp(*LOG_STD_RANGE).exp()
        self.low, self.high = low, high

    def _torch_distribution(self) -> torch.distributions.Normal:
        return torch.distributions.Normal(self.mean, self.std)

    def _squash(self, raw_values: torch.Tensor) -> torch.Tensor:
        bent = (raw_values.tanh() + 1.0) / 2.0 * (self.high - self.low) + self.low
        return bent.clamp(self.low, self.high)

    def _unsquash(self, values: Any) -> torch.Tensor:
        normed = (_as_tensor(values, self.mean) - self.low) / (self.high - self.low) * 2.0 - 1.0
        return normed.clamp(-1.0 + SMALL, 1.0 - SMALL).atanh()

    def deterministic_sample(self) -> torch.Tensor:
        """The squashed means."""
        chosen: torch.Tensor = self._squash(self.mean)
        self.last_sample = chosen
        return chosen

    def _draw(self, generator: torch.Generator | None) -> torch.Tensor:
        return self._squash(self.mean + _noise(self.mean, generator) * self.std)

    def logp(self, x: Nest) -> torch.Tensor:
        """Log-density of squashed actions."""
        raw = self._unsquash(x)
        gauss = _normal_logp(self.mean, self.std, raw).clamp(-100, 100).sum(-1)
        bend: torch.Tensor = (1 - raw.tanh() ** 2 + SMALL).log().sum(-1)
        return gauss - bend

    def sample_logp(
        self, generator: torch.Generator | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Actions and their log-densities from one draw, without unsquashing."""
        raw = self.mean + _noise(self.mean, generator) * self.std
        actions = self._squash(raw)
        logp = _normal_logp(self.mean, self.std, raw) - (1 - actions * actions + SMALL).log()
        return actions, logp.sum(-1)

    def entropy(self) -> Tensor:
        """Not defined for this distribution: always a ValueError."""
        raise ValueError("Entropy not defined for SquashedGaussian!")

    def kl(self, other: Any) -> Tensor:
        """Not defined for this distribution: always a ValueError."""
        raise ValueError("KL not defined for SquashedGaussian!")

    @staticmethod
    def required_model_output_shape(action_space: Any, model_config: Mapping[str, Any]) -> int:
        """Mean and log standard deviation of each component."""
        return 2 * _components(action_space)


class TorchBeta(TorchDistributionWrapper):
    """A Beta distribution stretched to [low, high].

    Args:
        inputs: Pre-alphas and pre-betas side by side, (B, 2k); each becomes log(exp(x) + 1) + 1.
        model: The network they come from.
        low: Lower end of the actions.
        high: Upper end of the actions.
    """

    def __init__(self, inputs: Any, model: Any = None, low: float = 0.0, high: float = 1.0):
        super().__init__(inputs, model)
        edge = -math.log(SMALL)
        self.inputs = (self.inputs.clamp(-edge, edge).exp() + 1.0).log() + 1.0
        self.alpha, self.beta = torch.chunk(self.inputs, 2, dim=-1)
        self.low, self.high = low, high

    def _torch_distribution(self) -> torch.distributions.Beta:
        return torch.distributions.Beta(self.alpha, self.beta)

    def _squash(self, raw_values: torch.Tensor) -> torch.Tensor:
        return raw_values * (self.high - self.low) + self.low

    def deterministic_sample(self) -> torch.Tensor:
        """The stretched mean."""
        chosen: torch.Tensor = self._squash(self.alpha / (self.alpha + self.beta))
        self.last_sample = chosen
        return chosen

    def _draw(self, generator: torch.Generator | None) -> torch.Tensor:
        pair = torch.stack([self.alpha, self.beta], dim=-1)
        return self._squash(torch._sample_dirichlet(pair, generator=generator)[..., 0])

    def logp(self, x: Nest) -> torch.Tensor:
        """Summed log-densities of the unstretched actions."""
        share = (_as_tensor(x, self.alpha) - self.low) / (self.high - self.low)
        logp: torch.Tensor = self.dist.log_prob(share).sum(-1)
        return logp

    @staticmethod
    def required_model_output_shape(action_space: Any, model_config: Mapping[str, Any]) -> int:
        """Two shape parameters a component."""
        return 2 * _components(action_space)


class TorchDeterministic(TorchDistributionWrapper):
    """The inputs are the action."""

    def deterministic_sample(self) -> torch.Tensor:
        """The inputs."""
        result: torch.Tensor = self.inputs
        return result

    def sample(self, generator: torch.Generator | None = None) -> torch.Tensor:
        """The inputs."""
        return self.deterministic_sample()

    def sampled_action_logp(self) -> torch.Tensor:
        """Zeros: there is one possible action."""
        return torch.zeros(self.inputs.shape[0], dtype=torch.float32, device=self.inputs.device)

    @staticmethod
    def required_model_output_shape(action_space: Any, model_config: Mapping[str, Any]) -> int:
        """One input a component."""
        return _components(action_space)


class TorchDirichlet(TorchDistributionWrapper):
    """Shares that sum to one; inputs are log concentrations."""

    def __init__(self, inputs: Any, model: Any = None) -> None:
        super().__init__(inputs, model)
        self.epsilon = torch.tensor(1e-7, device=self.inputs.device)
        self.inputs = self.inputs.exp() + self.epsilon

    def _torch_distribution(self) -> torch.distributions.Dirichlet:
        return torch.distributions.Dirichlet(self.inputs)

    def deterministic_sample(self) -> torch.Tensor:
        """The softmax of the concentrations (what Ray takes, it is not the mean)."""
        chosen: torch.Tensor = self.inputs.softmax(dim=-1)
        self.last_sample = chosen
        return chosen

    def _draw(self, generator: torch.Generator | None) -> torch.Tensor:
        return torch._sample_dirichlet(self.inputs, generator=generator)

    def logp(self, x: Nest) -> Tensor:
        """Log-density, with shares kept above 1e-7 and made to sum to one."""
        shares = torch.maximum(_as_tensor(x, self.inputs), self.epsilon)
        return self.dist.log_prob(shares / shares.sum(dim=-1, keepdim=True))

    @staticmethod
    def required_model_output_shape(action_space: Any, model_config: Mapping[str, Any]) -> int:
        """One concentration a component."""
        return _components(action_space)
