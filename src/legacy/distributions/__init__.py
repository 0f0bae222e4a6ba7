"""Action distributions of RLlib's old stack: numpy for the CPU path, torch under RLlib's names.

The `Torch*` classes are imported when first asked for; everything else needs no torch. Start with
`choice.py` (which distribution acts where), then `arrays.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.importing.lazy_names import lazy_names
from .arrays import ArrayDistribution
from .choice import DistributionChoice, distribution_for

if TYPE_CHECKING:
    from .torch_names import (
        ActionDistribution,
        TorchBeta,
        TorchCategorical,
        TorchDeterministic,
        TorchDiagGaussian,
        TorchDirichlet,
        TorchDistributionWrapper,
        TorchMultiActionDistribution,
        TorchMultiCategorical,
        TorchSlateMultiCategorical,
        TorchSquashedGaussian,
        get_torch_categorical_class_with_temperature,
    )

__all__ = [
    "ActionDistribution",
    "ArrayDistribution",
    "DistributionChoice",
    "TorchBeta",
    "TorchCategorical",
    "TorchDeterministic",
    "TorchDiagGaussian",
    "TorchDirichlet",
    "TorchDistributionWrapper",
    "TorchMultiActionDistribution",
    "TorchMultiCategorical",
    "TorchSlateMultiCategorical",
    "TorchSquashedGaussian",
    "distribution_for",
    "get_torch_categorical_class_with_temperature",
]

__getattr__, __dir__ = lazy_names(__name__, dict.fromkeys(__all__, ".torch_names"))
