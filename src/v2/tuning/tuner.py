"""The two front doors: `Tuner(...).fit()`, and `run(...)` as older scripts have it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ...core.errors import ConfigError, RlconnectError
from .analysis import ExperimentAnalysis
from .callback import Callback
from .result_grid import ResultGrid
from .run_config import CheckpointConfig, FailureConfig, RunConfig, TuneConfig
from .running import TrialsRun

if TYPE_CHECKING:
    from ..config.algorithm_config import AlgorithmConfig


class TuneError(RlconnectError, RuntimeError):
    """Trials have failed. `trials` says which."""


class Tuner:
    """Runs trials in this process, one after the other.

    Args:
        trainable: What to run: the name or class of an algorithm, a `Trainable`, or a function of
            settings that calls `report`.
        param_space: The settings, a config or a dict; `grid_search`, `choice`, `uniform` and so
            on stand for what is tried or drawn.
        tune_config: How many trials there are, and which one is best.
        run_config: Where they are kept, when they end, when they are saved.

    Example:
        >>> import tempfile
        >>> def square(config):
        ...     for step in range(3):
        ...         report({"score": config["x"] ** 2 + step})
        >>> from rlconnect.v2.tuning import grid_search, report
        >>> tuner = Tuner(
        ...     square,
        ...     param_space={"x": grid_search([1, 2])},
        ...     run_config=RunConfig(storage_path=tempfile.mkdtemp(), verbose=0),
        ... )
        >>> tuner.fit().get_best_result("score", "max").metrics["score"]
        6
    """

    def __init__(
        self,
        trainable: Any = None,
        *,
        param_space: Any = None,
        tune_config: TuneConfig | None = None,
        run_config: RunConfig | None = None,
    ) -> None:
        self._trainable, self._space = trainable, param_space
        self._tune_config = tune_config or TuneConfig()
        self._run_config = run_config or RunConfig()
        self._results: ResultGrid | None = None

    def fit(self) -> ResultGrid:
        """Run all trials.

        Returns:
            Their results; what a trial failed with is its result's `error`.
        """
        run = TrialsRun(self._trainable, self._space, self._tune_config, self._run_config)
        run.go()
        given = self._tune_config
        self._results = ResultGrid(run.trials, str(run.path), given.metric, given.mode)
        return self._results

    def get_results(self) -> ResultGrid:
        """Give what `fit()` gave.

        Raises:
            ConfigError: It was not called yet.
        """
        if self._results is None:
            raise ConfigError("there are no results yet", hint="call fit().")
        return self._results

    @classmethod
    def can_restore(cls, path: str | os.PathLike[str], storage_filesystem: Any = None) -> bool:
        """Whether a run can go on: none can, only single trials (see `restore`)."""
        return False

    @classmethod
    def restore(cls, path: str | os.PathLike[str], *_: Any, **__: Any) -> NoReturn:
        """Tell what to do instead.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError(
            f"the run in {os.fspath(path)!r} cannot go on as a whole",
            hint="go on from a trial: Algorithm.from_checkpoint(result.checkpoint), then train(); "
            "or run(..., restore=checkpoint).",
        )


