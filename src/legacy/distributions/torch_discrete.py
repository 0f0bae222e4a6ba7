"""Torch distributions over choices: one categorical, or several at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box, MultiDiscrete
from torch import Tensor
from typing_extensions import override

from ...core.errors import ConfigError
from ...core.formulas.distributions import halves
from .families import Categorical, GaussianArms, MultiCategorical
from .torch_base import FormulaDistribution


class TorchCategorical(FormulaDistribution):
    """One of n choices; inputs are logits.

    Args:
        inputs: Logits, (B, n).
        model: The network they come from.
        temperature: Logits are divided by it; above 0.

    Example:
        >>> TorchCategorical(torch.tensor([[0.0, 2.0, 1.0]])).deterministic_sample()
        tensor([1])
    """

    family = Categorical(0)

    def __init__(self, inputs: Any, model: Any = None, temperature: float = 1.0) -> None:
        if temperature <= 0.0:
            raise ConfigError(
                "a categorical distribution cannot be built",
                expected="a temperature above 0",
                found=str(temperature),
            )
        super().__init__(inputs, model)
        if temperature != 1.0:
            self.inputs = self.inputs / temperature

    def _torch_distribution(self) -> torch.distributions.Categorical:
        return torch.distributions.Categorical(logits=self.inputs)

    @staticmethod
    def required_model_output_shape(action_space: Any, model_config: Mapping[str, Any]) -> int:
        """One logit a choice."""
        return int(action_space.n)


def get_torch_categorical_class_with_temperature(t: float) -> type[TorchCategorical]:
    """`TorchCategorical` with another default temperature."""

    class TorchCategoricalWithTemperature(TorchCategorical):
        """A categorical whose temperature was fixed beforehand."""

        def __init__(self, inputs: Any, model: Any = None, temperature: float = t) -> None:
            super().__init__(inputs, model, temperature)

    return TorchCategoricalWithTemperature


class TorchSlateMultiCategorical(TorchCategorical):
    """One of several slates, each a choice of items; inputs are logits over the slates.

    Args:
        inputs: Logits, (B, number of slates).
        model: The network they come from.
        temperature: Logits are divided by it; above 0.
        action_space: A MultiDiscrete: one number per place of a slate.
        all_slates: The slates, (number of slates, places).

    Example:
        >>> from gymnasium.spaces import MultiDiscrete
        >>> slates = torch.tensor([[0, 1], [1, 0]])
        >>> space = MultiDiscrete([2, 2])
        >>> best = TorchSlateMultiCategorical(torch.tensor([[0.0, 2.0]]), None, 1.0, space, slates)
        >>> best.deterministic_sample()
        tensor([[1, 0]])
    """

    def __init__(
        self,
        inputs: Any,
        model: Any = None,
        temperature: float = 1.0,
        action_space: Any = None,
        all_slates: Any = None,
    ) -> None:
        if not isinstance(action_space, MultiDiscrete) or all_slates is None:
            raise ConfigError(
                "a distribution over slates cannot be built",
                expected="a MultiDiscrete action_space, and all_slates",
                found=f"{action_space} and {type(all_slates).__name__}",
            )
        super().__init__(inputs, model, temperature)
        self.action_space = action_space
        self.all_slates = torch.as_tensor(all_slates, device=self.inputs.device)

    def deterministic_sample(self) -> Tensor:
        """The most probable slate, (B, places)."""
        chosen: Tensor = self.all_slates[super().deterministic_sample()]
        self.last_sample = chosen
        return chosen

    def _draw(self, generator: torch.Generator | None) -> Tensor:
        return self.all_slates[super()._draw(generator)]

    def logp(self, x: Any) -> Tensor:
        """Log-probability of slates (B, places), each of which must be one of `all_slates`."""
        slates = torch.as_tensor(x, device=self.all_slates.device)
        numbers = (slates[:, None] == self.all_slates).all(dim=-1).int().argmax(dim=-1)
        return super().logp(numbers)


class TorchMultiCategorical(FormulaDistribution):
    """Several choices at once.

    Args:
        inputs: The logits of all choices side by side, (B, sum of input_lens).
        model: The network they come from.
        input_lens: How many options each choice has.
        action_space: An integer Box whose shape the actions take; None or MultiDiscrete: (B, k).
    """

    def __init__(
        self,
        inputs: Any,
        model: Any = None,
        input_lens: Sequence[int] = (),
        action_space: Any = None,
    ) -> None:
        super().__init__(inputs, model)
        self.input_lens = tuple(int(length) for length in input_lens)
        self.action_space = action_space
        self._parts = self.inputs.split(self.input_lens, dim=1)
        shape = action_space.shape if isinstance(action_space, Box) else None
        self.family = MultiCategorical(self.input_lens, shape)

    @property
    @override
    def parameters(self) -> tuple[Tensor, ...]:
        return tuple(self._parts)

    @property
    def cats(self) -> list[torch.distributions.Categorical]:
        """The choices as torch distributions."""
        return [torch.distributions.Categorical(logits=part) for part in self._parts]

    @override
    def logp(self, x: Any) -> Tensor:
        """Summed log-probabilities; `x` is (B, k), shaped like the Box, or a list of columns."""
        if isinstance(x, (list, tuple)):
            x = torch.stack([torch.as_tensor(column) for column in x], dim=-1)
        return super().logp(x)

    def multi_entropy(self) -> Tensor:
        """The entropy of each choice, (B, k)."""
        each: list[Tensor] = [TorchCategorical(part).entropy() for part in self._parts]
        return torch.stack(each, dim=1)

    def entropy(self) -> Tensor:
        """Summed entropy."""
        return self.multi_entropy().sum(dim=1)

    def multi_kl(self, other: Any) -> Tensor:
        """The divergence of each choice, (B, k)."""
        pairs = zip(self.cats, other.cats, strict=True)
        return torch.stack([torch.distributions.kl_divergence(p, q) for p, q in pairs], dim=1)

    def kl(self, other: Any) -> Tensor:
        """Summed divergence."""
        return self.multi_kl(other).sum(dim=1)

    @staticmethod
    def required_model_output_shape(action_space: Any, model_config: Mapping[str, Any]) -> int:
        """One logit an option."""
        if isinstance(action_space, Box):
            options = int(action_space.high.max()) - int(action_space.low.min()) + 1
            return int(np.prod(action_space.shape)) * options
        return int(np.sum(action_space.nvec))


class TorchGaussianArms(FormulaDistribution):
    """One of n choices; inputs are the expected worth of each, then the deviations.

    It has no log-probabilities: `sampled_action_logp` gives zeros, `logp` is refused.

    Example:
        >>> TorchGaussianArms(torch.tensor([[0.5, 1.0, 9.0, 0.1]])).deterministic_sample()
        tensor([1])
    """

    family = GaussianArms(0)

    @property
    @override
    def parameters(self) -> tuple[Tensor, Tensor]:
        return halves(self.inputs)

    @override
    def sampled_action_logp(self) -> Tensor:
        """Zeros, (B,)."""
        return torch.zeros(self.inputs.shape[:-1], device=self.inputs.device)
