"""One trial: its settings, its results, its checkpoints."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ...core.errors import RlconnectError
from ...core.vault.own.leftovers import removed, sweep_folder
from ..algorithms.saved_run import SavedFolder
from ..logging.flat_result import scalars
from ..logging.loggers import cut_after, read_results
from .run_config import CheckpointConfig
from .stopping import metric_of
from .variants import word

_NUMBERED: Final = re.compile(r"checkpoint_([0-9]{1,12})")


class TuneError(RlconnectError, RuntimeError):
    """Trials have failed. `trials` says which."""


class Trial:
    """A trial, by the names Ray Tune's has.

    Args:
        trainable_name: What is run.
        number: Which trial of the run, from 0.
        run_id: The run.
        config: The settings.
        tag: What is special about them.

    Attributes:
        status: "PENDING", "RUNNING", "TERMINATED" or "ERROR".
        last_result: The last result; empty before the first.
        result_count: How many results there were.
        error: What it failed with.
    """

    def __init__(
        self, trainable_name: str, number: int, run_id: str, config: dict[str, Any], tag: str
    ) -> None:
        self.trainable_name = trainable_name
        self.trial_id = f"{run_id}_{number:05d}"
        self.config = config
        self.experiment_tag = f"{number}_{tag}" if tag else str(number)
        self.evaluated_params = tag
        self.status = "PENDING"
        self.last_result: dict[str, Any] = {}
        self.result_count = 0
        self._history: list[dict[str, float]] | None = None
        self.error: Exception | None = None
        self.custom_trial_name: str | None = None
        self.path = ""
        self.checkpoints = Checkpoints(Path(), CheckpointConfig())

    def __str__(self) -> str:
        if self.custom_trial_name:
            return self.custom_trial_name
        env = self.config.get("env")
        shown = getattr(env, "__name__", env)
        parts = (self.trainable_name, shown or "", self.trial_id)
        return "_".join(name for name in map(word, parts) if name)

    __repr__ = __str__

    @property
    def local_path(self) -> str:
        """Its folder."""
        return self.path

    logdir = local_path

    @property
    def checkpoint(self) -> SavedFolder | None:
        """What it was saved to last."""
        return self.checkpoints.latest

    def take(self, result: dict[str, Any]) -> None:
        """Take one more result."""
        self.last_result = result
        self.result_count += 1

    @property
    def history(self) -> list[dict[str, float]]:
        """The numbers of all results, flat; they are read from its folder."""
        if self._history is not None:
            return self._history
        return [scalars(row) for row in read_results(Path(self.path))] if self.path else []

    @history.setter
    def history(self, rows: list[dict[str, float]]) -> None:
        self._history, self.result_count = rows, len(rows)

    def read_folder(self) -> None:
        """Take what its folder has, results and checkpoints."""
        for row in read_results(Path(self.path)):
            self.take({**row, "config": self.config})
            self.checkpoints.find(self.last_result)

    def go_back(self, *, to_the_beginning: bool = False) -> None:
        """Go back to the last checkpoint: results after it are taken away, and come again."""
        folder = Path(self.path)
        if not folder.is_dir():
            return
        if to_the_beginning:
            self.checkpoints.forget()
        self.last_result = self.checkpoints.latest_result
        sweep_folder(folder)
        self.result_count = len(cut_after(folder, self.last_result.get("training_iteration", 0)))
        self.checkpoints.sweep()


class Checkpoints:
    """The checkpoints of a trial, of which some are kept.

    Attributes:
        latest: The last one.
        latest_result: The result that it came after.
    """

    def __init__(self, folder: Path, settings: CheckpointConfig) -> None:
        self._folder, self._settings = folder, settings
        self.forget()

    def forget(self) -> None:
        """Begin without any."""
        self._count = 0
        self._held: list[tuple[SavedFolder, dict[str, Any]]] = []
        self.latest: SavedFolder | None = None
        self.latest_result: dict[str, Any] = {}

    def is_due(self, iteration: int, is_last: bool) -> bool:
        """Whether an iteration is one to save after."""
        every = self._settings.checkpoint_frequency or 0
        at_end = self._settings.checkpoint_at_end
        return bool(every and iteration % every == 0) or (is_last and at_end is not False)

    def next_folder(self) -> Path:
        """The folder of the next one."""
        return self._folder / f"checkpoint_{self._count:06d}"

    def add(self, folder: Path, metrics: Mapping[str, Any]) -> SavedFolder:
        """Take one that was written to `next_folder()`, and drop what need not be kept."""
        before = self.latest
        self._take(folder, metrics)
        dropped = self._trim()
        if before is not None and all(before is not held for held, _ in self._held):
            dropped.append(before)
        for each in dropped:
            if each is not self.latest:
                removed(Path(each.path))
        return self.latest or SavedFolder(folder)

    def find(self, result: Mapping[str, Any]) -> None:
        """Take the one that came after a result, if it is there."""
        name = result.get("checkpoint_dir_name")
        if isinstance(name, str) and (match := _NUMBERED.fullmatch(name)):
            folder = self._folder / name
            if folder.is_dir() and not folder.is_symlink():
                self._count = int(match[1])
                self._take(folder, result)
                self._trim()

    def sweep(self) -> None:
        """Take away folders of others: what was dropped, or came after the last result."""
        known = {each.path for each, _ in self._held} | {getattr(self.latest, "path", "")}
        for folder in self._folder.iterdir():
            if _NUMBERED.fullmatch(folder.name) and str(folder) not in known:
                removed(folder)

    def _take(self, folder: Path, metrics: Mapping[str, Any]) -> None:
        self._count += 1
        self.latest, self.latest_result = SavedFolder(folder), dict(metrics)
        self._held.append((self.latest, self.latest_result))

    def _trim(self) -> list[SavedFolder]:
        """Let go of what need not be kept; gives it."""
        if self._settings.checkpoint_score_attribute is not None:
            self._held.sort(key=self._score)
        keep = self._settings.num_to_keep or len(self._held)
        dropped = [held for held, _ in self._held[:-keep]]
        self._held = self._held[-keep:]
        return dropped

    def hold(
        self, latest: SavedFolder | None, kept: list[tuple[SavedFolder, dict[str, Any]]]
    ) -> None:
        """Take those that somebody else has kept, the best last."""
        self.latest, self._held = latest, kept

    def best(self) -> list[tuple[SavedFolder, dict[str, Any]]]:
        """Those that are kept, the best (or newest) last, each with its metrics."""
        return list(self._held)

    def _score(self, kept: tuple[SavedFolder, dict[str, Any]]) -> float:
        value = metric_of(kept[1], str(self._settings.checkpoint_score_attribute))
        if value is None or value != value:
            return float("-inf")
        return float(value) if self._settings.checkpoint_score_order != "min" else -float(value)
