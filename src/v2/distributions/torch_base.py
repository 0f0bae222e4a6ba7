"""A distribution that `torch.distributions` already knows, behind RLlib's names."""

from __future__ import annotations

import abc
from typing import Any

import torch
from torch import Tensor
from torch.distributions import kl_divergence
from typing_extensions import Self, override

from ...core.types import Nest
from .base import Distribution

Shape = tuple[int, ...] | None


class TorchDistribution(Distribution):
    """Wraps one `torch.distributions` object, `_dist`.

    A subclass says which in `_get_torch_distribution`, from the arguments of its constructor.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._dist: Any = self._get_torch_distribution(*args, **kwargs)

    @abc.abstractmethod
    def _get_torch_distribution(self, *args: Any, **kwargs: Any) -> Any:
        """Make the wrapped object."""

    @override
    def logp(self, value: Nest, **kwargs: Any) -> Tensor:
        log_probs: Tensor = self._dist.log_prob(value, **kwargs)
        return log_probs

    @override
    def entropy(self, **kwargs: Any) -> Tensor:
        entropies: Tensor = self._dist.entropy()
        return entropies

    @override
    def kl(self, other: Any, **kwargs: Any) -> Tensor:
        divergences: Tensor = kl_divergence(self._dist, other._dist)
        return divergences

    @override
    def sample(self, *, sample_shape: Shape = None, **kwargs: Any) -> Tensor:
        samples: Tensor = self._dist.sample(torch.Size(sample_shape or ()))
        return samples

    @override
    def rsample(self, *, sample_shape: Shape = None, **kwargs: Any) -> Tensor:
        samples: Tensor = self._dist.rsample(torch.Size(sample_shape or ()))
        return samples

    def sample_and_logp(self, *, sample_shape: Shape = None) -> tuple[Tensor, Tensor]:
        """Draw actions, with their log-densities."""
        actions = self.sample(sample_shape=sample_shape)
        return actions, self.logp(actions)

    def rsample_and_logp(self, *, sample_shape: Shape = None) -> tuple[Tensor, Tensor]:
        """Draw actions through which gradients flow, with their log-densities."""
        actions = self.rsample(sample_shape=sample_shape)
        return actions, self.logp(actions)

    @classmethod
    @override
    def from_logits(cls, logits: Tensor, **kwargs: Any) -> Self:
        return cls(logits=logits, **kwargs)
