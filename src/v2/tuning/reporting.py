"""What a function says of its trial, and what it is told about it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ...core.errors import ConfigError
from ..algorithms.saved_run import SavedFolder
from .trial import Trial


@dataclass(frozen=True)
class TuneContext:
    """The trial that runs, as `get_context()` tells of it.

    Attributes:
        trial: The trial.
        experiment_name: The run.
        take: Takes what a function reports.
    """

    trial: Trial
    experiment_name: str
    take: Callable[[Mapping[str, Any], SavedFolder | None], None]

    def get_trial_id(self) -> str:
        """Its id."""
        return self.trial.trial_id

    def get_trial_name(self) -> str:
        """Its name."""
        return str(self.trial)

    def get_trial_dir(self) -> str:
        """Its folder."""
        return self.trial.path

    def get_experiment_name(self) -> str:
        """The run's name."""
        return self.experiment_name

    def get_trial_resources(self) -> None:
        """None: it has what this process has."""

    def get_world_rank(self) -> int:
        """Which of several workers this is: the only one."""
        return 0

    def get_world_size(self) -> int:
        """How many workers there are."""
        return 1


_running: list[TuneContext] = []
"""The trial that runs, last; it may itself run others."""


@contextmanager
def running(context: TuneContext) -> Iterator[None]:
    """Let a trial be the one that runs."""
    _running.append(context)
    try:
        yield
    finally:
        _running.pop()


def current() -> TuneContext | None:
    """The trial that runs, if one does."""
    return _running[-1] if _running else None


def get_context() -> TuneContext:
    """Tell about the trial that runs.

    Raises:
        ConfigError: None does.
    """
    if not _running:
        raise ConfigError("get_context() has nothing to tell outside of a trial")
    return _running[-1]


def get_checkpoint() -> SavedFolder | None:
    """Give the last checkpoint of the trial that runs, from before it failed, for instance."""
    return _running[-1].trial.checkpoint if _running else None


def report(metrics: Mapping[str, Any], *, checkpoint: Any = None) -> None:
    """Report a result of the trial that runs; the trial may end with it.

    Args:
        metrics: The result.
        checkpoint: A `Checkpoint`; its files are copied to the trial's folder.
    """
    if not _running:
        warnings.warn(
            "report() outside of a trial goes nowhere: give the function to a Tuner.",
            UserWarning,
            stacklevel=2,
        )
        return
    folder = None if checkpoint is None else SavedFolder(os.fspath(checkpoint))
    _running[-1].take(metrics, folder)
