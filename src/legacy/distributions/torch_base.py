"""Base classes of the torch action distributions of the old stack.

A distribution is built from `(inputs, model)` and stores its last sample. Sampling accepts an
explicit `generator`; without one, torch's global generator is used in the same order as in Ray. The
frequently used methods are plain tensor formulas; the others (entropy, divergence) use `dist`, a
`torch.distributions` object that is created lazily.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from gymnasium.spaces import Space
from torch import Tensor

from ...core.types import Nest
from .families import Family


class ActionDistribution:
    """The policy's view of an action distribution; see the subclasses.

    Args:
        inputs: What the network put out for the distribution, (B, n).
        model: The network that did; kept for custom distributions.
    """

    def __init__(self, inputs: Any, model: Any = None) -> None:
        self.inputs = inputs
        self.model = model

    def sample(self) -> Nest:
        """One random action a row."""
        raise NotImplementedError(f"{type(self).__name__} does not define sample().")

    def deterministic_sample(self) -> Nest:
        """The action taken without exploration."""
        raise NotImplementedError(f"{type(self).__name__} does not define deterministic_sample().")

    def sampled_action_logp(self) -> Any:
        """Log-probability of the last sample."""
        raise NotImplementedError(f"{type(self).__name__} does not define sampled_action_logp().")

    def logp(self, x: Nest) -> Any:
        """Log-probability of given actions."""
        raise NotImplementedError(f"{type(self).__name__} does not define logp().")

    def kl(self, other: Any) -> Any:
        """Kullback-Leibler divergence to another distribution of this class."""
        raise NotImplementedError(f"{type(self).__name__} does not define kl().")

    def entropy(self) -> Any:
        """Entropy, a row each."""
        raise NotImplementedError(f"{type(self).__name__} does not define entropy().")

    def multi_kl(self, other: Any) -> Any:
        """The divergence of each part; a single distribution has one part."""
        return self.kl(other)

    def multi_entropy(self) -> Any:
        """The entropy of each part; a single distribution has one part."""
        return self.entropy()

    @staticmethod
    def required_model_output_shape(
        action_space: Space[Any], model_config: Mapping[str, Any]
    ) -> Any:
        """Return the number of inputs for an action space."""
        raise NotImplementedError("this distribution does not say how many inputs it needs.")


class TorchDistributionWrapper(ActionDistribution):
    """Base of the torch distributions; arrays become tensors on the model's device.

    Attributes:
        last_sample: What was drawn or chosen last.
    """

    def __init__(self, inputs: Any, model: Any = None) -> None:
        if not isinstance(inputs, torch.Tensor):
            inputs = torch.as_tensor(np.asarray(inputs))
            if isinstance(model, torch.nn.Module):
                first = next(model.parameters(), None)
                inputs = inputs if first is None else inputs.to(first.device)
        super().__init__(inputs, model)
        self.last_sample: Any = None

    def _torch_distribution(self) -> torch.distributions.Distribution:
        raise NotImplementedError(f"{type(self).__name__} has no torch.distributions twin.")

    @cached_property
    def dist(self) -> torch.distributions.Distribution:
        """The same distribution as a `torch.distributions` object."""
        return self._torch_distribution()

    def logp(self, x: Nest) -> Tensor:
        """Log-probability of given actions."""
        return self.dist.log_prob(x)

    def entropy(self) -> Tensor:
        """Entropy, a row each (a column each where components are not summed)."""
        return self.dist.entropy()

    def kl(self, other: Any) -> Tensor:
        """Divergence to another distribution of this class, shaped like `entropy()`."""
        return torch.distributions.kl_divergence(self.dist, other.dist)

    def sample(self, generator: torch.Generator | None = None) -> Tensor:
        """One random action a row, remembered for `sampled_action_logp`."""
        self.last_sample = drawn = self._draw(generator)
        return drawn

    def _draw(self, generator: torch.Generator | None) -> Tensor:
        return self.dist.sample()

    def sampled_action_logp(self) -> Tensor:
        """Log-probability of the last sample."""
        assert self.last_sample is not None, "sample() or deterministic_sample() comes first."
        return self.logp(self.last_sample)


class FormulaDistribution(TorchDistributionWrapper):
    """Base of those whose formulas a family of `families.py` has.

    Attributes:
        family: The formulas, with their settings; its size is not asked, inputs have theirs.
    """

    family: Family
    inputs_per_number: ClassVar[int] = 1
    """Number of inputs per component of an action."""

    @property
    def parameters(self) -> tuple[Any, ...]:
        """Return the arguments of the formulas."""
        return (self.inputs,)

    def deterministic_sample(self) -> Tensor:
        """The action taken without exploration, remembered for `sampled_action_logp`."""
        self.last_sample = self.family.mode(*self.parameters)
        chosen: Tensor = self.last_sample
        return chosen

    def _draw(self, generator: torch.Generator | None) -> Tensor:
        drawn: Tensor = self.family.draw(generator, *self.parameters)
        return drawn

    def logp(self, x: Nest) -> Tensor:
        """Log-probability of given actions."""
        actions = torch.as_tensor(x, device=self.inputs.device)
        logp: Tensor = self.family.density(actions, *self.parameters)
        return logp

    @classmethod
    def required_model_output_shape(cls, action_space: Any, model_config: Mapping[str, Any]) -> int:
        """Return the number of inputs for an action space."""
        return cls.inputs_per_number * int(np.prod(action_space.shape, dtype=np.int64))
