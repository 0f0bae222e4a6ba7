"""All trials of a run, one after the other."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Sequence
from datetime import datetime
from numbers import Real
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...core.data.damage import at
from ...core.errors import ConfigError
from ...core.text.visible import visible
from ...core.vault.file_names import RUN_OF_TRIALS
from ...core.vault.files.reading import base_name, part_of
from ..config.algorithm_config import AlgorithmConfig
from ..config.saved_config import config_from
from ..config.search_space import is_open
from ..logging.flat_result import scalars
from ..logging.loggers import read_results
from ..logging.progress_line import progress_text
from .run_config import CheckpointConfig, FailureConfig, RunConfig, TuneConfig
from .saved_space import check_same, check_settings, space_from_data, space_to_data
from .saved_trials import (
    GoingOn,
    SavedTrials,
    chosen_config,
    chosen_to_data,
    config_to_data,
    read_end,
)
from .schedulers import ASHAScheduler
from .stopping import RESULT_KEYS, CombinedStopper, Stopper, metric_of, seconds_of, stopper_of
from .trainable import default_config, is_class_trainable, trainable_of
from .trial import Checkpoints, Trial, TuneError
from .trial_run import TrialRun
from .variants import BasicVariantGenerator, Variant


class TrialsRun:
    """Runs trials of one thing with settings of a space.

    Attributes:
        path: The run's folder.
        trials: The trials.
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
        self._name, self._trainable = trainable_of(trainable)
        self._tune_config, self._run_config = tune_config, run_config
        self._begin_from, self._going_on = begin_from, going_on
        self._saving = run_config.checkpoint_config or CheckpointConfig()
        self._now = datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
        self.trials: list[Trial] = []
        if not is_class_trainable(self._trainable):
            self._refuse_saving()
        tune_config.refuse_strangers(is_in_ray=False)
        run_config.refuse_strangers(is_in_ray=False)
        self._is_from_file = going_on is not None and space is None
        self._space = {} if space is None else space
        if going_on is None:
            self.path = run_config.folder(f"{self._name}_{self._now}")
        else:
            self.path = going_on.folder
            self._take_up(going_on)

    @property
    def _plain(self) -> Any:
        """The space as a dict."""
        space = self._space
        return space.to_dict() if isinstance(space, AlgorithmConfig) else space

    def go(self) -> None:
        """Run them all, or those that go on.

        Raises:
            Exception: What a trial failed with, where the run is to `fail_fast="raise"`.
        """
        settings, trials_config = self._run_config, self._tune_config
        self._stopper = self._what_ends_trials()
        if self._going_on is None:
            self._begin()
        else:
            self._go_back(self._going_on)
        failing = settings.failure_config or FailureConfig()
        self._call("setup", stop=settings.stop, num_samples=trials_config.num_samples)
        for trial in self.trials:
            if trial.status != "PENDING":
                continue
            if self._stopper.stop_all():
                break
            count = trial.result_count
            goes_on = f"goes on after {count} results" if count else "begins"
            self._tell(f"{trial} {goes_on}{_of_it(trial)}")
            run = TrialRun(
                trial,
                self._trainable,
                self._config_of(trial),
                self._stopper,
                self._call,
                self.path.name,
                self._begin_from,
            )
            run.go(0 if failing.fail_fast else failing.max_failures)
            self._tell(_end_of(trial))
            if trial.error is not None and failing.fail_fast:
                if failing.fail_fast == "raise":
                    raise trial.error
                break
        self._call("on_experiment_end")
        if settings.verbose != 0:
            Console(file=sys.stderr, highlight=False).print(
                trials_table(self.trials, trials_config.metric)
            )
        self._tell(f"results are in {self.path}")

    def _what_ends_trials(self) -> Stopper:
        trials_config = self._tune_config
        seconds_left = None
        if trials_config.time_budget_s is not None:
            spent = sum(scalars(each.last_result).get("time_total_s", 0.0) for each in self.trials)
            seconds_left = seconds_of(trials_config.time_budget_s) - spent
        stopper = stopper_of(self._run_config.stop, seconds_left)
        if not isinstance(trials_config.scheduler, ASHAScheduler):
            return stopper
        trials_config.scheduler.compare_by(trials_config.metric, trials_config.mode)
        return CombinedStopper(stopper, trials_config.scheduler)

    def _begin(self) -> None:
        """Make the trials, and note in the run's folder which they are."""
        search = self._tune_config.search_alg or BasicVariantGenerator()
        # All of them now: what a trial does to numpy's generator cannot reach the next one.
        variants = search.variants(self._plain, self._tune_config.num_samples)
        run_id = secrets.token_hex(3)[:5]
        self.trials = [self._trial(run_id, number, each) for number, each in enumerate(variants)]
        objects: dict[str, str] = {}
        saved = SavedTrials(
            trainable=self._name,
            is_in_ray=False,
            space=space_to_data(self._space),
            tune_config=config_to_data(self._tune_config, objects),
            run_config=config_to_data(self._run_config, objects),
            objects=objects,
            run_id=run_id,
            trials=[
                {
                    "folder": Path(trial.path).relative_to(self.path).as_posix(),
                    "name": trial.custom_trial_name,
                    "tag": trial.evaluated_params,
                    "chosen": chosen_to_data(self._plain, variant.chosen),
                }
                for trial, variant in zip(self.trials, variants, strict=True)
            ],
        )
        saved.write(self.path)

    def _take_up(self, going_on: GoingOn) -> None:
        """Take the trials as the run's folder has them; nothing is changed there yet.

        Raises:
            ConfigError: Another thing was run, or with another space.
        """
        saved = SavedTrials.read(self.path)
        saved.check_trainable(self._name, self.path)
        with at(RUN_OF_TRIALS, "space"):
            if self._is_from_file:
                self._space = space_from_data(saved.space, default_config(self._trainable))
            else:
                check_same(saved.space, self._space)
        for number, each in enumerate(saved.trials):
            with at(RUN_OF_TRIALS, "trials", number):
                config = chosen_config(self._plain, each["chosen"])
                trial = Trial(self._name, number, saved.run_id, config, str(each["tag"]))
                trial.custom_trial_name = None if each["name"] is None else str(each["name"])
                self._put(trial, _inside(self.path, str(each["folder"])))
            self.trials.append(trial)
            trial.read_folder()
            trial.status, error = read_end(Path(trial.path))
            if trial.status == "ERROR":
                trial.error = TuneError(f"{trial} has failed before", found=error)
            is_going_on = going_on.takes(trial.status)
            trial.status = "PENDING" if is_going_on else trial.status or "TERMINATED"

    def _go_back(self, going_on: GoingOn) -> None:
        """Bring what goes on back to its checkpoints, and let what ends trials see the rest."""
        for trial in self.trials:
            if trial.status == "PENDING":
                trial.go_back(to_the_beginning=trial.error is not None and going_on.restart_errored)
                trial.error = None
            for row in read_results(Path(trial.path)):
                self._stopper(trial.trial_id, row)

    def _trial(self, run_id: str, number: int, variant: Variant) -> Trial:
        trial = Trial(self._name, number, run_id, variant.config, variant.tag)
        naming = self._tune_config
        if naming.trial_name_creator is not None:
            trial.custom_trial_name = str(naming.trial_name_creator(trial))
        if naming.trial_dirname_creator is not None:
            name = str(naming.trial_dirname_creator(trial))
        else:
            name = f"{trial}_{trial.experiment_tag}"[:200] + f"_{self._now}"
        self._put(trial, name)
        return trial

    def _put(self, trial: Trial, name: str) -> None:
        """Give a trial its folder."""
        folder = self.path / name
        trial.path = str(folder)
        trial.checkpoints = Checkpoints(folder, self._saving)

    def _config_of(self, trial: Trial) -> Any:
        """What a trial's thing is made with: a config where a config was given."""
        config: Any = trial.config
        if isinstance(self._space, AlgorithmConfig):
            opened = {key for key, value in self._space.to_dict().items() if is_open(value)}
            config = self._space.with_values({key: trial.config[key] for key in opened})
        default = default_config(self._trainable)
        if self._is_from_file and default is not None:
            config = config_from(config, default)
            check_settings(config)
        return config

    def _call(self, hook: str, **info: Any) -> None:
        if hook not in ("setup",):
            info["trials"] = self.trials
        if "trial" in info:
            info["iteration"] = info["trial"].result_count
        for each in self._run_config.callbacks or ():
            getattr(each, hook)(**info)

    def _tell(self, line: str) -> None:
        if self._run_config.verbose != 0:
            shown = "\n".join(visible(each, len(each)) for each in line.splitlines())
            print(shown, file=sys.stderr, flush=True)

    def _refuse_saving(self) -> None:
        for name in ("checkpoint_frequency", "checkpoint_at_end"):
            if getattr(self._saving, name):
                raise ConfigError(
                    f"CheckpointConfig({name}=...) means nothing for a function",
                    hint="report(metrics, checkpoint=...) in the function.",
                )


