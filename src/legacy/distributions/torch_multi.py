"""A nested action in torch: one distribution a leaf, inputs side by side."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add
from typing import Any, Final

import numpy as np
import torch
from gymnasium.spaces import Space
from torch import Tensor

from ...core import nest
from ...core.types import Nest
from .action_leaves import nest_leaves
from .torch_base import TorchDistributionWrapper
from .torch_continuous import (
    TorchBeta,
    TorchDeterministic,
    TorchDiagGaussian,
    TorchDirichlet,
    TorchSquashedGaussian,
)
from .torch_discrete import TorchCategorical, TorchGaussianArms, TorchMultiCategorical


class TorchMultiActionDistribution(TorchDistributionWrapper):
    """Independent distributions for the leaves of a Dict or Tuple space.

    Args:
        inputs: The concatenated inputs of all children, (B, n).
        model: The network they come from.
        child_distributions: Classes (or partials of them), flat or nested like the space.
        input_lens: Number of inputs of each child, in the same form.
        action_space: The nested space; keys of a Dict are sorted.
    """

    def __init__(
        self,
        inputs: Any,
        model: Any = None,
        *,
        child_distributions: Any,
        input_lens: Any,
        action_space: Space[Any],
    ) -> None:
        super().__init__(inputs, model)
        self.action_space = action_space
        self.input_lens = [int(length) for length in nest.flatten(_listed(input_lens))]
        parts = torch.split(self.inputs, self.input_lens, dim=1)
        classes = nest.flatten(child_distributions)
        self.flat_child_distributions: list[TorchDistributionWrapper] = [
            build(part, model) for build, part in zip(classes, parts, strict=True)
        ]

    def sample(self, generator: torch.Generator | None = None) -> Nest:
        """Independent draws, nested like the space."""
        drawn = [
            child.sample() if generator is None else child.sample(generator)
            for child in self.flat_child_distributions
        ]
        return nest_leaves(self.action_space, drawn)

    def deterministic_sample(self) -> Nest:
        """Each child's own deterministic action, nested like the space."""
        chosen = [child.deterministic_sample() for child in self.flat_child_distributions]
        return nest_leaves(self.action_space, chosen)

    def sampled_action_logp(self) -> Tensor:
        """Summed log-probability of the last sample."""
        return reduce(add, [c.sampled_action_logp() for c in self.flat_child_distributions])

    def logp(self, x: Nest) -> Tensor:
        """Summed log-probabilities; `x` is nested, a flat list, or one array of all columns."""
        if isinstance(x, (np.ndarray, torch.Tensor)):
            actions = torch.as_tensor(x, device=self.inputs.device)
            leaves = list(
                torch.split(actions, [_columns(c) for c in self.flat_child_distributions], dim=1)
            )
        else:
            leaves = [torch.as_tensor(v, device=self.inputs.device) for v in nest.flatten(x)]
        pairs = zip(self.flat_child_distributions, leaves, strict=True)
        return reduce(add, [child.logp(_row_shape(child, leaf)) for child, leaf in pairs])

    def entropy(self) -> Tensor:
        """Summed entropy."""
        return reduce(add, [child.entropy() for child in self.flat_child_distributions])

    def kl(self, other: Any) -> Tensor:
        """Summed divergence."""
        pairs = zip(self.flat_child_distributions, other.flat_child_distributions, strict=True)
        return reduce(add, [child.kl(twin) for child, twin in pairs])

    # In Ray, too, this one is asked of an object: the class alone does not know its children.
    def required_model_output_shape(  # type: ignore[override]
        self, action_space: Space[Any], model_config: Mapping[str, Any]
    ) -> int:
        """The inputs of all children together."""
        return sum(self.input_lens)


def _listed(input_lens: Any) -> Any:
    return input_lens.tolist() if isinstance(input_lens, np.ndarray) else input_lens


def _columns(child: TorchDistributionWrapper) -> int:
    if isinstance(child, TorchCategorical):
        return 1
    if isinstance(child, TorchMultiCategorical):
        return len(child.input_lens)
    shape = child.deterministic_sample().shape
    return int(shape[1]) if len(shape) > 1 else 1


def _row_shape(child: TorchDistributionWrapper, leaf: torch.Tensor) -> torch.Tensor:
    return leaf[..., 0] if isinstance(child, TorchCategorical) and leaf.ndim > 1 else leaf


TORCH_CLASSES: Final[Mapping[str, Any]] = {
    "categorical": TorchCategorical,
    "multi_categorical": TorchMultiCategorical,
    "diag_gaussian": TorchDiagGaussian,
    "squashed_gaussian": TorchSquashedGaussian,
    "beta": TorchBeta,
    "deterministic": TorchDeterministic,
    "dirichlet": TorchDirichlet,
    "gaussian_arms": TorchGaussianArms,
    "multi_action": TorchMultiActionDistribution,
}
"""By the kinds of a `DistributionChoice`."""
