"""The action distribution of a legacy policy as the new stack's learners ask for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from gymnasium.spaces import Space
from torch import Tensor
from typing_extensions import Self, override

from ...core import nest
from ...core.errors import PieceError
from ...v2.distributions.base import Distribution


class LegacyDistribution(Distribution):
    """A batch of distributions of the old stack.

    Inputs may have any axes before the last one; the old classes get rows.

    Attributes:
        build: Makes the old distribution from rows of inputs.
    """

    build: ClassVar[Any] = None

    def __init__(self, logits: Tensor, *, is_greedy: bool = False) -> None:
        self.lead = logits.shape[:-1]
        self.inputs = logits
        self.is_greedy = is_greedy
        self._rows: Any = None

    @classmethod
    def made_by(cls, build: Any) -> type[Self]:
        """A subclass for one policy."""
        return type(cls.__name__, (cls,), {"build": staticmethod(build)})

    @classmethod
    @override
    def from_logits(cls, logits: Any, **kwargs: Any) -> Self:
        return cls(logits)

    @property
    def rows(self) -> Any:
        """The old distribution, on rows."""
        if self._rows is None:
            self._rows = type(self).build(self.inputs.reshape(-1, self.inputs.shape[-1]))
        return self._rows

    @override
    def sample(self, *, sample_shape: tuple[int, ...] | None = None, **kwargs: Any) -> Any:
        with torch.no_grad():
            return self._drawn(sample_shape)

    @override
    def rsample(self, *, sample_shape: tuple[int, ...] | None = None, **kwargs: Any) -> Any:
        raise PieceError(
            "distributions of the old stack do not support sampling with gradients",
            hint="migrate the policy's module, or use sample() and logp().",
        )

    @override
    def logp(self, value: Any, **kwargs: Any) -> Any:
        depth = len(self.lead)
        rows = nest.map_structure(lambda leaf: leaf.reshape(-1, *leaf.shape[depth:]), value)
        return self._lead(self.rows.logp(rows))

    @override
    def entropy(self, **kwargs: Any) -> Any:
        return self._lead(self.rows.entropy())

    @override
    def kl(self, other: Any, **kwargs: Any) -> Any:
        return self._lead(self.rows.kl(other.rows))

    @override
    def to_deterministic(self) -> LegacyDistribution:
        return type(self)(self.inputs, is_greedy=True)

    @staticmethod
    @override
    def required_input_dim(space: Space[Any], **kwargs: Any) -> int:
        from ...legacy.distributions.choice import distribution_for

        return distribution_for(space).size

    def _drawn(self, sample_shape: tuple[int, ...] | None) -> Any:
        def once() -> Any:
            drawn = self.rows.deterministic_sample() if self.is_greedy else self.rows.sample()
            return nest.map_structure(self._lead, _plain(drawn))

        if not sample_shape:
            return once()
        count = int(torch.Size(sample_shape).numel())
        draws = [once() for _ in range(count)]
        return nest.map_structure(
            lambda *leaves: torch.stack(leaves).reshape(*sample_shape, *leaves[0].shape), *draws
        )

    def _lead(self, rows: Tensor) -> Tensor:
        return rows.reshape(*self.lead, *rows.shape[1:])


def _plain(drawn: Any) -> Any:
    return dict(drawn) if isinstance(drawn, Mapping) else drawn
