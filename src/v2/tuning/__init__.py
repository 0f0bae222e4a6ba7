"""Trials of an algorithm or function, one after the other in this process, by Ray Tune's names.

    from rlconnect.v2 import tuning as tune

    config = PPOConfig().environment("CartPole-v1").training(lr=tune.grid_search([1e-3, 1e-4]))
    enough = tune.RunConfig(stop={"num_env_steps_sampled_lifetime": 50_000})
    results = tune.Tuner("PPO", param_space=config, run_config=enough).fit()
    best = results.get_best_result("env_runners/episode_return_mean", "max")

`variants` makes settings of a space, `running` runs a trial with them, `result_grid` tells.
"""

from __future__ import annotations

from ...core.importing.lazy_names import lazy_names
from ...names import front_tables
from ...names.v2 import TUNING

_HOME, _ = front_tables(TUNING)

__all__ = sorted(_HOME)

__getattr__, __dir__ = lazy_names(__name__, _HOME)
