"""The command line that RLlib's example scripts share, and running what it describes."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...core.errors import ConfigError
from ...v2.distributed.ray_tune import has_ray_tune, ray_tune
from ...v2.runs.stop_criteria import metric_of
from ...v2.tuning import Tuner

_NUMBERS: Final = (
    ("num_env_runners", None),
    ("num_envs_per_env_runner", None),
    ("num_agents", 0),
    ("evaluation_num_env_runners", 0),
    ("evaluation_interval", 0),
    ("num_samples", 1),
    ("max_concurrent_trials", None),
    ("verbose", 2),
    ("checkpoint_freq", 0),
    ("tune_max_report_freq", 5),
    ("num_learners", None),
    ("num_aggregator_actors_per_learner", None),
    ("num_cpus", 0),
    ("num_gpus", None),
)
_FRACTIONS: Final = (("num_cpus_per_learner", None), ("num_gpus_per_learner", None))
_TEXTS: Final = (
    ("algo", "PPO"),
    ("framework", "torch"),
    ("env", None),
    ("evaluation_duration_unit", "episodes"),
    ("output", None),
    ("log_level", None),
    ("wandb_key", None),
    ("wandb_project", None),
    ("wandb_run_name", None),
)
_SWITCHES: Final = (
    "evaluation_parallel_to_training",
    "no_tune",
    "checkpoint_at_end",
    "as_test",
    "as_release_test",
    "old_api_stack",
    "enable_new_api_stack",
    "local_mode",
)
_RETURN: Final = "env_runners/episode_return_mean"
_TAKEN_OVER: Final = (
    ("env_runners", ("num_env_runners", "num_envs_per_env_runner")),
    ("learners", ("num_learners", "num_gpus_per_learner")),
)


def add_rllib_example_script_args(
    parser: argparse.ArgumentParser | None = None,
    default_reward: float = 100.0,
    default_iters: int = 200,
    default_timesteps: int = 100_000,
) -> argparse.ArgumentParser:
    """Give a parser the options of RLlib's example scripts.

    Args:
        parser: The parser; None makes one.
        default_reward: The mean return that is enough.
        default_iters: How many iterations are enough.
        default_timesteps: How many steps are enough.

    Example:
        >>> add_rllib_example_script_args(default_iters=3).parse_args([]).stop_iters
        3
    """
    arguments = argparse.ArgumentParser() if parser is None else parser
    rows: tuple[tuple[Any, Any], ...] = (
        (int, (*_NUMBERS, ("stop_iters", default_iters), ("stop_timesteps", default_timesteps))),
        (float, (*_FRACTIONS, ("stop_reward", default_reward))),
        (str, _TEXTS),
        (_steps_or_auto, (("evaluation_duration", 10),)),
    )
    for kind, options in rows:
        for name, default in options:
            arguments.add_argument(_flag(name), type=kind, default=default)
    for name in _SWITCHES:
        arguments.add_argument(_flag(name), action="store_true")
    return arguments


def run_rllib_example_script_experiment(
    base_config: Any,
    args: Any = None,
    *,
    stop: dict[str, Any] | None = None,
    success_metric: dict[str, float] | None = None,
    trainable: Any = None,
    tune_callbacks: Sequence[Any] | None = None,
    keep_config: bool = False,
    keep_ray_up: bool = False,
    scheduler: Any = None,
    progress_reporter: Any = None,
) -> Any:
    """Train until a stop criterion is met: with Ray Tune, without Ray in this process.

    Args:
        base_config: The algorithm's settings.
        args: The options; None parses the command line.
        stop: The stop criteria, by paths such as `env_runners/episode_return_mean`; None takes
            those of the options.
        success_metric: What has to be reached with `--as-test`; None takes the mean return.
        trainable: What to run; None takes the config's algorithm.
        tune_callbacks: Callbacks of Ray Tune.
        keep_config: Whether to leave the settings alone; else the options change them.
        keep_ray_up: Ignored.
        scheduler: A scheduler of Ray Tune.
        progress_reporter: A reporter of Ray Tune.

    Returns:
        Ray's results of all trials; the last result with `--no-tune` or without Ray.

    Raises:
        ConfigError: With `--as-test`, the metric was not reached.
        MissingExtraError: Several trials or a scheduler are asked for, and Ray is not installed.
    """
    chosen = add_rllib_example_script_args().parse_args() if args is None else args
    config = base_config if keep_config else _changed(base_config, chosen)
    goals = success_metric or {_RETURN: chosen.stop_reward}
    enough = stop or {
        _RETURN: chosen.stop_reward,
        "num_env_steps_sampled_lifetime": chosen.stop_timesteps,
        "training_iteration": chosen.stop_iters,
    }
    is_single = chosen.num_samples == 1 and scheduler is None
    if chosen.no_tune or (is_single and not has_ray_tune()):
        done = last = _trained(config, enough)
    else:
        tune = ray_tune("run_rllib_example_script_experiment")
        done = Tuner(
            trainable or config.algo_class,
            param_space=config,
            tune_config=tune.TuneConfig(num_samples=chosen.num_samples, scheduler=scheduler),
            run_config=tune.RunConfig(
                stop=enough,
                verbose=chosen.verbose,
                callbacks=tune_callbacks,
                progress_reporter=progress_reporter,
                checkpoint_config=tune.CheckpointConfig(
                    checkpoint_frequency=chosen.checkpoint_freq,
                    checkpoint_at_end=chosen.checkpoint_at_end,
                ),
            ),
        ).fit()
        if done.errors:
            raise done.errors[0]
        last = done.get_best_result(next(iter(goals)), "max").metrics if chosen.as_test else {}
    if chosen.as_test:
        _expect(last, goals)
    return done


def check_learning_achieved(
    tune_results: Any,
    min_value: float,
    evaluation: bool | None = None,
    metric: str = _RETURN,
) -> None:
    """Check that the best trial reached a value.

    Args:
        tune_results: The results of all trials.
        min_value: What the metric has to be at least.
        evaluation: Whether the metric is that of evaluations.
        metric: Its path.

    Raises:
        ConfigError: It was not reached.
    """
    path = f"evaluation/{metric}" if evaluation else metric
    _expect(tune_results.get_best_result(path, "max").metrics or {}, {path: min_value})


def _changed(config: Any, chosen: Any) -> Any:
    """The settings with what options say."""
    if config.env is None and getattr(chosen, "env", None) is not None:
        config.environment(chosen.env)
    for method, settings in _TAKEN_OVER:
        values = {name: getattr(chosen, name, None) for name in settings}
        getattr(config, method)(**{k: v for k, v in values.items() if v is not None})
    return config


def _trained(config: Any, enough: Mapping[str, Any]) -> dict[str, Any]:
    algo = config.build_algo()
    while True:
        result: dict[str, Any] = algo.train()
        if any((metric_of(result, path) or 0) >= value for path, value in enough.items()):
            algo.stop()
            return result


def _expect(result: dict[str, Any] | None, goals: dict[str, float]) -> None:
    for path, value in goals.items():
        reached = metric_of(result or {}, path)
        if reached is None or not reached >= value:
            raise ConfigError(
                "the run was not as good as it should be",
                expected=f"{path} of {value}",
                found=f"{reached}",
            )


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _steps_or_auto(text: str) -> int | str:
    return text if text == "auto" else int(text)
