"""All torch distributions of the old stack under one roof, by RLlib's names."""

from __future__ import annotations

from .torch_arms import TorchGaussianArms
from .torch_base import ActionDistribution, TorchDistributionWrapper
from .torch_continuous import (
    TorchBeta,
    TorchDeterministic,
    TorchDiagGaussian,
    TorchDirichlet,
    TorchSquashedGaussian,
)
from .torch_discrete import (
    TorchCategorical,
    TorchMultiCategorical,
    TorchSlateMultiCategorical,
    get_torch_categorical_class_with_temperature,
)
from .torch_multi import TorchMultiActionDistribution

__all__ = [
    "ActionDistribution",
    "TorchBeta",
    "TorchCategorical",
    "TorchDeterministic",
    "TorchDiagGaussian",
    "TorchDirichlet",
    "TorchDistributionWrapper",
    "TorchGaussianArms",
    "TorchMultiActionDistribution",
    "TorchMultiCategorical",
    "TorchSlateMultiCategorical",
    "TorchSquashedGaussian",
    "get_torch_categorical_class_with_temperature",
]
