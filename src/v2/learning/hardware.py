"""What of a machine a learner uses: a GPU where there is one, and processors."""

from __future__ import annotations

import os
import warnings
from typing import Any

import torch


def device_of(config: Any) -> torch.device:
    """A GPU where `num_gpus_per_learner` asks for one and there is one, else the CPU."""
    gpu_count = config.num_gpus_per_learner
    if not gpu_count:
        return torch.device("cpu")
    if not torch.cuda.is_available():
        warnings.warn(
            f"num_gpus_per_learner={gpu_count}, but torch finds no GPU: learning on the CPU.",
            UserWarning,
            stacklevel=3,
        )
        return torch.device("cpu")
    return torch.device("cuda", int(getattr(config, "local_gpu_idx", 0) or 0))


def processor_count() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
