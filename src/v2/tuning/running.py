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

from ...core.errors import ConfigError
from ...core.text.visible import visible
from ..config.algorithm_config import AlgorithmConfig
from ..config.search_space import is_open
from ..logging.progress_line import progress_text
from .run_config import CheckpointConfig, FailureConfig, RunConfig, TuneConfig
from .schedulers import ASHAScheduler
from .stopping import RESULT_KEYS, CombinedStopper, metric_of, stopper_of
from .trainables import is_class_trainable, trainable_of
from .trial import Checkpoints, Trial
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
    ) -> None:
        self._name, self._trainable = trainable_of(trainable)
        self._space = {} if space is None else space
        self._tune_config, self._run_config = tune_config, run_config
        self._begin_from = begin_from
        self._saving = run_config.checkpoint_config or CheckpointConfig()
        self._now = datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
        self.path = run_config.folder(f"{self._name}_{self._now}")
        self.trials: list[Trial] = []
        if not is_class_trainable(self._trainable):
            self._refuse_saving()
        tune_config.refuse_strangers(is_in_ray=False)
        run_config.refuse_strangers(is_in_ray=False)

    def go(self) -> None:
        """Run them all.

        Raises:
            Exception: What a trial failed with, where the run is to `fail_fast="raise"`.
        """
        settings, trials_config = self._run_config, self._tune_config
        stopper = stopper_of(settings.stop, trials_config.time_budget_s)
        if isinstance(trials_config.scheduler, ASHAScheduler):
            trials_config.scheduler.compare_by(trials_config.metric, trials_config.mode)
            stopper = CombinedStopper(stopper, trials_config.scheduler)
        search = trials_config.search_alg or BasicVariantGenerator()
        plain = self._space.to_dict() if isinstance(self._space, AlgorithmConfig) else self._space
        # All of them now: what a trial does to numpy's generator cannot reach the next one.
        variants = search.variants(plain, trials_config.num_samples)
        run_id = secrets.token_hex(3)[:5]
        self.trials = [self._trial(run_id, number, each) for number, each in enumerate(variants)]
        failing = settings.failure_config or FailureConfig()
        self._call("setup", stop=settings.stop, num_samples=trials_config.num_samples)
        for trial in self.trials:
            if stopper.stop_all():
                break
            self._tell(f"{trial} begins{_of_it(trial)}")
            run = TrialRun(
                trial,
                self._trainable,
                self._config_of(trial),
                stopper,
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

    def _trial(self, run_id: str, number: int, variant: Variant) -> Trial:
        trial = Trial(self._name, number, run_id, variant.config, variant.tag)
        given = self._tune_config
        if given.trial_name_creator is not None:
            trial.custom_trial_name = str(given.trial_name_creator(trial))
        if given.trial_dirname_creator is not None:
            name = str(given.trial_dirname_creator(trial))
        else:
            name = f"{trial}_{trial.experiment_tag}"[:200] + f"_{self._now}"
        folder = self.path / name
        trial.path = str(folder)
        trial.checkpoints = Checkpoints(folder, self._saving)
        return trial

    def _config_of(self, trial: Trial) -> Any:
        """What a trial's thing is made with: a config where a config was given."""
        if not isinstance(self._space, AlgorithmConfig):
            return trial.config
        opened = {key for key, value in self._space.to_dict().items() if is_open(value)}
        return self._space.with_values({key: trial.config[key] for key in opened})

    def _call(self, hook: str, **given: Any) -> None:
        if hook not in ("setup",):
            given["trials"] = self.trials
        if "trial" in given:
            given["iteration"] = len(given["trial"].history)
        for each in self._run_config.callbacks or ():
            getattr(each, hook)(**given)

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
