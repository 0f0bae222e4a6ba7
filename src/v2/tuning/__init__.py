"""Trials of an algorithm or function, one after the other in this process, by Ray Tune's names.

    from rlconnect.v2 import tuning as tune

    config = PPOConfig().environment("CartPole-v1").training(lr=tune.grid_search([1e-3, 1e-4]))
    enough = tune.RunConfig(stop={"num_env_steps_sampled_lifetime": 50_000})
    results = tune.Tuner("PPO", param_space=config, run_config=enough).fit()
    best = results.get_best_result("env_runners/episode_return_mean", "max")

`variants` makes settings of a space, `running` runs a trial with them, `result_grid` tells.
"""

from __future__ import annotations

from typing import Final

from ...core.importing.lazy_names import lazy_names

_HOME: Final = {
    "BasicVariantGenerator": ".variants",
    "CLIReporter": ".run_config",
    "Callback": ".callback",
    "Checkpoint": "..algorithms.saved_run:SavedFolder",
    "CheckpointConfig": ".run_config",
    "CombinedStopper": ".stopping",
    "ExperimentAnalysis": ".analysis",
    "FIFOScheduler": ".run_config",
    "FailureConfig": ".run_config",
    "FunctionStopper": ".stopping",
    "MaximumIterationStopper": ".stopping",
    "NoopStopper": ".stopping",
    "Result": ".result_grid",
    "ResultGrid": ".result_grid",
    "RunConfig": ".run_config",
    "Stopper": ".stopping",
    "TimeoutStopper": ".stopping",
    "Trainable": ".trainable",
    "TrialPlateauStopper": ".stopping",
    "TuneConfig": ".run_config",
    "TuneError": ".tuner",
    "Tuner": ".tuner",
    "choice": "..config.search_space",
    "get_checkpoint": ".reporting",
    "get_context": ".reporting",
    "get_trainable_cls": ".trainables",
    "grid_search": "..config.search_space",
    "lograndint": "..config.search_space",
    "loguniform": "..config.search_space",
    "qlograndint": "..config.search_space",
    "qloguniform": "..config.search_space",
    "qrandint": "..config.search_space",
    "qrandn": "..config.search_space",
    "quniform": "..config.search_space",
    "randint": "..config.search_space",
    "randn": "..config.search_space",
    "register_env": "..envs.registry",
    "register_trainable": ".trainables",
    "report": ".reporting",
    "run": ".tuner",
    "sample_from": "..config.search_space",
    "uniform": "..config.search_space",
    "with_parameters": ".trainables",
    "with_resources": ".trainables",
}

__all__ = sorted(_HOME)

__getattr__, __dir__ = lazy_names(__name__, _HOME)
