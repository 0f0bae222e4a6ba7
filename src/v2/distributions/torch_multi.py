"""One distribution per leaf of a nested action space."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from gymnasium.spaces import Space
from torch import Tensor
from typing_extensions import Self, override

from ...core import nest
from ...core.errors import SpaceError
from ...core.types import Nest
from .base import Distribution
from .torch_base import Shape
from .torch_continuous import TorchDeterministic, TorchDiagGaussian, TorchSquashedGaussian
from .torch_discrete import TorchCategorical, TorchMultiCategorical

_WITH_LAST_AXIS = (TorchDiagGaussian, TorchSquashedGaussian, TorchMultiCategorical)


class TorchMultiDistribution(Distribution):
    """Independent distributions in a nest; log-densities and entropies add up.

    Args:
        child_distribution_struct: Dicts, tuples and lists of distributions.

    Example:
        >>> both = TorchMultiDistribution.from_logits(
        ...     torch.zeros(1, 4),
        ...     child_distribution_cls_struct={"go": TorchDiagGaussian, "by": TorchDiagGaussian},
        ...     input_lens={"go": 2, "by": 2},
        ... )
        >>> both.to_deterministic().sample()
        {'go': tensor([[0.]]), 'by': tensor([[0.]])}
    """

    def __init__(self, child_distribution_struct: Any) -> None:
        self._original_struct = child_distribution_struct
        self._flat_child_distributions: list[Any] = nest.flatten(child_distribution_struct)

    @override
    def sample(self, *, sample_shape: Shape = None, **kwargs: Any) -> Nest:
        return self._like_me(lambda child: child.sample(sample_shape=sample_shape))

    @override
    def rsample(self, *, sample_shape: Shape = None, **kwargs: Any) -> Nest:
        return self._like_me(lambda child: child.rsample(sample_shape=sample_shape))

    @override
    def logp(self, value: Nest, **kwargs: Any) -> Tensor:
        """Log-density `(B,)` of a nest of actions, or of all of them side by side `(B, n)`."""
        children = self._flat_child_distributions
        parts = self._cut(value) if isinstance(value, Tensor) else nest.flatten(value)
        if len(parts) != len(children):
            raise SpaceError(
                "the actions have another structure than their distribution",
                expected=f"{len(children)} parts",
                found=str(len(parts)),
            )
        return _added([_row_logp(child, part) for child, part in zip(children, parts, strict=True)])

    @override
    def entropy(self, **kwargs: Any) -> Tensor:
        return _added([child.entropy() for child in self._flat_child_distributions])

    @override
    def kl(self, other: Any, **kwargs: Any) -> Tensor:
        pairs = zip(self._flat_child_distributions, other._flat_child_distributions, strict=True)
        return _added([mine.kl(theirs) for mine, theirs in pairs])

    @staticmethod
    @override
    def required_input_dim(
        space: Space[Any], input_lens: Any = (), as_list: bool = False, **kwargs: Any
    ) -> Any:
        """Width of the logits; with `as_list`, one width per leaf as given."""
        return input_lens if as_list else int(sum(nest.flatten(input_lens)))

    @classmethod
    @override
    def from_logits(
        cls,
        logits: Any,
        child_distribution_cls_struct: Any = (),
        input_lens: Any = (),
        **kwargs: Any,
    ) -> Self:
        """Cut logits into one part per leaf, leaves of dicts in the order of sorted keys.

        Args:
            logits: Outputs `(B, sum of input_lens)`.
            child_distribution_cls_struct: A nest of distribution classes.
            input_lens: Width of each leaf's part, as the same nest or as a flat list.
            **kwargs: Handed to each class.
        """
        classes = nest.flatten(child_distribution_cls_struct)
        lens = [int(n) for n in nest.flatten(input_lens)]
        if sum(lens) != logits.shape[-1] or len(lens) != len(classes):
            raise SpaceError(
                f"input_lens {lens} must give one width per distribution, in all",
                expected=f"{logits.shape[-1]} in {len(classes)} parts",
                found=f"{sum(lens)} in {len(lens)}",
            )
        parts = logits.split(lens, dim=-1)
        children = [
            kind.from_logits(part, **kwargs) for kind, part in zip(classes, parts, strict=True)
        ]
        return cls(nest.unflatten_as(child_distribution_cls_struct, children))

    @override
    def to_deterministic(self) -> TorchMultiDistribution:
        return TorchMultiDistribution(
            self._like_me(
                lambda child: _RowDeterministic(
                    child.to_deterministic().loc, has_last_axis=isinstance(child, _WITH_LAST_AXIS)
                )
            )
        )

    def _like_me(self, function: Callable[[Any], Any]) -> Any:
        parts = [function(child) for child in self._flat_child_distributions]
        return nest.unflatten_as(self._original_struct, parts)

    def _cut(self, value: Tensor) -> list[Tensor]:
        """One part per child of actions that lie side by side."""
        lens = [_action_width(child) for child in self._flat_child_distributions]
        if sum(lens) != value.shape[-1]:
            raise SpaceError(
                "the actions, side by side, have another width than their distribution",
                expected=str(sum(lens)),
                found=str(value.shape[-1]),
            )
        return list(torch.split(value, lens, dim=-1))


class _RowDeterministic(TorchDeterministic):
    """A leaf's best action whose certainty is one number per row, whatever its shape."""

    def __init__(self, loc: Tensor, *, has_last_axis: bool) -> None:
        super().__init__(loc)
        self.has_last_axis = has_last_axis

    @override
    def logp(self, value: Nest, **kwargs: Any) -> Tensor:
        zeros = torch.zeros_like(self.loc, dtype=torch.float32)
        return zeros.sum(dim=-1) if self.has_last_axis else zeros


def _action_width(child: Any) -> int:
    if isinstance(child, TorchMultiCategorical):
        return len(child._cats)
    has_last_axis = getattr(child, "has_last_axis", isinstance(child, _WITH_LAST_AXIS))
    return int(child.loc.shape[-1]) if has_last_axis else 1


def _row_logp(child: Any, value: Any) -> Tensor:
    """The child's log-density; a single choice may come with a last axis of one."""
    value = torch.as_tensor(value)
    if isinstance(child, TorchCategorical):
        has_axis = value.ndim > len(child._dist.batch_shape) and value.shape[-1] == 1
        value = value.squeeze(-1) if has_axis else value
    log_prob: Tensor = child.logp(value)
    return log_prob


def _added(parts: list[Tensor]) -> Tensor:
    """The sum, one number a row: what is known for sure has a number for each part of a vector."""
    shapes = {part.shape for part in parts}
    if len(shapes) > 1:
        axes = min(part.ndim for part in parts)
        if all(part.ndim == axes for part in parts):
            axes -= 1  # vectors of several lengths, and nothing else
        parts = [
            part.sum(dim=tuple(range(axes, part.ndim))) if part.ndim > axes else part
            for part in parts
        ]
    return torch.stack(parts).sum(dim=0)