def _inside(folder: Path, name: str) -> str:
    """A name that leads to a trial's folder in the run's.

    Raises:
        ValueError: It leads elsewhere.
        UnsafeCheckpointError: A link lies there.
    """
    if any(base_name(step) != step for step in name.split("/")):
        raise ValueError(f"{name!r} is no folder's name")
    part_of(folder, name)
    return name


def _of_it(trial: Trial) -> str:
    return f": {trial.evaluated_params}" if trial.evaluated_params else ""


def _end_of(trial: Trial) -> str:
    if trial.error is not None:
        what = f"{type(trial.error).__name__}: {trial.error}"
        return f"{trial} has failed, see {Path(trial.path) / 'error.txt'}\n  {what}"
    count = trial.last_result.get("training_iteration", 0)
    if "num_env_steps_sampled_lifetime" in trial.last_result:
        return f"{trial} has ended: {progress_text(trial.last_result)}"
    return f"{trial} has ended after {count} results"


_RETURN: Final = RESULT_KEYS["episode_reward_mean"]
_COLUMNS: Final = (
    ("iterations", "training_iteration", "{:,.0f}"),
    ("steps", RESULT_KEYS["timesteps_total"], "{:,.0f}"),
    ("seconds", "time_total_s", "{:,.1f}"),
)


def trials_table(trials: Sequence[Trial], metric: str | None = None) -> Table:
    """Give the table.

    They are compared by the mean return if no metric is named.

    Example:
        >>> trial = Trial("PPO", 0, "run", {"lr": 0.1}, "lr=0.1")
        >>> [column.header for column in trials_table([trial], "score").columns]
        ['trial', 'settings', 'status', 'score']
    """
    columns = [*_COLUMNS, ((metric or _RETURN).rpartition("/")[2], metric or _RETURN, "{:,.6g}")]
    columns = [
        each
        for each in columns
        if each[1] == metric
        or any(metric_of(one.last_result, each[1]) is not None for one in trials)
    ]
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("trial", "settings", "status"):
        table.add_column(name)
    for name, *_ in columns:
        table.add_column(visible(name, 40), justify="right")
    for number, trial in enumerate(trials):
        values = [(metric_of(trial.last_result, path), form) for _, path, form in columns]
        table.add_row(
            str(number),
            Text(visible(str(trial.evaluated_params), 200)),
            trial.status,
            *(_cell(value, form) for value, form in values),
        )
    return table


def _cell(value: Any, form: str) -> str:
    return form.format(value) if isinstance(value, Real) else ""
