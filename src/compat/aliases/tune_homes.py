"""What scripts import from Ray's other libraries: trials run one by one, the rest is named.

`rlconnect.v2.tuning` has what runs.
"""

from __future__ import annotations

from typing import Any, Final

from ...core.text.visible import visible

_SPACES: Final = (
    "choice grid_search lograndint loguniform qlograndint qloguniform qrandint qrandn quniform "
    "randint randn sample_from uniform"
)
_RUNS: Final = "Checkpoint CheckpointConfig FailureConfig Result RunConfig"
_SAID: Final = "get_checkpoint get_context report"
_STOPPERS: Final = (
    "CombinedStopper FunctionStopper MaximumIterationStopper NoopStopper Stopper TimeoutStopper "
    "TrialPlateauStopper"
)
_SCHEDULERS: Final = (
    "ASHAScheduler AsyncHyperBandScheduler HyperBandScheduler MedianStoppingRule "
    "PopulationBasedTraining TrialScheduler"
)

HOMES: Final = {
    "ray.air": f"v2.tuning: {_RUNS}; stand-in: ScalingConfig SyncConfig",
    "ray.air.config": f"v2.tuning: {_RUNS}; stand-in: ScalingConfig SyncConfig",
    "ray.air.integrations.mlflow": "stand-in: MLflowLoggerCallback setup_mlflow",
    "ray.air.integrations.wandb": "stand-in: WandbLoggerCallback setup_wandb",
    "ray.air.session": f"v2.tuning: {_SAID}",
    "ray.train": f"v2.tuning: {_RUNS} {_SAID}; stand-in: ScalingConfig SyncConfig",
    "ray.tune": (
        f"v2.tuning: CLIReporter Callback ExperimentAnalysis ResultGrid "
        f"Stopper Trainable TuneConfig TuneError Tuner register_trainable run with_parameters "
        f"with_resources {_RUNS} {_SAID} {_SPACES}; stand-in: JupyterNotebookReporter "
        "PlacementGroupFactory ResumeConfig SyncConfig run_experiments; v2: register_env"
    ),
    "ray.tune.analysis": "v2.tuning: ExperimentAnalysis",
    "ray.tune.callback": "v2.tuning: Callback",
    "ray.tune.error": "v2.tuning: TuneError",
    "ray.tune.experiment": "v2.tuning.trial: Trial; stand-in: Experiment",
    "ray.tune.experiment.trial": "v2.tuning.trial: Trial",
    "ray.tune.logger": (
        "compat.aliases.tune_homes: pretty_print; stand-in: CSVLoggerCallback JsonLoggerCallback "
        "LoggerCallback TBXLoggerCallback; v2.logging.loggers: Logger TBXLogger UnifiedLogger"
    ),
    "ray.tune.progress_reporter": "v2.tuning: CLIReporter",
    "ray.tune.result_grid": "v2.tuning: ResultGrid",
    "ray.tune.schedulers": (f"v2.tuning: FIFOScheduler; stand-in: {_SCHEDULERS} create_scheduler"),
    "ray.tune.schedulers.pb2": "stand-in: PB2",
    "ray.tune.search": (
        f"v2.tuning: BasicVariantGenerator {_SPACES}; stand-in: ConcurrencyLimiter Repeater "
        "SearchAlgorithm Searcher create_searcher"
    ),
    "ray.tune.search.basic_variant": "v2.tuning: BasicVariantGenerator",
    "ray.tune.search.optuna": "stand-in: OptunaSearch",
    "ray.tune.search.sample": f"v2.config.search_space: Domain; v2.tuning: {_SPACES}",
    "ray.tune.stopper": f"v2.tuning: {_STOPPERS}",
    "ray.tune.trainable": "v2.tuning: Trainable with_parameters",
    "ray.tune.tune_config": "v2.tuning: TuneConfig",
    "ray.tune.tuner": "v2.tuning: TuneConfig Tuner",
    "ray.util.annotations": (
        "compat.aliases.plain_names: Deprecated RayDeprecationWarning; legacy: DeveloperAPI "
        "PublicAPI"
    ),
}


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
        item, name = value[key], visible(key)
        item = item.tolist() if hasattr(item, "tolist") else item
        if isinstance(item, dict) and item:
            lines += [f"{pad}{name}:", *_lines(item, depth + 1)]
        elif isinstance(item, (list, tuple)) and item:
            lines += [f"{pad}{name}:", *(f"{pad}- {_word(each)}" for each in item)]
        else:
            lines.append(f"{pad}{name}: {_word(item)}")
    return lines


def _word(item: Any) -> str:
    if item is None or isinstance(item, bool):
        return {None: "null", True: "true", False: "false"}[item]
    text = str(item)
    return visible(text, len(text))