def run(
    run_or_experiment: Any,
    *,
    name: str | None = None,
    metric: str | None = None,
    mode: str | None = None,
    stop: Any = None,
    time_budget_s: Any = None,
    config: Mapping[str, Any] | AlgorithmConfig | None = None,
    resources_per_trial: Any = None,
    num_samples: int = 1,
    storage_path: str | os.PathLike[str] | None = None,
    storage_filesystem: Any = None,
    search_alg: Any = None,
    scheduler: Any = None,
    checkpoint_config: CheckpointConfig | None = None,
    verbose: Any = None,
    progress_reporter: Any = None,
    log_to_file: Any = False,
    trial_name_creator: Callable[[Any], str] | None = None,
    trial_dirname_creator: Callable[[Any], str] | None = None,
    sync_config: Any = None,
    export_formats: Sequence[Any] | None = None,
    max_failures: int = 0,
    fail_fast: bool | str = False,
    restore: Any = None,
    resume: Any = None,
    resume_config: Any = None,
    reuse_actors: bool = False,
    raise_on_failed_trial: bool = True,
    callbacks: Sequence[Callback] | None = None,
    max_concurrent_trials: int | None = None,
    keep_checkpoints_num: int | None = None,
    checkpoint_score_attr: str | None = None,
    checkpoint_freq: int = 0,
    checkpoint_at_end: bool = False,
    local_dir: str | os.PathLike[str] | None = None,
) -> ExperimentAnalysis:
    """Run trials in this process, one after the other, as `Tuner` does.

    Args:
        run_or_experiment: What to run; see `Tuner`.
        name: See `RunConfig`, and so for `stop`, `storage_path`, `verbose`, `callbacks`, ...
        metric: See `TuneConfig`, and so for `num_samples`, `search_alg`, `scheduler`, ...
        mode: "max" or "min".
        stop: When a trial has done enough.
        time_budget_s: When all have.
        config: The settings, a dict or a config.
        resources_per_trial: Of no meaning.
        num_samples: How often the grid is gone through.
        storage_path: The folder above the run's.
        storage_filesystem: Only None.
        search_alg: A `BasicVariantGenerator`.
        scheduler: A `FIFOScheduler`.
        checkpoint_config: When trials are saved; the other settings about that make one.
        verbose: 0 shows nothing.
        progress_reporter: Not used.
        log_to_file: Not used.
        trial_name_creator: Gives the name of a trial.
        trial_dirname_creator: Gives the folder's name of a trial.
        sync_config: Of no meaning.
        export_formats: Not used, which is told.
        max_failures: How often a trial is begun again.
        fail_fast: True runs no further trials after a failure, "raise" raises its error.
        restore: A checkpoint that trials begin from.
        resume: Not used, which is told.
        resume_config: Not used, which is told.
        reuse_actors: Of no meaning.
        raise_on_failed_trial: Whether failures are raised at the end.
        callbacks: Objects of `Callback`.
        max_concurrent_trials: Of no meaning.
        keep_checkpoints_num: `CheckpointConfig(num_to_keep=...)`.
        checkpoint_score_attr: `CheckpointConfig(checkpoint_score_attribute=...)`; "min-" before
            it keeps the lowest.
        checkpoint_freq: `CheckpointConfig(checkpoint_frequency=...)`.
        checkpoint_at_end: Whether to save at the end.
        local_dir: The older name of `storage_path`.

    Raises:
        TuneError: Trials have failed.
    """
    unused = {"export_formats": export_formats, "resume": resume, "resume_config": resume_config}
    for setting in (name for name, value in unused.items() if value):
        warnings.warn(f"run({setting}=...) is not used here.", UserWarning, stacklevel=2)
    if checkpoint_config is None:
        attribute = checkpoint_score_attr
        is_lowest = attribute is not None and attribute.startswith("min-")
        checkpoint_config = CheckpointConfig(
            num_to_keep=keep_checkpoints_num,
            checkpoint_score_attribute=attribute[4:] if attribute and is_lowest else attribute,
            checkpoint_score_order="min" if is_lowest else "max",
            checkpoint_frequency=checkpoint_freq,
            checkpoint_at_end=checkpoint_at_end,
        )
    trials = TrialsRun(
        run_or_experiment,
        config,
        TuneConfig(
            mode=mode,
            metric=metric,
            search_alg=search_alg,
            scheduler=scheduler,
            num_samples=num_samples,
            time_budget_s=time_budget_s,
            trial_name_creator=trial_name_creator,
            trial_dirname_creator=trial_dirname_creator,
        ),
        RunConfig(
            name=name,
            storage_path=storage_path,
            storage_filesystem=storage_filesystem,
            failure_config=FailureConfig(max_failures, fail_fast),
            checkpoint_config=checkpoint_config,
            verbose=verbose,
            stop=stop,
            callbacks=callbacks,
            progress_reporter=progress_reporter,
            log_to_file=log_to_file,
            local_dir=local_dir,
        ),
        begin_from=restore,
    )
    trials.go()
    failed = [trial for trial in trials.trials if trial.error is not None]
    if failed and raise_on_failed_trial:
        raise TuneError(
            "Trials did not complete",
            found=f"{', '.join(map(str, failed))}, the first with {failed[0].error!r}",
            hint="their folders have error.txt; raise_on_failed_trial=False gives the others.",
            trials=failed,
        ) from failed[0].error
    return ExperimentAnalysis(trials.trials, str(trials.path), metric, mode)
