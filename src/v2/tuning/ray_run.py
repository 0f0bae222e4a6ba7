"""All trials of a run side by side, in real Ray Tune."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any, Final

from ...core.data.damage import at
from ...core.errors import CorruptCheckpointError, LimitExceededError
from ...core.vault.decode.load_limits import limits_in_force
from ...core.vault.file_names import RUN_OF_TRIALS
from ...core.vault.files.reading import read_json
from ..algorithms.algorithm import Algorithm
from ..algorithms.saved_run import SavedFolder
from ..config.algorithm_config import AlgorithmConfig
from ..config.search_space import Domain, is_open
from ..distributed.running_ray import running_ray
from ..distributed.trainables import algorithm_trainable, ray_trainable, real_tune
from .reporting import TuneContext, running
from .run_config import Callback, CheckpointConfig, FailureConfig, RunConfig, TuneConfig
from .saved_space import check_same, space_from_data, space_to_data
from .saved_trials import GoingOn, SavedTrials
from .schedulers import ASHAScheduler, FIFOScheduler
from .stopping import Stopper, stopper_of
from .trainable import can_save, default_config, is_class_trainable, trainable_of
from .trial import Checkpoints, Trial
from .variants import BasicVariantGenerator

_HOOKS: Final = tuple(name for name in vars(Callback) if not name.startswith("_"))


class RayRun:
    """Runs trials of one thing with settings of a space, as `TrialsRun` does, in Ray's processes.

    Attributes:
        path: The run's folder, once it has begun.
        trials: The trials, once they are over.
    """

    def __init__(
        self,
        trainable: Any,
        space: Any,
        tune_config: TuneConfig,
        run_config: RunConfig,
        begin_from: Any = None,
        going_on: GoingOn | None = None,
    ) -> None:
        running_ray("trials side by side")
        self._tune = tune = real_tune()
        self._tune_config, self._run_config = tune_config, run_config
        self._going_on = going_on
        self._shared: dict[str, Any] = {}
        self.trials: list[Trial] = []
        is_of_tune = isinstance(trainable, type) and issubclass(trainable, tune.Trainable)
        name, runnable = (trainable.__name__, trainable) if is_of_tune else trainable_of(trainable)
        self.path = Path()
        if going_on is not None:
            self.path = going_on.folder
            space = self._space_again(name, runnable, space)
        space = {} if space is None else space
        self._saved = SavedTrials(name, True, {}, {}, {}, {}, "", [])
        if begin_from is not None:  # A trial's process is in another folder.
            begin_from = str(Path(begin_from).absolute())
        self._trainable = runnable
        self._can_save = is_of_tune
        if not is_of_tune:
            self._saved.space = space_to_data(space)
            self._trainable, space = self._in_ray(name, runnable, space, begin_from)
        self._space = in_ray_words(tune, space)

    def _space_again(self, name: str, runnable: Any, space: Any) -> Any:
        """The space of a run that goes on; one that is given is held to it.

        Raises:
            ConfigError: The run is of another trainable or space.
        """
        if not (self.path / RUN_OF_TRIALS).is_file():  # Ray's alone.
            return space
        saved = SavedTrials.read(self.path)
        saved.check_trainable(name, self.path)
        with at(RUN_OF_TRIALS, "space"):
            if space is None and saved.space:
                return space_from_data(saved.space, default_config(runnable))
            if saved.space:
                check_same(saved.space, space)
        return space

    def _in_ray(self, name: str, runnable: Any, space: Any, begin_from: Any) -> tuple[Any, Any]:
        """Something as Ray Tune runs it, and what is open of its settings."""
        if not is_class_trainable(runnable):
            return _reporting(self._tune, name, runnable), space
        self._can_save = can_save(runnable)
        if not issubclass(runnable, Algorithm):
            return ray_trainable(name, _maker(runnable, begin_from)), space
        if not isinstance(space, AlgorithmConfig):
            return algorithm_trainable(runnable, runnable.get_default_config(), begin_from), space
        settings = space.to_dict()
        opened = {key: value for key, value in settings.items() if is_open(value)}
        self._shared = settings
        as_trainable = algorithm_trainable(runnable, space, begin_from, AlgorithmConfig.with_values)
        return as_trainable, opened

    def go(self) -> None:
        """Run them all.

        Raises:
            Exception: What a trial failed with, where the run is to `fail_fast="raise"`.
        """
        tuner = self._new() if self._going_on is None else self._again(self._going_on)
        grid = tuner.fit()
        self.path = Path(grid.experiment_path)
        of_path = {result.path: result for result in grid}
        trials = self._tune.ExperimentAnalysis(grid.experiment_path).trials
        # One that was begun again stands last with Ray; its tag tells which one it is.
        in_order = sorted(trials, key=lambda each: int(each.experiment_tag.partition("_")[0]))
        self.trials = [
            self._trial(number, each, of_path[each.path]) for number, each in enumerate(in_order)
        ]

    def _again(self, going_on: GoingOn) -> Any:
        """Ray's own tuner of a run that goes on.

        Raises:
            CorruptCheckpointError: What Ray wrote of its trials is damaged; it would begin anew.
        """
        states = sorted(going_on.folder.glob("experiment_state-*.json"))
        try:
            with suppress(LimitExceededError):
                read_json(states[-1], limits_in_force())
        except (IndexError, CorruptCheckpointError) as error:
            raise CorruptCheckpointError(
                f"the run in {going_on.folder} cannot go on: Ray would begin all trials anew",
                expected="a whole experiment_state-*.json, which Ray wrote",
                found=str(error) if states else "none",
                hint="begin a new run; a trial of this one goes on by itself: "
                "Algorithm.from_checkpoint(its newest checkpoint).",
            ) from None
        return self._tune.Tuner.restore(
            str(going_on.folder),
            self._trainable,
            resume_unfinished=going_on.resume_unfinished,
            resume_errored=going_on.resume_errored and not going_on.restart_errored,
            restart_errored=going_on.restart_errored,
            param_space=self._space or None,
        )

    def _new(self) -> Any:
        """Ray's own tuner of a new run."""
        tune, trials_config, settings = self._tune, self._tune_config, self._run_config
        callbacks = [
            _hooked(tune, each) for each in (_Note(self._saved), *(settings.callbacks or ()))
        ]
        above = settings.storage_path or settings.local_dir
        verbosity = {} if settings.verbose is None else {"verbose": settings.verbose}
        return tune.Tuner(
            self._trainable,
            param_space=self._space,
            tune_config=tune.TuneConfig(
                **{
                    **vars(trials_config),
                    "search_alg": _search_of(tune, trials_config.search_alg),
                    "scheduler": _scheduler_of(tune, trials_config.scheduler),
                }
            ),
            run_config=tune.RunConfig(
                name=settings.name,
                storage_path=None if above is None else str(Path(above).expanduser().absolute()),
                failure_config=tune.FailureConfig(
                    **asdict(settings.failure_config or FailureConfig())
                ),
                checkpoint_config=tune.CheckpointConfig(**self._saving()),
                stop=None if settings.stop is None else _stopper(tune, stopper_of(settings.stop)),
                callbacks=callbacks,
                **verbosity,
            ),
        )

    def _saving(self) -> dict[str, Any]:
        saving = asdict(self._run_config.checkpoint_config or CheckpointConfig())
        if saving["checkpoint_at_end"] is None:
            saving["checkpoint_at_end"] = self._can_save
        return saving

    def _trial(self, number: int, of_ray: Any, result: Any) -> Trial:
        """A trial of Ray's as one of ours."""
        config = {**self._shared, **of_ray.config}
        trial = Trial(of_ray.trainable_name, number, "", config, "")
        trial.trial_id, trial.custom_trial_name = of_ray.trial_id, str(of_ray)
        trial.experiment_tag, trial.evaluated_params = (
            of_ray.experiment_tag,
            of_ray.evaluated_params,
        )
        trial.status, trial.error, trial.path = of_ray.status, result.error, result.path
        if result.metrics:
            trial.last_result = {**result.metrics, "config": config}
        table = result.metrics_dataframe
        rows = [] if table is None else table.select_dtypes("number").to_dict("records")
        trial.history = each_iteration_once(
            [{key: v for key, v in row.items() if isfinite(v)} for row in rows]
        )
        trial.checkpoints = Checkpoints(Path(result.path), CheckpointConfig())
        trial.checkpoints.hold(
            None if result.checkpoint is None else SavedFolder(result.checkpoint.path),
            [(SavedFolder(saved.path), row) for saved, row in result.best_checkpoints or ()],
        )
        return trial


