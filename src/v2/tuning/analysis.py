"""What `run()` gives: its trials, and the best of them."""

from __future__ import annotations

from typing import Any

from ..algorithms.saved_run import SavedFolder
from .result_grid import ResultGrid, best_trial
from .trial import Trial


class ExperimentAnalysis:
    """The trials of a run.

    Args:
        trials: The trials.
        experiment_path: The run's folder.
        default_metric: What is compared where a call does not say.
        default_mode: "max" or "min", likewise.
    """

    def __init__(
        self,
        trials: list[Trial],
        experiment_path: str,
        default_metric: str | None = None,
        default_mode: str | None = None,
    ) -> None:
        self.trials = trials
        self.experiment_path = experiment_path
        self.default_metric, self.default_mode = default_metric, default_mode

    @property
    def results(self) -> dict[str, dict[str, Any]]:
        """The last result of each trial, by its id."""
        return {trial.trial_id: trial.last_result for trial in self.trials}

    @property
    def best_trial(self) -> Trial:
        """The best trial, by the metric the run was given."""
        return self.get_best_trial()

    @property
    def best_config(self) -> dict[str, Any]:
        """Its settings."""
        return self.best_trial.config

    @property
    def best_result(self) -> dict[str, Any]:
        """Its last result."""
        return self.best_trial.last_result

    @property
    def best_checkpoint(self) -> SavedFolder | None:
        """What it was saved to."""
        return self.best_trial.checkpoint

    @property
    def best_logdir(self) -> str:
        """Its folder."""
        return self.best_trial.path

    def get_best_trial(
        self,
        metric: str | None = None,
        mode: str | None = None,
        scope: str = "last",
        filter_nan_and_inf: bool = True,
    ) -> Trial:
        """Give the best trial; see `ResultGrid.get_best_result`."""
        if len(self.trials) == 1 and (metric or self.default_metric) is None:
            return self.trials[0]
        return best_trial(
            self.trials,
            metric or self.default_metric,
            mode or self.default_mode,
            scope,
            only_finite=filter_nan_and_inf,
        )

    def get_best_config(
        self, metric: str | None = None, mode: str | None = None, scope: str = "last"
    ) -> dict[str, Any]:
        """Give the settings of the best trial."""
        return self.get_best_trial(metric, mode, scope).config

    def get_best_logdir(
        self, metric: str | None = None, mode: str | None = None, scope: str = "last"
    ) -> str:
        """Give the folder of the best trial."""
        return self.get_best_trial(metric, mode, scope).path

    def get_best_checkpoint(
        self, trial: Trial, metric: str | None = None, mode: str | None = None
    ) -> SavedFolder | None:
        """Give the best checkpoint of a trial, of those that were kept."""
        wanted, order = metric or self.default_metric, mode or self.default_mode
        if wanted is None or order is None:
            return trial.checkpoint
        only: Any = ResultGrid([trial], self.experiment_path)[0]
        found: SavedFolder | None = only.get_best_checkpoint(wanted, order)
        return found

    def get_last_checkpoint(
        self, trial: Trial | None = None, metric: str = "training_iteration", mode: str = "max"
    ) -> SavedFolder | None:
        """Give the last checkpoint of a trial; None takes the one that got furthest."""
        return (trial or self.get_best_trial(metric, mode)).checkpoint

    def dataframe(self, metric: str | None = None, mode: str | None = None) -> Any:
        """Give a table of pandas; see `ResultGrid.get_dataframe`."""
        return ResultGrid(self.trials, self.experiment_path).get_dataframe(metric, mode)
