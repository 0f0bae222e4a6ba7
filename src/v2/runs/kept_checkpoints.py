"""The checkpoints of a training run, of which the best or the newest are kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...core.errors import ConfigError
from ...core.vault.own.leftovers import removed
from ..algorithms.saved_run import SavedFolder
from .stop_criteria import metric_of


class KeptCheckpoints:
    """The checkpoints of a run.

    Args:
        keep: How many to keep: the best by `score`, or without a score the newest. The last one
            always stays. None keeps all.
        every: Save after every so many iterations; 0 saves only at the end.
        score: The metric that ranks checkpoints.
        mode: "max" or "min".

    Attributes:
        latest: The last checkpoint.
    """

    def __init__(self, keep: int | None, every: int, score: str | None, mode: str) -> None:
        for name, value, least in (("keep", keep, 1), ("save_every", every, 0)):
            if value is not None and value < least:
                raise ConfigError(
                    f"TrainingRun({name}=...)",
                    expected=f"an integer of {least} or more",
                    found=repr(value),
                )
        if mode not in ("max", "min"):
            raise ConfigError("TrainingRun(mode=...)", expected="'max' or 'min'", found=repr(mode))
        self._keep, self._every, self._score, self._mode = keep, every, score, mode
        self._held: list[tuple[SavedFolder, dict[str, Any]]] = []
        self.latest: SavedFolder | None = None

    def is_due(self, iteration: int, is_last: bool) -> bool:
        """Whether to save after an iteration."""
        return is_last or bool(self._every and iteration % self._every == 0)

    def add(self, folder: Path, result: Mapping[str, Any]) -> None:
        """Take the newest checkpoint and delete those that need not be kept."""
        before, self.latest = self.latest, SavedFolder(folder)
        metrics = {} if self._score is None else {self._score: metric_of(result, self._score)}
        self._held.append((self.latest, metrics))
        if self._score is not None:
            self._held.sort(key=self._rank)
        keep = self._keep or len(self._held)
        dropped = [held for held, _ in self._held[:-keep]]
        self._held = self._held[-keep:]
        if before is not None and all(before is not held for held, _ in self._held):
            dropped.append(before)
        for each in dropped:
            if each is not self.latest:
                removed(Path(each.path))

    def best(self) -> list[tuple[SavedFolder, dict[str, Any]]]:
        """Return the kept checkpoints with their scores, the best (or newest) last."""
        return list(self._held)

    def _rank(self, kept: tuple[SavedFolder, dict[str, Any]]) -> float:
        value = kept[1][str(self._score)]
        if value is None or value != value:
            return float("-inf")
        return float(value) if self._mode == "max" else -float(value)