def each_iteration_once(rows: Iterable[dict[str, float]]) -> list[dict[str, float]]:
    """Results without those that came again: Ray keeps both where a trial goes on after a kill.

    Example:
        >>> before, again = {"training_iteration": 1, "x": 0.5}, {"training_iteration": 1, "x": 0.5}
        >>> len(each_iteration_once([before, again, {"training_iteration": 2, "x": 1.0}]))
        2
    """
    numbered = enumerate(rows, 1)
    return list({row.get("training_iteration", number): row for number, row in numbered}.values())


def in_ray_words(tune: Any, value: Any) -> Any:
    """Settings with Ray's distributions in place of ours."""
    if isinstance(value, Domain):
        return getattr(tune, value.name)(*value.arguments)
    if type(value) is dict:
        return {key: in_ray_words(tune, part) for key, part in value.items()}
    return [in_ray_words(tune, part) for part in value] if type(value) is list else value


class _Note(Callback):
    """Leaves beside what Ray keeps of a run what its settings were, to be held to."""

    def __init__(self, saved: SavedTrials) -> None:
        self._saved = saved
        self._is_written = False

    def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        if not self._is_written:
            self._saved.write(Path(trial.path).parent)
            self._is_written = True


def _hooked(tune: Any, callback: Any) -> Any:
    """A callback that Ray calls."""
    if not isinstance(callback, Callback):
        return callback
    of_ray = tune.Callback()
    for hook in _HOOKS:
        setattr(of_ray, hook, getattr(callback, hook))
    return of_ray


