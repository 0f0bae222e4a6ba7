"""Where a learner's modules and batches are."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from ..config.algorithm_config import AlgorithmConfig


def learner_device(config: AlgorithmConfig) -> torch.device:
    """Give a GPU where `num_gpus_per_learner` asks for one and there is one, else the CPU.

    Args:
        config: The algorithm's settings.
    """
    asked = config.num_gpus_per_learner
    if not asked:
        return torch.device("cpu")
    if not torch.cuda.is_available():
        warnings.warn(
            f"num_gpus_per_learner={asked}, but torch finds no GPU: learning on the CPU.",
            UserWarning,
            stacklevel=3,
        )
        return torch.device("cpu")
    return torch.device("cuda", int(getattr(config, "local_gpu_idx", 0) or 0))
