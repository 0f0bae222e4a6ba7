"""What scripts import from Ray's other libraries: named, not run, but for what is plain data.

One trial of Tune is `algo = config.build_algo()` and `algo.train()` again and again.
"""

from __future__ import annotations

from typing import Any, Final

_SEARCHED: Final = (
    "choice lograndint loguniform qlograndint qloguniform qrandint qrandn quniform randint randn "
    "sample_from uniform"
)
_RUNS: Final = "CheckpointConfig FailureConfig Result RunConfig SyncConfig"
_SCHEDULERS: Final = (
    "ASHAScheduler AsyncHyperBandScheduler FIFOScheduler HyperBandScheduler MedianStoppingRule "
    "PopulationBasedTraining TrialScheduler"
)
_STOPPERS: Final = (
    "CombinedStopper FunctionStopper MaximumIterationStopper Stopper TimeoutStopper "
    "TrialPlateauStopper"
)

HOMES: Final = {
    "ray.air": f"stand-in: {_RUNS} ScalingConfig",
    "ray.air.config": f"stand-in: {_RUNS} ScalingConfig",
    "ray.air.integrations.mlflow": "stand-in: MLflowLoggerCallback setup_mlflow",
    "ray.air.integrations.wandb": "stand-in: WandbLoggerCallback setup_wandb",
    "ray.train": (
        f"stand-in: {_RUNS} ScalingConfig get_context report; v2.algorithms.saved_run: "
        "Checkpoint=SavedFolder"
    ),
    "ray.tune": (
        "bridge.aliases.ray_front: register_trainable; bridge.aliases.tune_homes: grid_search; "
        f"stand-in: CLIReporter Callback ExperimentAnalysis PlacementGroupFactory ResultGrid "
        f"ResumeConfig Stopper Trainable TuneConfig Tuner get_context report run run_experiments "
        f"with_parameters with_resources {_RUNS} {_SEARCHED}; v2: register_env; "
        "v2.algorithms.saved_run: Checkpoint=SavedFolder"
    ),
    "ray.tune.callback": "stand-in: Callback",
    "ray.tune.experiment": "stand-in: Experiment Trial",
    "ray.tune.experiment.trial": "stand-in: Trial",
    "ray.tune.logger": (
        "bridge.aliases.tune_homes: pretty_print; stand-in: CSVLoggerCallback JsonLoggerCallback "
        "Logger LoggerCallback TBXLogger TBXLoggerCallback UnifiedLogger"
    ),
    "ray.tune.schedulers": f"stand-in: {_SCHEDULERS} create_scheduler",
    "ray.tune.schedulers.pb2": "stand-in: PB2",
    "ray.tune.search": (
        "bridge.aliases.tune_homes: grid_search; stand-in: BasicVariantGenerator "
        "ConcurrencyLimiter Repeater SearchAlgorithm Searcher create_searcher"
    ),
    "ray.tune.search.optuna": "stand-in: OptunaSearch",
    "ray.tune.stopper": f"stand-in: {_STOPPERS}",
    "ray.tune.trainable": "stand-in: Trainable",
    "ray.util.annotations": (
        "bridge.aliases.plain_names: Deprecated RayDeprecationWarning; legacy: DeveloperAPI "
        "PublicAPI"
    ),
}


def grid_search(values: Any) -> dict[str, Any]:
    """Mark values to try one after the other; who reads it is not here.

    Example:
        >>> grid_search([1, 2])
        {'grid_search': [1, 2]}
    """
    return {"grid_search": values}


def pretty_print(result: dict[str, Any], exclude: set[str] | None = None) -> str:
    """A result of `train()` as indented lines, without the settings.

    Args:
        result: The result.
        exclude: Keys at its top to leave out.

    Example:
        >>> print(pretty_print({"b": {"c": 2.0}, "a": [1], "config": {}}), end="")
        a:
        - 1
        b:
          c: 2.0
    """
    left_out = {"config", "hist_stats"} | (exclude or set())
    shown = {key: value for key, value in result.items() if key not in left_out}
    return "".join(f"{line}\n" for line in _lines(shown, 0))


def _lines(value: Any, depth: int) -> list[str]:
    pad = "  " * depth
    lines = []
    for key in sorted(value, key=str):
        item = value[key]
        item = item.tolist() if hasattr(item, "tolist") else item
        if isinstance(item, dict) and item:
            lines += [f"{pad}{key}:", *_lines(item, depth + 1)]
        elif isinstance(item, (list, tuple)) and item:
            lines += [f"{pad}{key}:", *(f"{pad}- {_word(each)}" for each in item)]
        else:
            lines.append(f"{pad}{key}: {_word(item)}")
    return lines


def _word(item: Any) -> str:
    if item is None or isinstance(item, bool):
        return {None: "null", True: "true", False: "false"}[item]
    return str(item)
