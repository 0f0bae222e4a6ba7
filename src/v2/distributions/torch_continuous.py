"""Actions on the real line: normal, normal squashed into bounds, and always the same."""

from __future__ import annotations

from math import prod
from typing import Any, Final

import torch
from gymnasium.spaces import Box, Space
from torch import Tensor
from torch.distributions import Normal
from typing_extensions import Self, override

from ...core.errors import ConfigError, SpaceError
from ...core.formulas.distributions import squash, squashed_log_prob, unsquash
from ...core.types import Nest
from .base import Distribution
from .torch_base import Shape, TorchDistribution

MIN_LOG_STD: Final = -5
MAX_LOG_STD: Final = 2


class TorchDeterministic(Distribution):
    """Always the same action.

    Args:
        loc: That action, per row.
    """

    def __init__(self, loc: Tensor) -> None:
        self.loc = loc

    @override
    def sample(self, *, sample_shape: Shape = None, **kwargs: Any) -> Tensor:
        shape = tuple(sample_shape or ())
        return self.loc.expand(*shape, *self.loc.shape) if shape else self.loc

    @override
    def rsample(self, *, sample_shape: Shape = None, **kwargs: Any) -> Tensor:
        raise NotImplementedError("TorchDeterministic draws nothing; use sample().")

    @override
    def logp(self, value: Nest, **kwargs: Any) -> Tensor:
        """Zeros like the action: whatever is asked, it is certain."""
        return torch.zeros_like(self.loc)

    @override
    def entropy(self, **kwargs: Any) -> Tensor:
        raise RuntimeError("entropy() is not defined for TorchDeterministic.")

    @override
    def kl(self, other: Distribution, **kwargs: Any) -> Tensor:
        raise RuntimeError("kl() is not defined for TorchDeterministic.")

    @staticmethod
    @override
    def required_input_dim(space: Space[Any], **kwargs: Any) -> int:
        return prod(_box(space, "TorchDeterministic").shape)

    @override
    def to_deterministic(self) -> Self:
        return self


class TorchDiagGaussian(TorchDistribution):
    """Independent normal actions; log-densities and entropies are sums over the last axis.

    Args:
        loc: Means `(B, n)`.
        scale: Standard deviations `(B, n)`.

    Example:
        >>> TorchDiagGaussian.from_logits(torch.zeros(1, 4)).to_deterministic().sample()
        tensor([[0., 0.]])
    """

    def __init__(self, loc: Any, scale: Any) -> None:
        self.loc, self.scale = loc, scale
        super().__init__(loc=loc, scale=scale)

    @override
    def _get_torch_distribution(self, loc: Any, scale: Any) -> Normal:
        return Normal(loc, scale, validate_args=False)

    @override
    def logp(self, value: Nest, **kwargs: Any) -> Tensor:
        log_prob: Tensor = self._dist.log_prob(value)
        return log_prob.sum(dim=-1)

    @override
    def entropy(self, **kwargs: Any) -> Tensor:
        entropy: Tensor = self._dist.entropy()
        return entropy.sum(dim=-1)

    @override
    def kl(self, other: Any, **kwargs: Any) -> Tensor:
        divergence: Tensor = super().kl(other)
        return divergence.sum(dim=-1)

    @staticmethod
    @override
    def required_input_dim(space: Space[Any], **kwargs: Any) -> int:
        return 2 * prod(_box(space, "TorchDiagGaussian").shape)

    @classmethod
    @override
    def from_logits(cls, logits: Tensor, **kwargs: Any) -> Self:
        """Means in the first half of the last axis, logarithms of deviations in the second."""
        loc, log_std = logits.chunk(2, dim=-1)
        return cls(loc=loc, scale=log_std.exp())

    @override
    def to_deterministic(self) -> TorchDeterministic:
        return TorchDeterministic(loc=self.loc)


class TorchSquashedGaussian(TorchDistribution):
    """Normal actions bent into `[low, high]` by a hyperbolic tangent.

    Args:
        loc: Means `(B, n)` before squashing.
        scale: Standard deviations before squashing.
        low: Lower bound of actions, a number or one per component.
        high: Upper bound.

    Example:
        >>> narrow = TorchSquashedGaussian(torch.zeros(1, 2), 0.001, low=1.0, high=3.0)
        >>> narrow.sample().round()
        tensor([[2., 2.]])
    """

    def __init__(self, loc: Any, scale: Any = 1.0, low: Any = -1.0, high: Any = 1.0) -> None:
        if not bool((torch.as_tensor(low) < torch.as_tensor(high)).all()):
            raise ConfigError(
                "the bounds of a squashed distribution",
                expected="low < high",
                found=f"{low}, {high}",
            )
        self.loc, self.low, self.high = loc, low, high
        super().__init__(loc=loc, scale=scale)

    @override
    def _get_torch_distribution(self, loc: Any, scale: Any) -> Normal:
        return Normal(loc, scale, validate_args=False)

    @override
    def sample(self, *, sample_shape: Shape = None, **kwargs: Any) -> Tensor:
        return self._squash(super().sample(sample_shape=sample_shape))

    @override
    def rsample(self, *, sample_shape: Shape = None, **kwargs: Any) -> Tensor:
        return self._squash(super().rsample(sample_shape=sample_shape))

    @override
    def logp(self, value: Nest, **kwargs: Any) -> Tensor:
        return self._squashed_logp(unsquash(value, self.low, self.high))

    @override
    def sample_and_logp(self, *, sample_shape: Shape = None) -> tuple[Tensor, Tensor]:
        drawn = super().sample(sample_shape=sample_shape)
        return self._squash(drawn), self._squashed_logp(drawn)

    @override
    def rsample_and_logp(self, *, sample_shape: Shape = None) -> tuple[Tensor, Tensor]:
        drawn = super().rsample(sample_shape=sample_shape)
        return self._squash(drawn), self._squashed_logp(drawn)

    @override
    def entropy(self, **kwargs: Any) -> Tensor:
        raise ConfigError("entropy() is not defined for TorchSquashedGaussian.")

    @override
    def kl(self, other: Any, **kwargs: Any) -> Tensor:
        raise ConfigError("kl() is not defined for TorchSquashedGaussian.")

    def _squash(self, sample: Tensor) -> Tensor:
        return squash(sample, self.low, self.high)

    def _squashed_logp(self, unsquashed: Tensor) -> Tensor:
        return squashed_log_prob(self._dist, unsquashed)

    @staticmethod
    @override
    def required_input_dim(space: Space[Any], **kwargs: Any) -> int:
        return 2 * prod(_box(space, "TorchSquashedGaussian").shape)

    @classmethod
    @override
    def from_logits(cls, logits: Tensor, low: Any = -1.0, high: Any = 1.0, **kwargs: Any) -> Self:
        """As `TorchDiagGaussian.from_logits`, with the deviations' logarithms held in [-5, 2]."""
        loc, log_std = logits.chunk(2, dim=-1)
        scale = log_std.clamp(MIN_LOG_STD, MAX_LOG_STD).exp()
        return cls(loc=loc, scale=scale, low=low, high=high)

    @override
    def to_deterministic(self) -> TorchDeterministic:
        """The mean before squashing, as RLlib has it."""
        return TorchDeterministic(loc=self.loc)


def _box(space: Space[Any], name: str) -> Box:
    if not isinstance(space, Box):
        raise SpaceError(name, expected="a Box space", found=repr(space))
    return space
