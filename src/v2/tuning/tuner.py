"""The two front doors: `Tuner(...).fit()`, and `run(...)` as older scripts have it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ...core.errors import ConfigError
from ...core.vault.file_names import RAY_S_RUN
from ..distributed.trainables import has_tune
from .result_grid import ResultGrid
from .run_config import CheckpointConfig, FailureConfig, RunConfig, TuneConfig
from .running import TrialsRun
from .saved_trials import GoingOn, SavedTrials, is_run
from .trial import TuneError

if TYPE_CHECKING:
    from ..config.algorithm_config import AlgorithmConfig
    from .ray_run import RayRun


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
        self._restored: TrialsRun | RayRun | None = None
        self._results: ResultGrid | None = None

    def fit(self) -> ResultGrid:
        """Run all trials; of a run that was restored, those that go on.

        Returns:
            Their results; what a trial failed with is its result's `error`.
        """
        run = self._restored or _run_of(self._in_ray)(
            self._trainable, self._space, self._tune_config, self._run_config
        )
        run.go()
        self._results = self._results_of(run)
        return self._results

    def get_results(self) -> ResultGrid:
        """Give what `fit()` gave; of a run that was restored, what there is so far.

        Raises:
            ConfigError: There is nothing yet.
        """
        if self._results is None:
            raise ConfigError("there are no results yet", hint="call fit().")
        return self._results

    @classmethod
    def can_restore(cls, path: str | os.PathLike[str], storage_filesystem: Any = None) -> bool:
        """Whether a run lies in a folder that `restore` takes.

        Args:
            path: The run's folder.
            storage_filesystem: Only None: local files.
        """
        return storage_filesystem is None and is_run(Path(path).expanduser())

    @classmethod
    def restore(
        cls,
        path: str | os.PathLike[str],
        trainable: Any,
        resume_unfinished: bool = True,
        resume_errored: bool = False,
        restart_errored: bool = False,
        param_space: Any = None,
        storage_filesystem: Any = None,
        *,
        tune_config: TuneConfig | None = None,
        run_config: RunConfig | None = None,
        in_ray: bool | None = None,
    ) -> Tuner:
        """Take up a run that was cut off; `fit()` then lets it go on in its folder.

        Trials that were cut off go on from their last checkpoints, others of which nothing ran
        begin. What has ended is not run again, and nothing that the folder names is imported.

        Args:
            path: The run's folder, wherever it lies now.
            trainable: What was run.
            resume_unfinished: Whether trials that were cut off go on; else they count as ended.
            resume_errored: Whether trials that failed go on from their last checkpoints.
            restart_errored: Whether they run again from the beginning instead.
            param_space: The space again. The folder has it where it is plain data; classes and
                functions have to be given. It is held to what the folder says.
            storage_filesystem: Only None: local files.
            tune_config: As it was; needed where it has objects that are no data. Ray keeps its own.
            run_config: Likewise: functions that end trials, callbacks.
            in_ray: True lets real Ray Tune take up a run of its own. Ray reads its folder by
                pickle, which runs what the folder says: only for folders that you trust.

        Raises:
            CheckpointNotFoundError: No run lies there.
            CorruptCheckpointError: What lies there is damaged.
            ConfigError: It is a run of another trainable or space, or says less than is needed.
        """
        folder = Path(path).expanduser().absolute()
        if storage_filesystem is not None:
            raise ConfigError("Tuner.restore(storage_filesystem=...)", expected="None: local files")
        going_on = GoingOn(folder, resume_unfinished, resume_errored, restart_errored)
        is_of_ray = _check_trust(folder, in_ray)
        if not is_of_ray:
            saved = SavedTrials.read(folder)
            tune_config = tune_config or saved.config(TuneConfig, "tune_config")
            run_config = run_config or saved.config(RunConfig, "run_config")
        tuner = cls(
            trainable,
            param_space=param_space,
            tune_config=tune_config,
            run_config=run_config,
            in_ray=is_of_ray,
        )
        tuner._restored = _run_of(is_of_ray)(
            trainable, param_space, tuner._tune_config, tuner._run_config, going_on=going_on
        )
        tuner._results = tuner._results_of(tuner._restored)
        return tuner

    def _results_of(self, run: TrialsRun | RayRun) -> ResultGrid:
        which = self._tune_config
        return ResultGrid(run.trials, str(run.path), which.metric, which.mode)


_SUFFIXES: Final[Mapping[str, tuple[bool, bool, bool]]] = {
    "": (True, False, False),
    "ERRORED": (True, True, False),
    "RESTART_ERRORED": (True, False, True),
    "ERRORED_ONLY": (False, True, False),
    "RESTART_ERRORED_ONLY": (False, False, True),
}
"""What `run(resume="AUTO+...")` says of trials, as `GoingOn` has it."""


def _going_on(resume: bool | str | None, where: RunConfig) -> GoingOn | None:
    """What `run(resume=...)` asks for; None for a new run.

    Raises:
        ConfigError: It is none of the words, or there is no name to look for.
    """
    if not resume:
        return None
    word, _, suffix = ("" if resume is True else str(resume)).upper().partition("+")
    if word not in ("", "AUTO") or suffix not in _SUFFIXES:
        raise ConfigError(
            f"run(resume={resume!r})",
            expected='True or "AUTO", and behind it one of '
            + ", ".join(f'"+{each}"' for each in _SUFFIXES if each),
        )
    if where.name is None:
        raise ConfigError(f"run(resume={resume!r}) needs name=..., the run's folder")
    folder = where.folder("")
    is_new = word == "AUTO" and not is_run(folder)
    return None if is_new else GoingOn(folder, *_SUFFIXES[suffix])


def _check_trust(folder: Path, in_ray: bool | None) -> bool:
    """Whether a run is Ray Tune's; that it may be read has to be said.

    Raises:
        ConfigError: It is, and nobody has said so.
    """
    is_of_ray = (folder / RAY_S_RUN).is_file()
    if is_of_ray and not in_ray:
        raise ConfigError(
            f"the run in {folder} is Ray Tune's, which reads its folder by pickle",
            hint="say in_ray=True where Ray is installed, if you trust the folder: a pickle runs "
            "what it says.",
        )
    return is_of_ray


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
_NOT_USED: Final = ("export_formats", "resume_config")
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
    resume: bool | str | None = None,
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
        resume: True lets the run in `storage_path/name` go on, as `Tuner.restore` does; "AUTO"
            begins one if there is none. "+ERRORED" behind it lets trials that failed go on as well,
            "+RESTART_ERRORED" lets them begin again; with "_ONLY" behind that, nothing but them.
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
    going_on = _going_on(resume, where)
    if going_on is not None:
        in_ray = _check_trust(going_on.folder, in_ray)
    trials = _run_of(in_ray)(
        run_or_experiment, config, which, where, begin_from=restore, going_on=going_on
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
    return ResultGrid(trials.trials, str(trials.path), which.metric, which.mode)
