"""What every action distribution can do; torch is not needed to say it."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gymnasium.spaces import Space
from typing_extensions import Self

from ...core.errors import ConfigError
from ...core.types import Nest

if TYPE_CHECKING:
    from torch import Tensor


class Distribution(abc.ABC):
    """A batch of distributions over actions.

    Made from a module's `action_dist_inputs` by `from_logits`.
    """

    @abc.abstractmethod
    def sample(self, *, sample_shape: tuple[int, ...] | None = None, **kwargs: Any) -> Nest:
        """Draw actions `(*sample_shape, B, ...)`."""

    @abc.abstractmethod
    def rsample(self, *, sample_shape: tuple[int, ...] | None = None, **kwargs: Any) -> Nest:
        """Draw actions through which gradients flow back to the inputs."""

    @abc.abstractmethod
    def logp(self, value: Nest, **kwargs: Any) -> Any:
        """Log-density `(B,)` of given actions."""

    @abc.abstractmethod
    def kl(self, other: Distribution, **kwargs: Any) -> Any:
        """Kullback-Leibler divergence `(B,)` from this to another of its kind."""

    @abc.abstractmethod
    def entropy(self, **kwargs: Any) -> Any:
        """Entropy `(B,)`."""

    @staticmethod
    @abc.abstractmethod
    def required_input_dim(space: Space[Any], **kwargs: Any) -> int:
        """How wide `logits` must be for an action space."""

    @classmethod
    def from_logits(cls, logits: Tensor, **kwargs: Any) -> Distribution:
        """Make the distributions that outputs `(B, n)` of a network stand for."""
        raise NotImplementedError(f"{cls.__name__} cannot be made from logits.")

    def to_deterministic(self) -> Distribution:
        """Return the distribution that always draws the best action."""
        raise NotImplementedError(f"{type(self).__name__} has no deterministic counterpart.")

    @classmethod
    def get_partial_dist_cls(cls, **partial_kwargs: Any) -> type[Self]:
        """Return a subclass in which some keyword arguments are fixed.

        Example:
            >>> import torch
            >>> from rlconnect.v2 import TorchMultiCategorical
            >>> Pair = TorchMultiCategorical.get_partial_dist_cls(input_lens=[2, 3])
            >>> Pair.from_logits(torch.zeros(1, 5)).sample().shape
            torch.Size([1, 2])
        """

        class Partial(cls):  # type: ignore[misc,valid-type]  # the base is a value here
            fixed: Mapping[str, Any] = partial_kwargs

            @classmethod
            def from_logits(cls, logits: Any, **kwargs: Any) -> Any:
                return super().from_logits(logits, **cls._merged(kwargs))

            @staticmethod
            def required_input_dim(space: Space[Any], **kwargs: Any) -> int:
                merged = Partial._merged(kwargs)
                merged.pop("space", None)  # a fixed one tells what logits are of; this one decides
                return base.required_input_dim(space, **merged)

            @classmethod
            def _merged(cls, kwargs: Mapping[str, Any]) -> dict[str, Any]:
                twice = sorted(set(kwargs) & set(cls.fixed))
                if twice:
                    raise ConfigError(
                        f"{cls.__name__} has fixed {', '.join(twice)}; it cannot be given again."
                    )
                return {**cls.fixed, **kwargs}

        base = cls
        Partial.__name__ = Partial.__qualname__ = f"{cls.__name__}Partial"
        return Partial
