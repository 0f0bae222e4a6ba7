"""Ray Tune for our algorithms; every name but `TrainingRun` is Ray's.

    from rlconnect.v2 import PPOConfig, tuning as tune

    config = PPOConfig().environment("CartPole-v1").training(lr=tune.grid_search([1e-3, 1e-4]))
    results = tune.Tuner("PPO", param_space=config).fit()
    best = results.get_best_result("env_runners/episode_return_mean", "max")

`Tuner` and `run` accept the name or class of one of our algorithms and call Ray's; all other names
are those of `ray.tune`. Without Ray, search with Optuna: docs/howto/optuna.md.

Example:
    >>> from rlconnect.v2 import tuning
    >>> tuning.__all__
    ['TrainingRun', 'Tuner', 'run']
"""

from __future__ import annotations

from typing import Any

from ...core.importing.lazy_names import lazy_names
from ...names import front_tables
from ...names.v2 import TUNING
from ..distributed.ray_tune import ray_tune

_HOME, _ = front_tables(TUNING)

__all__ = sorted(_HOME)

_own_name, __dir__ = lazy_names(__name__, _HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME or name.startswith("_"):
        return _own_name(name)
    return getattr(ray_tune(f"rlconnect.v2.tuning.{name}"), name)
