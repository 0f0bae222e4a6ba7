"""Sampling in this process where a config asks for processes of Ray and there is no Ray."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import Any


def with_local_sampling(config: Any) -> Any:
    """The config, without remote runners where Ray is not installed.

    RLlib's PPO has two of them unless told otherwise; that nobody asked for Ray must not keep it
    from running.
    """
    wanted = config.num_env_runners + config.evaluation_num_env_runners
    if not wanted or _has_ray():
        return config
    warnings.warn(
        f"{wanted} env runners beside this process need Ray (pip install 'rlconnect[ray]'): "
        "sampling happens in this process. env_runners(num_env_runners=0) says so.",
        UserWarning,
        stacklevel=4,
    )
    config.num_env_runners = config.evaluation_num_env_runners = 0
    if config.evaluation_parallel_to_training:
        config.evaluation_parallel_to_training = False
        if config.evaluation_duration == "auto":  # Nothing tells how long that is.
            config.evaluation_duration, config.evaluation_duration_unit = 1, "episodes"
    return config


def _has_ray() -> bool:
    """Whether Ray itself is installed; not what stands in for its names."""
    spec = find_spec("ray")
    return spec is not None and str(spec.origin).endswith("__init__.py")
