"""One trial from its beginning to its end."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..algorithms.algorithm import Algorithm
from ..algorithms.iteration import Progress
from ..algorithms.saved_run import SavedFolder
from ..logging.loggers import NoLogger, UnifiedLogger
from .reporting import TuneContext, running
from .saved_trials import forget_end, write_end, write_error
from .stopping import Stopper
from .trainable import Trainable, can_save, is_class_trainable
from .trial import Trial


class TrialEndedError(BaseException):
    """Leaves a function whose trial has done enough; no `except Exception` holds it."""


class TrialRun:
    """Runs a trial."""

    def __init__(
        self,
        trial: Trial,
        trainable: Any,
        config: Any,
        stopper: Stopper,
        call: Callable[..., None],
        experiment_name: str,
        begin_from: Any = None,
    ) -> None:
        self._trial, self._trainable, self._config = trial, trainable, config
        self._stopper, self._call, self._begin_from = stopper, call, begin_from
        self._context = TuneContext(trial, experiment_name, self._on_report)

    def go(self, max_failures: int) -> None:
        """Run it to its end; an error is kept in the trial.

        It begins at its last checkpoint if it has one. When it fails it is begun again so often at
        most; -1 without end.
        """
        trial = self._trial
        trial.status = "RUNNING"
        forget_end(trial)
        self._call("on_trial_start", trial=trial)
        failures = 0
        while trial.status == "RUNNING":
            trial.go_back()
            self._logger = UnifiedLogger(trial.config, trial.path)
            try:
                with running(self._context):
                    self._run()
                trial.status = "TERMINATED"
            except Exception as error:
                failures += 1
                write_error(trial, traceback.format_exc())
                if 0 <= max_failures < failures:
                    trial.error, trial.status = error, "ERROR"
            finally:
                self._logger.close()
        write_end(trial)
        is_done = trial.error is None
        self._call("on_trial_complete" if is_done else "on_trial_error", trial=trial)

    def _run(self) -> None:
        if is_class_trainable(self._trainable):
            self._run_class()
        else:
            self._run_function()

    def _run_class(self) -> None:
        trial = self._trial
        more = {}
        if issubclass(self._trainable, Algorithm):  # Its folder; what it writes is written here.
            more["logger_creator"] = lambda _: NoLogger(None, trial.path)
        runnable = self._trainable(config=self._config, **more)
        try:
            if trial.checkpoint is not None:
                runnable.restore(trial.checkpoint)
                if isinstance(runnable, Trainable):
                    runnable.continue_from(trial.last_result)
            elif self._begin_from is not None:
                runnable.restore(self._begin_from)
            is_last = False
            while not is_last:
                result = runnable.train()
                is_last = self._is_last(result)
                is_due = can_save(self._trainable) and trial.checkpoints.is_due(
                    result["training_iteration"], is_last
                )
                folder = trial.checkpoints.next_folder()
                result["checkpoint_dir_name"] = folder.name if is_due else None
                self._take(result, is_last)
                if is_due:
                    runnable.save(folder)
                    self._keep(folder)
        finally:
            runnable.stop()

    def _run_function(self) -> None:
        self._progress = Progress()
        self._progress.continue_from(self._trial.last_result)
        self._progress.begin()
        try:
            returned = self._trainable(self._config)
            if returned is not None:
                is_mapping = isinstance(returned, Mapping)
                self._on_report(returned if is_mapping else {"_metric": returned}, None)
        except TrialEndedError:
            return
        self._trial.last_result["done"] = True

    def _on_report(self, metrics: Mapping[str, Any], checkpoint: SavedFolder | None) -> None:
        """Take a result of a function; leaves the function where it is enough."""
        result = {**self._progress.end(), "checkpoint_dir_name": None, **metrics}
        folder = self._trial.checkpoints.next_folder()
        if checkpoint is not None:
            checkpoint.to_directory(folder)
            result["checkpoint_dir_name"] = folder.name
        is_last = self._is_last(result)
        self._take(result, is_last)
        if checkpoint is not None:
            self._keep(folder)
        if is_last:
            raise TrialEndedError
        self._progress.begin()

    def _is_last(self, result: Mapping[str, Any]) -> bool:
        has_enough = self._stopper(self._trial.trial_id, result)
        return has_enough or bool(result.get("done")) or self._stopper.stop_all()

    def _take(self, result: Mapping[str, Any], is_last: bool) -> None:
        trial = self._trial
        taken = {"config": trial.config, **result, "done": is_last, "trial_id": trial.trial_id}
        taken["experiment_tag"] = trial.experiment_tag
        trial.take(taken)
        self._logger.on_result(taken)
        self._call("on_trial_result", trial=trial, result=taken)

    def _keep(self, folder: Path) -> None:
        trial = self._trial
        kept = trial.checkpoints.add(folder, trial.last_result)
        self._call("on_checkpoint", trial=trial, checkpoint=kept)
