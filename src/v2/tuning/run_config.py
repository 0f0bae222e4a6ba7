"""What is said about a run: its place, its end, its checkpoints, how many trials it has."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...core.errors import ConfigError
from .schedulers import ASHAScheduler, FIFOScheduler
from .stopping import checked_mode
from .variants import BasicVariantGenerator


class Callback:
    """Hooks of a run, by Ray Tune's names; all do nothing until a subclass says what.

    Example:
        >>> class Tell(Callback):
        ...     def on_trial_complete(self, iteration, trials, trial, **info):
        ...         print(trial, trial.last_result["training_iteration"])
    """

    def setup(self, stop: Any = None, num_samples: int | None = None, **info: Any) -> None:
        """A run begins."""

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """A trial begins."""

    def on_trial_result(
        self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any
    ) -> None:
        """A trial has a result."""

    def on_checkpoint(
        self, iteration: int, trials: list[Any], trial: Any, checkpoint: Any, **info: Any
    ) -> None:
        """A trial was saved."""

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """A trial has ended as it should."""

    def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        """A trial has failed."""

    def on_experiment_end(self, trials: list[Any], **info: Any) -> None:
        """All trials are over."""


@dataclass
class CheckpointConfig:
    """When a trial is saved, and how much of that is kept.

    Args:
        num_to_keep: Keep so many: the best, or without a score the latest; the very last one
            stays in any case. None keeps all.
        checkpoint_score_attribute: The metric that says which are best.
        checkpoint_score_order: "max" or "min".
        checkpoint_frequency: Save after every so many iterations; 0 saves at no other time than
            the end.
        checkpoint_at_end: Whether to save at the end; None does so.
    """

    num_to_keep: int | None = None
    checkpoint_score_attribute: str | None = None
    checkpoint_score_order: str | None = "max"
    checkpoint_frequency: int | None = 0
    checkpoint_at_end: bool | None = None

    def __post_init__(self) -> None:
        for name, least in (("num_to_keep", 1), ("checkpoint_frequency", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ConfigError(
                    f"CheckpointConfig({name}=...)",
                    expected=f"None or an integer of {least} or more",
                    found=repr(value),
                )
        checked_mode(self.checkpoint_score_order, "checkpoint_score_order")


@dataclass
class FailureConfig:
    """What happens when a trial fails.

    Args:
        max_failures: Begin it again so often, from its last checkpoint; -1 without end.
        fail_fast: True runs no further trials, "raise" raises its error.
    """

    max_failures: int = 0
    fail_fast: bool | str = False


class CLIReporter:
    """Takes the columns that Ray's table would show; here a run shows lines of its own.

    Args:
        metric_columns: Kept, not shown.
        parameter_columns: Kept, not shown.
        **settings: Kept, not used.
    """

    def __init__(
        self, *, metric_columns: Any = None, parameter_columns: Any = None, **settings: Any
    ) -> None:
        self.metric_columns, self.parameter_columns = metric_columns, parameter_columns
        self.settings = settings

    def add_metric_column(self, metric: str, representation: str | None = None) -> None:
        """Take one more column."""
        self.metric_columns = [*(self.metric_columns or ()), metric]


@dataclass
class RunConfig:
    """Where a run is kept, when its trials end, what is called.

    Args:
        name: Its folder; None makes a name of what is run and when.
        storage_path: The folder above; None is `~/ray_results`.
        storage_filesystem: Only None: local files.
        failure_config: What happens when a trial fails.
        checkpoint_config: When trials are saved.
        sync_config: Of no meaning: nothing is sent anywhere.
        verbose: 0 shows nothing, all else a line as a trial begins and ends.
        stop: When a trial has done enough: metrics by path, with what they have to reach; a
            `Stopper`, a list of them, or a function of trial id and result.
        callbacks: Objects of `Callback`; in Ray also of Ray's.
        progress_reporter: Not used, which is told.
        log_to_file: Not used, which is told.
        local_dir: The older name of `storage_path`.
    """

    name: str | None = None
    storage_path: str | os.PathLike[str] | None = None
    storage_filesystem: Any = None
    failure_config: FailureConfig | None = None
    checkpoint_config: CheckpointConfig | None = None
    sync_config: Any = None
    verbose: Any = None
    stop: Any = None
    callbacks: Sequence[Callback] | None = None
    progress_reporter: Any = None
    log_to_file: Any = False
    local_dir: str | os.PathLike[str] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.storage_filesystem is not None or "://" in str(self.storage_path or ""):
            raise ConfigError(
                "RunConfig(storage_path=...)",
                expected="a folder of this machine",
                hint="copy the results to where they belong afterwards.",
            )
        self.refuse_strangers(is_in_ray=True)
        for name in ("progress_reporter", "log_to_file"):
            if getattr(self, name):
                warnings.warn(
                    f"RunConfig({name}=...) is not used: trials run one by one in this process, "
                    "which tells how they do on stderr.",
                    UserWarning,
                    stacklevel=3,
                )

    def refuse_strangers(self, is_in_ray: bool) -> None:
        """Hold callbacks to what can be called.

        Args:
            is_in_ray: Whether those of Ray's can.

        Raises:
            ConfigError: One cannot.
        """
        for each in self.callbacks or ():
            if not isinstance(each, Callback) and not (is_in_ray and is_of_ray(each)):
                raise ConfigError(
                    f"RunConfig(callbacks=[{type(each).__name__}(...)])",
                    expected="objects of Callback",
                    hint="results are written as CSV, JSON and for TensorBoard without one.",
                )

    def folder(self, default_name: str) -> Path:
        """The folder of the run."""
        above = self.storage_path or self.local_dir or "~/ray_results"
        return Path(above).expanduser().absolute() / (self.name or default_name)


@dataclass
class TuneConfig:
    """Which trials there are, and what makes one the best.

    Args:
        mode: "max" or "min".
        metric: What is compared.
        search_alg: A `BasicVariantGenerator`, which may have a seed, or None; in Ray any of Ray's.
        scheduler: An `ASHAScheduler`, a `FIFOScheduler` or None; in Ray any of Ray's.
        num_samples: How often the grid is gone through, with new draws.
        max_concurrent_trials: Of no meaning: trials run one by one.
        time_budget_s: End all after so many seconds (or a timedelta).
        reuse_actors: Of no meaning.
        trial_name_creator: Gives the name of a trial.
        trial_dirname_creator: Gives the folder's name of a trial.
    """

    mode: str | None = None
    metric: str | None = None
    search_alg: Any = None
    scheduler: Any = None
    num_samples: int = 1
    max_concurrent_trials: int | None = None
    time_budget_s: Any = None
    reuse_actors: bool = False
    trial_name_creator: Any = None
    trial_dirname_creator: Any = None

    def __post_init__(self) -> None:
        checked_mode(self.mode, "mode")
        self.refuse_strangers(is_in_ray=True)

    def refuse_strangers(self, is_in_ray: bool) -> None:
        """Hold what searches and what ends trials to what is known.

        Args:
            is_in_ray: Whether that of Ray's is.

        Raises:
            ConfigError: One is not.
        """
        allowed: dict[str, tuple[type[Any], ...]] = {
            "search_alg": (BasicVariantGenerator,),
            "scheduler": (FIFOScheduler, ASHAScheduler),
        }
        for name, classes in allowed.items():
            value = getattr(self, name)
            if value is None or isinstance(value, classes) or (is_in_ray and is_of_ray(value)):
                continue
            shown = repr(value) if isinstance(value, str) else type(value).__name__
            raise ConfigError(
                f"TuneConfig({name}={shown}) is not supported here",
                expected=f"None or a {' or '.join(each.__name__ for each in classes)}",
                hint="leave it out, or run this where Ray is installed.",
            )


def is_of_ray(value: Any) -> bool:
    """Whether something is an object of real Ray's classes, or of their children."""
    return any(each.__module__.partition(".")[0] == "ray" for each in type(value).__mro__)