def _stopper(tune: Any, stopper: Stopper) -> Any:
    """A stopper that Ray asks."""

    class InRay(tune.Stopper):  # type: ignore[misc]  # Ray has no types where it is not installed
        def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
            return stopper(trial_id, result)

        def stop_all(self) -> bool:
            return stopper.stop_all()

    return InRay()


def _search_of(tune: Any, search: Any) -> Any:
    if not isinstance(search, BasicVariantGenerator):
        return search
    return tune.search.BasicVariantGenerator(random_state=search.random_state)


def _scheduler_of(tune: Any, scheduler: Any) -> Any:
    if isinstance(scheduler, FIFOScheduler):
        return None
    if not isinstance(scheduler, ASHAScheduler):
        return scheduler
    return tune.schedulers.ASHAScheduler(
        metric=scheduler.metric, mode=scheduler.mode, **scheduler.settings
    )


def _maker(trainable: Any, begin_from: Any) -> Callable[[Mapping[str, Any], str], Any]:
    """What makes a `Trainable` in a trial's process, where it is told of its trial."""

    def make(values: Mapping[str, Any], folder: str) -> Any:
        trial = Trial(trainable.__name__, 0, "", dict(values), "")
        trial.path = folder
        with running(TuneContext(trial, "", lambda metrics, checkpoint: None)):
            built = trainable(config=dict(values))
        if begin_from is not None:
            built.restore(begin_from)
        return built

    return make


def _reporting(tune: Any, name: str, function: Callable[[dict[str, Any]], Any]) -> Any:
    """A function whose reports, by our `report`, are Ray's."""

    def in_ray(values: dict[str, Any]) -> Any:
        of_ray = tune.get_context()
        trial = Trial(name, 0, "", values, "")
        trial.trial_id = of_ray.get_trial_id()
        trial.custom_trial_name, trial.path = of_ray.get_trial_name(), of_ray.get_trial_dir()
        checkpoint = tune.get_checkpoint()
        trial.checkpoints.latest = None if checkpoint is None else SavedFolder(checkpoint.path)

        def take(metrics: Mapping[str, Any], folder: SavedFolder | None) -> None:
            tune.report(
                dict(metrics), checkpoint=None if folder is None else tune.Checkpoint(folder.path)
            )

        with running(TuneContext(trial, of_ray.get_experiment_name(), take)):
            return function(values)

    in_ray.__name__ = in_ray.__qualname__ = name
    return in_ray
