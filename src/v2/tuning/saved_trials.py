"""What a run's folder keeps of its trials, so that the run can go on after whatever has cut it off.

    RUN/tuner.json           what was run, with which settings, and which trials there are
    RUN/TRIAL/trial.json     how a trial has ended, once it has
    RUN/TRIAL/result.json    a line for each result; it names the checkpoint that came after it
    RUN/TRIAL/checkpoint_*   checkpoints, each written as a whole

All of it is data: what it names is neither imported nor called.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from typing_extensions import Self

from ...core.data.damage import at
from ...core.data.tagged import damaged
from ...core.errors import CheckpointError, CheckpointNotFoundError, ConfigError
from ...core.vault.decode.load_limits import limits_in_force
from ...core.vault.file_names import RAY_S_RUN, RUN_OF_TRIALS, TRIAL_END
from ...core.vault.files.json_text import format_json
from ...core.vault.files.reading import part_of, read_json
from ...core.vault.own.atomic import replaced_file
from ...core.vault.own.document import encode
from ...core.vault.own.document_decoder import decode
from ...core.vault.own.write_errors import refusals
from ..config.search_space import GRID, Domain
from .run_config import CheckpointConfig, FailureConfig
from .saved_space import is_plain
from .schedulers import ASHAScheduler
from .trial import Trial
from .variants import Path as Place
from .variants import open_places, with_chosen

_IN_NAMES: Final = ("search_alg", "trial_name_creator", "trial_dirname_creator")
"""Settings that have done all they do once there are trials."""
_OF_THE_FOLDER: Final = ("name", "storage_path", "local_dir", "storage_filesystem", "sync_config")


class GoingOn(NamedTuple):
    """A run that goes on in its folder, and which of its trials do.

    Attributes:
        folder: The folder.
        resume_unfinished: Whether those that were cut off go on.
        resume_errored: Whether those that have failed go on from their last checkpoints.
        restart_errored: Whether they go on from the beginning, which goes before.
    """

    folder: Path
    resume_unfinished: bool = True
    resume_errored: bool = False
    restart_errored: bool = False

    def takes(self, status: str) -> bool:
        """Whether a trial that has ended so goes on; "" is one that was cut off."""
        if status == "ERROR":
            return self.resume_errored or self.restart_errored
        return self.resume_unfinished and status != "TERMINATED"


@dataclass
class SavedTrials:
    """A run as its folder has it.

    Attributes:
        trainable: The name of what was run.
        is_in_ray: Whether Ray Tune ran it, which then keeps its trials itself.
        space: The space, as `space_to_data` gives it.
        tune_config: The plain settings of its `TuneConfig`.
        run_config: Those of its `RunConfig`.
        objects: The settings of both that are no data.
        run_id: What ids of trials begin with.
        trials: Of each trial its folder's name, its own name, its tag and what was chosen for it.
    """

    trainable: str
    is_in_ray: bool
    space: dict[str, Any]
    tune_config: dict[str, Any]
    run_config: dict[str, Any]
    objects: dict[str, str]
    run_id: str
    trials: list[dict[str, Any]]

    @classmethod
    @at()
    def read(cls, folder: Path) -> Self:
        """Read what a run's folder has.

        Raises:
            CheckpointNotFoundError: It is no folder of a run.
            CorruptCheckpointError: It is damaged.
        """
        file = part_of(folder, RUN_OF_TRIALS)
        if not file.is_file():
            raise CheckpointNotFoundError(
                f"no run of a Tuner lies at {folder}",
                expected=f"the folder of a run, with {RUN_OF_TRIALS}",
                found=_what_is_at(folder),
                hint="name the folder itself: results.experiment_path, or storage_path/name.",
            )

        def refuse(reference: Any) -> Any:
            raise damaged(RUN_OF_TRIALS, (), "it refers to another file")

        data = decode(read_json(file, limits_in_force()), RUN_OF_TRIALS, find=refuse)
        with at(RUN_OF_TRIALS):
            saved = cls(**{each.name: data[each.name] for each in fields(cls)})
            for name, value in vars(saved).items():
                if type(value).__name__ != cls.__annotations__[name].partition("[")[0]:
                    raise TypeError(f"{name} is a {type(value).__name__}")
        return saved

    def check_trainable(self, name: str, folder: Path) -> None:
        """Hold what is to be run to what was.

        Raises:
            ConfigError: It has another name.
        """
        if name != self.trainable:
            raise ConfigError(
                f"the run in {folder} is of another trainable",
                expected=self.trainable,
                found=name,
                hint="restore with the trainable that the run began with.",
            )

    def write(self, folder: Path) -> None:
        """Write it."""
        with refusals(folder):
            folder.mkdir(parents=True, exist_ok=True)
            _write(folder / RUN_OF_TRIALS, format_json(encode(vars(self))))

    def config(self, kind: type[Any], argument: str) -> Any:
        """The `TuneConfig` or `RunConfig` of the run.

        Raises:
            ConfigError: A part of it is no data.
        """
        missing = [
            f"{kind.__name__}({setting})"
            for name, setting in self.objects.items()
            if name.startswith(kind.__name__)
        ]
        if missing:
            raise ConfigError(
                "the run's folder does not hold all that was said about it",
                found=", ".join(missing),
                hint=f"Tuner.restore(path, trainable, {argument}=...), as it was given before.",
            )
        settings = {"tune_config": self.tune_config, "run_config": self.run_config}[argument]
        with at(RUN_OF_TRIALS):
            return kind(
                **{
                    name: _NESTED[name](**value) if name in _NESTED and value is not None else value
                    for name, value in settings.items()
                }
            )


_NESTED: Final[Mapping[str, Callable[..., Any]]] = {
    "checkpoint_config": CheckpointConfig,
    "failure_config": FailureConfig,
    "scheduler": ASHAScheduler,
}


def config_to_data(config: Any, objects: dict[str, str]) -> dict[str, Any]:
    """What was said about a run, as data.

    Args:
        config: A `TuneConfig` or `RunConfig`.
        objects: Filled with what is no data.
    """
    settings: dict[str, Any] = {}
    defaults = {each.name: each.default for each in fields(config)}
    for name, value in vars(config).items():
        if name in (*_IN_NAMES, *_OF_THE_FOLDER) or value == defaults[name]:
            continue
        if isinstance(value, (CheckpointConfig, FailureConfig)):
            value = asdict(value)
        elif isinstance(value, timedelta):
            value = value.total_seconds()
        elif isinstance(value, ASHAScheduler):
            value = {"metric": value.metric, "mode": value.mode, **value.settings}
        if is_plain(value):
            settings[name] = value
        else:
            shown = getattr(value, "__name__", f"{type(value).__name__}(...)")
            objects[f"{type(config).__name__}.{name}"] = f"{name}={shown}"
    return settings


def chosen_to_data(space: Mapping[str, Any], chosen: Mapping[Place, Any]) -> list[Any]:
    """What was chosen for a trial, as data: which of some options, or a value.

    Args:
        space: With the options.
        chosen: The values by their paths.
    """
    options = {path: _options(value) for path, value in open_places(space)}
    data: list[Any] = []
    for path, value in chosen.items():
        of_it = options[path]
        number = next((n for n, option in enumerate(of_it) if option is value), None)
        if number is not None:
            data.append([list(path), "option", number])
        else:
            data.append([list(path), "value", value] if is_plain(value) else [list(path), "", None])
    return data


def chosen_config(space: Mapping[str, Any], data: Sequence[Any]) -> dict[str, Any]:
    """The settings of a trial, of a space and what `chosen_to_data` gave.

    Raises:
        ConfigError: A value was no data.
    """
    options = {path: _options(value) for path, value in open_places(space)}
    chosen: dict[Place, Any] = {}
    for steps, kind, value in data:
        path = tuple(steps)
        if not kind:
            raise ConfigError(
                f"the run cannot go on: what {'/'.join(map(str, path))} was for a trial is no data",
                hint="let sample_from() give numbers or texts, and begin a new run.",
            )
        chosen[path] = options[path][value] if kind == "option" else value
    return with_chosen(space, chosen)


def _options(value: Any) -> Sequence[Any]:
    """What a setting is chosen from, as far as that can be counted."""
    if isinstance(value, Domain):
        options = value.arguments[0] if value.name == "choice" else ()
    else:
        options = value[GRID]
    return options if isinstance(options, (list, tuple)) else ()


def write_end(trial: Trial) -> None:
    """Note how a trial has ended."""
    error = "" if trial.error is None else f"{type(trial.error).__name__}: {trial.error}"
    text = format_json({"status": trial.status, "error": error})
    _write(Path(trial.path) / TRIAL_END, text)


def write_error(trial: Trial, traceback: str) -> None:
    """Write down for people where a trial has failed."""
    _write(Path(trial.path) / "error.txt", traceback)


def _write(file: Path, text: str) -> None:
    with replaced_file(file) as staged:
        staged.write_text(text, encoding="utf-8", errors="replace")


def forget_end(trial: Trial) -> None:
    """Take the note away, as the trial goes on."""
    (Path(trial.path) / TRIAL_END).unlink(missing_ok=True)


def read_end(folder: Path) -> tuple[str, str]:
    """How a trial has ended: its status, and what it failed with; "" and "" if it has not."""
    file = part_of(folder, TRIAL_END)
    if not file.is_file():
        return "", ""
    data = read_json(file, limits_in_force())
    with at(TRIAL_END):
        return str(data["status"]), str(data["error"])


def is_run(folder: Path) -> bool:
    """Whether a run lies in a folder, ours or Ray's, that can go on."""
    if (folder / RAY_S_RUN).is_file():
        return True
    try:
        SavedTrials.read(folder)
    except CheckpointError:
        return False
    return True


def _what_is_at(folder: Path) -> str:
    if not folder.exists():
        return "nothing"
    if not folder.is_dir():
        return "a file"
    above = folder.parent / RUN_OF_TRIALS
    inside = sorted(each.name for each in folder.iterdir() if (each / RUN_OF_TRIALS).is_file())
    if above.is_file():
        return f"a trial of the run in {folder.parent}"
    if inside:
        return f"a folder of runs: {', '.join(inside[:5])}"
    return f"a folder of {len(os.listdir(folder))} others" if os.listdir(folder) else "an empty one"
