"""What a run gives: a result for each trial, and the best of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from ...core.errors import ConfigError, MissingExtraError
from ...core.vault.file_names import RESULT_TABLE
from ..algorithms.saved_run import SavedFolder
from ..logging.flat_result import flat
from .stopping import checked_mode, metric_of
from .trial import Trial

_SCOPES: Final = ("last", "all", "avg", "last-5-avg", "last-10-avg")


class NoBestResultError(ConfigError, RuntimeError):
    """No trial has the metric that says which one is best."""


@dataclass
class Result:
    """What came of a trial.

    Attributes:
        metrics: Its last result; None if there was none.
        checkpoint: What it was saved to last.
        error: What it failed with.
        path: Its folder: `result.json`, `progress.csv`, TensorBoard's events, checkpoints.
        best_checkpoints: The checkpoints that were kept, the best last, each with its metrics.
    """

    metrics: dict[str, Any] | None
    checkpoint: SavedFolder | None
    error: Exception | None
    path: str
    best_checkpoints: list[tuple[SavedFolder, dict[str, Any]]] = field(default_factory=list)

    @property
    def config(self) -> dict[str, Any] | None:
        """Its settings."""
        return None if self.metrics is None else self.metrics.get("config")

    @property
    def metrics_dataframe(self) -> Any:
        """All its results as a table of pandas.

        Raises:
            MissingExtraError: There is no pandas.
        """
        return _pandas().read_csv(Path(self.path) / RESULT_TABLE)

    def get_best_checkpoint(self, metric: str, mode: str) -> SavedFolder | None:
        """Give the checkpoint that is best by a metric, of those that were kept.

        Args:
            metric: Which one, by path.
            mode: "max" or "min".
        """
        checked_mode(mode, "mode")
        scored = [
            (value if mode == "max" else -value, number)
            for number, (_, metrics) in enumerate(self.best_checkpoints)
            if (value := metric_of(metrics, metric)) is not None
        ]
        return self.best_checkpoints[max(scored)[1]][0] if scored else None


class ResultGrid(Sequence[Result]):
    """The trials of a run by their results, and the best of them by a metric.

    `Tuner.fit()` gives it under this name, `run()` under that of `ExperimentAnalysis`.

    Args:
        trials: The trials.
        experiment_path: The run's folder.
        default_metric: What is compared where a call does not say, by path.
        default_mode: "max" or "min", likewise.
    """

    def __init__(
        self,
        trials: Sequence[Trial],
        experiment_path: str,
        default_metric: str | None = None,
        default_mode: str | None = None,
    ) -> None:
        self.trials = list(trials)
        self.experiment_path = experiment_path
        self.default_metric, self.default_mode = default_metric, default_mode
        self._results = [
            Result(
                trial.last_result or None,
                trial.checkpoint,
                trial.error,
                trial.path,
                trial.checkpoints.best(),
            )
            for trial in self.trials
        ]

    def __len__(self) -> int:
        return len(self._results)

    def __getitem__(self, index: Any) -> Any:
        return self._results[index]

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results)

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self._results!r}>"

    @property
    def errors(self) -> list[Exception]:
        """What trials have failed with."""
        return [each.error for each in self._results if each.error is not None]

    @property
    def num_errors(self) -> int:
        """How many have failed."""
        return len(self.errors)

    @property
    def num_terminated(self) -> int:
        """How many have ended as they should."""
        return sum(trial.status == "TERMINATED" for trial in self.trials)

    @property
    def results(self) -> dict[str, dict[str, Any]]:
        """The last result of each trial, by its id."""
        return {trial.trial_id: trial.last_result for trial in self.trials}

    def get_best_trial(
        self,
        metric: str | None = None,
        mode: str | None = None,
        scope: str = "last",
        filter_nan_and_inf: bool = True,
    ) -> Trial:
        """Give the best trial.

        Args:
            metric: What is compared, by path; None takes what the run was given. A single trial
                needs none.
            mode: "max" or "min"; None likewise.
            scope: Which of its results speak for a trial: "last", "all", "avg", "last-5-avg" or
                "last-10-avg".
            filter_nan_and_inf: Whether values that are not finite are left out.

        Raises:
            ConfigError: There are several trials, and nothing to compare.
            NoBestResultError: No trial has the metric.
        """
        metric, mode = metric or self.default_metric, mode or self.default_mode
        if len(self.trials) == 1 and metric is None:
            return self.trials[0]
        return best_trial(self.trials, metric, mode, scope, only_finite=filter_nan_and_inf)

    def get_best_result(
        self,
        metric: str | None = None,
        mode: str | None = None,
        scope: str = "last",
        filter_nan_and_inf: bool = True,
    ) -> Result:
        """Give the result of the best trial; see `get_best_trial`."""
        return self._results[
            self.trials.index(self.get_best_trial(metric, mode, scope, filter_nan_and_inf))
        ]

    def get_best_config(self, *arguments: Any, **named: Any) -> dict[str, Any]:
        """Give the settings of the best trial; see `get_best_trial`."""
        return self.get_best_trial(*arguments, **named).config

    def get_best_logdir(self, *arguments: Any, **named: Any) -> str:
        """Give the folder of the best trial; see `get_best_trial`."""
        return self.get_best_trial(*arguments, **named).path

    def get_best_checkpoint(
        self, trial: Trial, metric: str | None = None, mode: str | None = None
    ) -> SavedFolder | None:
        """Give the best checkpoint of a trial, of those that were kept."""
        name, order = metric or self.default_metric, mode or self.default_mode
        if name is None or order is None:
            return trial.checkpoint
        only: Result = ResultGrid([trial], self.experiment_path)[0]
        return only.get_best_checkpoint(name, order)

    def get_last_checkpoint(
        self, trial: Trial | None = None, metric: str = "training_iteration", mode: str = "max"
    ) -> SavedFolder | None:
        """Give the last checkpoint of a trial; None takes the one that got furthest."""
        return (trial or self.get_best_trial(metric, mode)).checkpoint

    best_trial = property(get_best_trial, doc="The best trial, by what the run was given.")
    best_config = property(lambda self: self.best_trial.config, doc="Its settings.")
    best_result = property(lambda self: self.best_trial.last_result, doc="Its last result.")
    best_checkpoint = property(lambda self: self.best_trial.checkpoint, doc="What was saved last.")
    best_logdir = property(lambda self: self.best_trial.path, doc="Its folder.")

    def get_dataframe(
        self, filter_metric: str | None = None, filter_mode: str | None = None
    ) -> Any:
        """Give a table of pandas, a row for each trial: its last result and its settings.

        Args:
            filter_metric: Take the result of each trial where this is best, instead of the last.
            filter_mode: "max" or "min".

        Raises:
            MissingExtraError: There is no pandas.
        """
        pandas = _pandas()
        rows = []
        for trial, result in zip(self.trials, self._results, strict=True):
            if result.metrics is None:
                continue
            row = flat(result.metrics)
            if filter_metric is not None:
                table = result.metrics_dataframe
                column = table[filter_metric]
                number = column.idxmin() if filter_mode == "min" else column.idxmax()
                row = dict(table.loc[number])
            settings = {f"config/{name}": value for name, value in flat(trial.config).items()}
            rows.append({**row, **settings, "logdir": trial.path})
        return pandas.DataFrame(rows)

    dataframe = get_dataframe


def best_trial(
    trials: Sequence[Trial],
    metric: str | None,
    mode: str | None,
    scope: str = "last",
    *,
    only_finite: bool = True,
) -> Trial:
    """The best of some trials; see `ResultGrid.get_best_trial`."""
    for name, value in (("metric", metric), ("mode", mode)):
        if value is None:
            raise ConfigError(
                f"No {name} is provided",
                hint=f"give a `{name}` here or in the TuneConfig of the Tuner.",
            )
    checked_mode(mode, "mode")
    if scope not in _SCOPES:
        raise ConfigError("`scope`", expected=f"one of {', '.join(_SCOPES)}", found=repr(scope))
    assert metric is not None  # It was looked at.
    scored = [
        (score if mode == "max" else -score, -number)
        for number, trial in enumerate(trials)
        if (score := _score(trial, metric, mode, scope, only_finite)) is not None
    ]
    if not scored:
        raise NoBestResultError(
            f"No best trial found for the given metric: {metric}",
            hint="no trial has reported it, or all values are NaN; see result.metrics.",
        )
    return trials[-max(scored)[1]]


def _score(
    trial: Trial, metric: str, mode: str | None, scope: str, only_finite: bool
) -> float | None:
    if scope == "last":
        last = metric_of(trial.last_result, metric)
        values = [] if last is None else [float(last)]
    else:
        values = [result[metric] for result in trial.history if metric in result]
    if only_finite:
        values = [value for value in values if isfinite(value)]
    if not values:
        return None
    if scope == "all":
        return max(values) if mode == "max" else min(values)
    count = {"last-5-avg": 5, "last-10-avg": 10}.get(scope, len(values))
    return fmean(values[-count:])


def _pandas() -> Any:
    try:
        return import_module("pandas")
    except ImportError:
        raise MissingExtraError(
            "tables of results need pandas, which is not installed",
            hint="pip install pandas; or read result.metrics and the folder's progress.csv.",
        ) from None
