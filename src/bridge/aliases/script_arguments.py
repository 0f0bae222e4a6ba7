"""The command line that RLlib's example scripts share, and running what it describes."""

from __future__ import annotations

import argparse
from typing import Any, Final

from ...core.errors import ConfigError

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
    made = argparse.ArgumentParser() if parser is None else parser
    rows: tuple[tuple[Any, Any], ...] = (
        (int, (*_NUMBERS, ("stop_iters", default_iters), ("stop_timesteps", default_timesteps))),
        (float, (*_FRACTIONS, ("stop_reward", default_reward))),
        (str, _TEXTS),
        (_steps_or_auto, (("evaluation_duration", 10),)),
    )
    for kind, options in rows:
        for name, default in options:
            made.add_argument(_flag(name), type=kind, default=default)
    for name in _SWITCHES:
        made.add_argument(_flag(name), action="store_true")
    return made


def run_rllib_example_script_experiment(
    base_config: Any, args: Any = None, *, stop: dict[str, float] | None = None, **_: Any
) -> dict[str, Any]:
    """Train in this process until it is enough, as one trial would.

    Args:
        base_config: The algorithm's settings.
        args: The options; None reads the command line.
        stop: What is enough, by paths such as `env_runners/episode_return_mean`; None takes the
            options' word.
        **_: What only Tune knows.

    Returns:
        The last result.

    Raises:
        ConfigError: With `--as-test`, the mean return did not get there.
    """
    given = add_rllib_example_script_args().parse_args() if args is None else args
    for method, settings in _TAKEN_OVER:
        said = {name: getattr(given, name, None) for name in settings}
        getattr(base_config, method)(**{k: v for k, v in said.items() if v is not None})
    wanted = "env_runners/episode_return_mean"
    enough = stop or {
        wanted: given.stop_reward,
        "num_env_steps_sampled_lifetime": given.stop_timesteps,
        "training_iteration": given.stop_iters,
    }
    algo = base_config.build_algo()
    while True:
        result: dict[str, Any] = algo.train()
        if any(_found(result, path) >= value for path, value in enough.items()):
            break
    algo.stop()
    if given.as_test and _found(result, wanted) < given.stop_reward:
        raise ConfigError(
            "the run was not as good as it should be",
            expected=f"a mean return of {given.stop_reward}",
            found=f"{_found(result, wanted):.3f}",
        )
    return result


def _found(result: Any, path: str) -> float:
    for name in path.split("/"):
        if name not in result:
            return float("-inf")
        result = result[name]
    return float(result)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _steps_or_auto(text: str) -> int | str:
    return text if text == "auto" else int(text)
