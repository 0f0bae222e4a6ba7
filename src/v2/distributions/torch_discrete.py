"""Choices among numbered actions: one choice, or several at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from gymnasium.spaces import Discrete, MultiDiscrete, Space
from torch import Tensor
from torch.distributions import Categorical, OneHotCategorical
from typing_extensions import Self, override

from ...core.errors import ConfigError, SpaceError
from ...core.formulas.distributions import straight_through
from ...core.types import Nest
from .base import Distribution
from .torch_base import Shape, TorchDistribution
from .torch_continuous import TorchDeterministic


class TorchCategorical(TorchDistribution):
    """One of n actions, by logits or by probabilities.

    Args:
        logits: Unnormalised log-probabilities `(B, n)`.
        probs: Probabilities `(B, n)`; give exactly one of the two.

    Example:
        >>> TorchCategorical(probs=torch.tensor([0.25, 0.75])).logp(torch.tensor(1)).exp()
        tensor(0.7500)
    """

    def __init__(self, logits: Tensor | None = None, probs: Tensor | None = None) -> None:
        if (logits is None) == (probs is None):
            raise ConfigError("give exactly one of logits and probs to TorchCategorical")
        self.logits, self.probs = logits, probs
        super().__init__(logits=logits, probs=probs)

    @override
    def _get_torch_distribution(self, logits: Any = None, probs: Any = None) -> Categorical:
        if logits is None or not logits.is_floating_point() or logits.dim() < 1:
            return Categorical(logits=logits, probs=probs, validate_args=False)
        # What its constructor does, with one fused operation in place of a dozen small ones.
        categorical = Categorical.__new__(Categorical)
        categorical.logits = categorical._param = logits.log_softmax(dim=-1)
        categorical._num_events = logits.size(-1)
        super(Categorical, categorical).__init__(logits.shape[:-1], validate_args=False)
        return categorical

    @staticmethod
    @override
    def required_input_dim(space: Space[Any], **kwargs: Any) -> int:
        if not isinstance(space, Discrete):
            raise SpaceError("TorchCategorical", expected="a Discrete space", found=repr(space))
        return int(space.n)

    @override
    def rsample(self, sample_shape: Shape = None, **kwargs: Any) -> Tensor:
        """Draw one-hot rows that carry the gradient of the probabilities (straight-through)."""
        probs = self._dist.probs
        drawn: Any = OneHotCategorical(probs=probs, validate_args=False)
        return straight_through(drawn.sample(torch.Size(sample_shape or ())), probs)

    @override
    def kl(self, other: Any, **kwargs: Any) -> Tensor:
        # torch's own writes into the products wherever either probability is 0: two passes more.
        if not isinstance(other, TorchCategorical):
            return super().kl(other, **kwargs)
        probs = self._dist.probs
        terms = probs * (self._dist.logits - other._dist.logits)
        return torch.where(probs > 0, terms, torch.zeros_like(terms)).sum(dim=-1)

    @override
    def to_deterministic(self) -> TorchDeterministic:
        # Of what was given: normalised, two of them may round to one number.
        scores: Any = self.logits if self.probs is None else self.probs
        return TorchDeterministic(loc=scores.argmax(dim=-1))


class TorchMultiCategorical(Distribution):
    """Several choices at once, independent of each other.

    Args:
        categoricals: One distribution per choice.

    Example:
        >>> pair = TorchMultiCategorical.from_logits(torch.eye(5)[:1], input_lens=[2, 3])
        >>> pair.to_deterministic().sample()
        tensor([[0, 0]])
    """

    def __init__(self, categoricals: Sequence[TorchCategorical]) -> None:
        self._cats = list(categoricals)

    @override
    def sample(self, *, sample_shape: Shape = None, **kwargs: Any) -> Tensor:
        return torch.stack([cat.sample(sample_shape=sample_shape) for cat in self._cats], dim=-1)

    @override
    def rsample(self, sample_shape: Shape = None, **kwargs: Any) -> Tensor:
        """Draw one-hot rows, one choice beside the other, that carry the gradient."""
        return torch.cat([cat.rsample(sample_shape) for cat in self._cats], dim=-1)

    @override
    def logp(self, value: Nest, **kwargs: Any) -> Tensor:
        choices = torch.as_tensor(value).unbind(dim=-1)
        return torch.stack(
            [cat.logp(choice) for cat, choice in zip(self._cats, choices, strict=True)]
        ).sum(dim=0)

    @override
    def entropy(self, **kwargs: Any) -> Tensor:
        return torch.stack([cat.entropy() for cat in self._cats], dim=-1).sum(dim=-1)

    @override
    def kl(self, other: Any, **kwargs: Any) -> Tensor:
        pairs = zip(self._cats, other._cats, strict=True)
        return torch.stack([mine.kl(theirs) for mine, theirs in pairs], dim=-1).sum(dim=-1)

    @staticmethod
    @override
    def required_input_dim(space: Space[Any], **kwargs: Any) -> int:
        if not isinstance(space, MultiDiscrete):
            raise SpaceError(
                "TorchMultiCategorical", expected="a MultiDiscrete space", found=repr(space)
            )
        return int(space.nvec.sum())

    @classmethod
    @override
    def from_logits(
        cls,
        logits: Any,
        input_lens: Sequence[int] = (),
        temperatures: Sequence[float] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Cut logits into one part per choice.

        Args:
            logits: Outputs `(B, sum(input_lens))`.
            input_lens: Number of actions of each choice.
            temperatures: What the logits of each choice are divided by.
            **kwargs: Ignored.
        """
        lens = [int(n) for n in input_lens]
        if sum(lens) != logits.shape[-1]:
            raise SpaceError(
                f"input_lens {lens} must sum to the width of the logits",
                expected=str(logits.shape[-1]),
                found=str(sum(lens)),
            )
        parts = logits.split(lens, dim=-1)
        if temperatures is not None:
            parts = [part / t for part, t in zip(parts, temperatures, strict=True)]
        return cls([TorchCategorical(logits=part) for part in parts])

    @override
    def to_deterministic(self) -> TorchDeterministic:
        best = [cat.to_deterministic().loc for cat in self._cats]
        return TorchDeterministic(loc=torch.stack(best, dim=-1))
