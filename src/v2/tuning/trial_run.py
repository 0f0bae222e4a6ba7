"""One trial from its beginning to its end."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ...core.vault.own.atomic import replaced_file
from ..algorithms.algorithm import Algorithm
from ..algorithms.iteration import Progress
from ..algorithms.saved_run import SavedFolder
from ..logging.loggers import UnifiedLogger
from .reporting import TuneContext, running
from .stopping import Stopper
from .trainables import can_save, is_class_trainable
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
        self._progress = Progress()

    def go(self, max_failures: int) -> None:
        """Run it to its end; an error is kept in the trial.

        It is begun again so often at most, from its last checkpoint; -1 without end.
        """
        trial = self._trial
        self._logger = UnifiedLogger(trial.config, trial.path)
        trial.status = "RUNNING"
        self._call("on_trial_start", trial=trial)
        failures = 0
        try:
            while trial.status == "RUNNING":
                try:
                    with running(self._context):
                        self._run()
                    trial.status = "TERMINATED"
                except Exception as error:
                    failures += 1
                    with replaced_file(Path(trial.path) / "error.txt") as told:
                        told.write_text(traceback.format_exc(), encoding="utf-8")
                    if 0 <= max_failures < failures:
                        trial.error, trial.status = error, "ERROR"
        finally:
            self._logger.close()
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
            more["logger_creator"] = lambda _: UnifiedLogger(None, trial.path, loggers=())
        made = self._trainable(config=self._config, **more)
        try:
            begin_from = trial.checkpoint or self._begin_from
            if begin_from is not None:
                made.restore(begin_from)
            while True:
                result = made.train()
                is_last = self._is_last(result)
                self._take(result, is_last)
                settles = can_save(self._trainable)
                if settles and trial.checkpoints.is_due(result["training_iteration"], is_last):
                    made.save(folder := trial.checkpoints.next_folder())
                    self._keep(folder)
                if is_last:
                    return
        finally:
            made.stop()

    def _run_function(self) -> None:
        self._progress.begin()
        try:
            given = self._trainable(self._config)
            if given is not None:
                self._on_report(given if isinstance(given, Mapping) else {"_metric": given}, None)
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
