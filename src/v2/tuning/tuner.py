"""The two front doors: `Tuner(...).fit()`, and `run(...)` as older scripts have it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, NoReturn

from ...core.errors import ConfigError, RlconnectError
from ..distributed.trainables import has_tune
from .result_grid import ResultGrid
from .run_config import CheckpointConfig, FailureConfig, RunConfig, TuneConfig
from .running import TrialsRun

if TYPE_CHECKING:
    from ..config.algorithm_config import AlgorithmConfig
    from .ray_run import RayRun


class TuneError(RlconnectError, RuntimeError):
    """Trials have failed. `trials` says which."""


class Tuner:
    """Runs trials: side by side in Ray Tune where Ray is installed, else one after the other here.

    Args:
        trainable: What to run: the name or class of an algorithm, a `Trainable`, or a function of
            settings that calls `report`.
        param_space: The settings, a config or a dict; `grid_search`, `choice`, `uniform` and so
            on stand for what is tried or drawn.
        tune_config: How many trials there are, and which one is best.
        run_config: Where they are kept, when they end, when they are saved.
        in_ray: Whether they run in Ray Tune; None asks whether it is installed.

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
        ...     in_ray=False,
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
        in_ray: bool | None = None,
    ) -> None:
        self._trainable, self._space, self._in_ray = trainable, param_space, in_ray
        self._tune_config = tune_config or TuneConfig()
        self._run_config = run_config or RunConfig()
        self._results: ResultGrid | None = None

    def fit(self) -> ResultGrid:
        """Run all trials.

        Returns:
            Their results; what a trial failed with is its result's `error`.
        """
        given = self._tune_config
        run = _run_of(self._in_ray)(self._trainable, self._space, given, self._run_config)
        run.go()
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


def _run_of(in_ray: bool | None) -> type[TrialsRun] | type[RayRun]:
    """What runs trials."""
    if not (has_tune() if in_ray is None else in_ray):
        return TrialsRun
    from .ray_run import RayRun

    return RayRun


_SAVING: Final = {
    "keep_checkpoints_num": "num_to_keep",
    "checkpoint_score_attr": "checkpoint_score_attribute",
    "checkpoint_freq": "checkpoint_frequency",
    "checkpoint_at_end": "checkpoint_at_end",
}
"""Settings of `run` that make a `CheckpointConfig`, and what that calls them."""
_NOT_USED: Final = ("export_formats", "resume", "resume_config")
_OF_NO_MEANING: Final = ("resources_per_trial", "reuse_actors", "max_concurrent_trials")


def run(
    run_or_experiment: Any,
    *,
    config: Mapping[str, Any] | AlgorithmConfig | None = None,
    restore: Any = None,
    checkpoint_config: CheckpointConfig | None = None,
    max_failures: int = 0,
    fail_fast: bool | str = False,
    raise_on_failed_trial: bool = True,
    in_ray: bool | None = None,
    **settings: Any,
) -> ResultGrid:
    """Run trials as `Tuner` does.

    Args:
        run_or_experiment: What to run; see `Tuner`.
        config: The settings, a dict or a config.
        restore: A checkpoint that trials begin from.
        checkpoint_config: When trials are saved; without it `keep_checkpoints_num`,
            `checkpoint_score_attr` ("min-" before it keeps the lowest), `checkpoint_freq` and
            `checkpoint_at_end` say it.
        max_failures: How often a trial is begun again.
        fail_fast: True runs no further trials after a failure, "raise" raises its error.
        raise_on_failed_trial: Whether failures are raised at the end.
        in_ray: See `Tuner`.
        **settings: Those of `RunConfig` (`name`, `stop`, `storage_path`, `verbose`, `callbacks`,
            ...) and of `TuneConfig` (`metric`, `mode`, `num_samples`, `time_budget_s`, ...).

    Raises:
        TuneError: Trials have failed.
        TypeError: There is no such setting.
    """
    for name in _NOT_USED:
        if settings.pop(name, None):
            warnings.warn(f"run({name}=...) is not used here.", UserWarning, stacklevel=2)
    for name in _OF_NO_MEANING:
        settings.pop(name, None)
    saving = {own: settings.pop(name) for name, own in _SAVING.items() if name in settings}
    attribute = saving.get("checkpoint_score_attribute") or ""
    if attribute.startswith("min-"):
        saving.update(checkpoint_score_attribute=attribute[4:], checkpoint_score_order="min")
    tuned = {each.name for each in fields(TuneConfig)} & settings.keys()
    which = TuneConfig(**{name: settings.pop(name) for name in tuned})
    where = RunConfig(
        failure_config=FailureConfig(max_failures, fail_fast),
        checkpoint_config=checkpoint_config
        or CheckpointConfig(**{"checkpoint_at_end": False, **saving}),
        **settings,
    )
    trials = _run_of(in_ray)(run_or_experiment, config, which, where, begin_from=restore)
    trials.go()
    failed = [trial for trial in trials.trials if trial.error is not None]
    if failed and raise_on_failed_trial:
        raise TuneError(
            "Trials did not complete",
            found=f"{', '.join(map(str, failed))}, the first with {failed[0].error!r}",
            hint="their folders have error.txt; raise_on_failed_trial=False gives the others.",
            trials=failed,
        ) from failed[0].error
    return ResultGrid(trials.trials, str(trials.path), which.metric, which.mode)
