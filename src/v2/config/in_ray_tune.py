"""What Ray Tune has to know of our configs, if a process has imported it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...core.importing.ray_modules import loaded_module
from ..envs.registry import env_creator_of, is_registered


def accept_as_space(config_class: type[Any]) -> None:
    """Make Ray's `Tuner` and `run` accept configs of a class, which they read by `to_dict()`."""
    module = loaded_module("ray.tune.tune")
    if module is not None:
        module._Config.register(config_class)


def announce(algorithm: Any, envs: Iterable[Any]) -> None:
    """Register an algorithm and environments with Ray, by their names.

    Args:
        algorithm: One of our algorithms, which `Tuner("PPO")` runs from now on; None for none.
        envs: Names of environments; what `register_env` does not know is left out.
    """
    registry = loaded_module("ray.tune.registry")
    if registry is None:
        return
    if algorithm is not None:
        registry.register_trainable(algorithm.__name__, algorithm.as_trainable())
    for env in envs:
        if isinstance(env, str) and is_registered(env):
            registry.register_env(env, env_creator_of(env))
