"""Folders that Tune wrote, as trials: settings, curves and checkpoints; nothing is unpickled.

What lies in a trial's own folder counts, so that folders may be moved and copied: `params.json`,
`result.json` or `progress.csv`, and checkpoints. A run's `experiment_state-*.json` adds how each
trial ended and when checkpoints were saved, a pickle that is read as data; the paths in it are
those of the machine that wrote it, and are not followed.
"""

from __future__ import annotations

import csv
import json
import math
import os
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeGuard

from ..core.data.damage import at
from ..core.errors import (
    CheckpointError,
    CheckpointNotFoundError,
    ConfigError,
    RlconnectError,
)
from ..core.vault.decode.load_limits import limits_in_force, too_many_files
from ..core.vault.decoding import Decoding
from ..core.vault.file_names import (
    PLAIN_SETTINGS,
    RESULT_TABLE,
    RESULTS,
    RUN_SPACES,
)
from ..core.vault.files.reading import read_json
from .damaged import Damage
from .readers.json_lines import read_lines
from .readers.places import Place

METRICS: Final = (
    "env_runners/episode_return_mean",
    "env_runners/episode_reward_mean",
    "sampler_results/episode_reward_mean",
    "episode_reward_mean",
    "evaluation/env_runners/episode_return_mean",
)
"""What a run is measured by where nobody says: the return, by its names through the releases."""

_STEP: Final = "training_iteration"
_SHORT: Final = 16
"""How long a setting may be to stand before others in a table."""
_NUMBERED: Final = re.compile(r"checkpoint_?(\d+)")


@dataclass(frozen=True)
class Curve:
    """A metric over the iterations of a trial.

    Args:
        metric: Its path.
        iterations: Those that told it.
        values: What they told; none that is no number.
    """

    metric: str
    iterations: tuple[int, ...]
    values: tuple[float, ...]

    def best(self, mode: str = "max") -> float | None:
        """The best value; None of an empty curve."""
        return (max if mode == "max" else min)(self.values, default=None)

    @property
    def last(self) -> float | None:
        """The last value."""
        return self.values[-1] if self.values else None


@dataclass(frozen=True)
class SavedCheckpoint:
    """A checkpoint of a trial.

    Args:
        path: Where it lies now.
        iteration: After which iteration it was saved, if that is known.
        value: What the metric was then.
    """

    path: Path
    iteration: int | None
    value: float | None


@dataclass(frozen=True)
class Trial:
    """One trial by its folder.

    Args:
        path: The folder.
        told: What the run's state says of it.
    """

    path: Path
    told: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What its folder is called."""
        return self.path.name

    @cached_property
    def _read(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        damage = Damage()
        rows = [_numbers(row) for row in self._results(damage)]
        return rows, damage.found

    def _results(self, damage: Damage) -> Iterator[dict[str, Any]]:
        file = self.path / RESULTS
        if os.path.isfile(file):
            place = Place(file, f"{self.name}/{RESULTS}")
            for _, row in read_lines(place, limits_in_force(), damage, lambda row, _: row):
                yield row
        elif os.path.isfile(self.path / RESULT_TABLE):
            yield from _table(self.path / RESULT_TABLE)

    @property
    def damaged(self) -> list[dict[str, Any]]:
        """What of its results could not be read: file, line and why."""
        return self._read[1]

    @property
    def results(self) -> list[dict[str, Any]]:
        """The numbers and texts of each iteration, by path ("env_runners/episode_return_mean")."""
        return self._read[0]

    @property
    def last_result(self) -> dict[str, Any]:
        """Those of the last one; empty if there was none."""
        return self.results[-1] if self.results else {}

    @cached_property
    def config(self) -> dict[str, Any]:
        """Its settings; what is no JSON is there as text, as Tune writes it."""
        settings = _json_in(self.path / PLAIN_SETTINGS)
        if settings is not None:
            return settings
        for row in self._results(Damage()):
            if isinstance(row.get("config"), dict):
                config: dict[str, Any] = row["config"]
                return config
        return {}

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Its settings by path ("model/fcnet_hiddens")."""
        return _numbers(self.config, lists=True)

    @property
    def status(self) -> str:
        """How it ended: "TERMINATED", "ERROR", ...; "UNFINISHED" where nothing says."""
        if isinstance(self.told.get("status"), str):
            return str(self.told["status"])
        if any(os.path.isfile(self.path / name) for name in ("error.txt", "error.pkl")):
            return "ERROR"
        return "TERMINATED" if self.last_result.get("done") is True else "UNFINISHED"

    def curve(self, metric: str) -> Curve:
        """A metric over its iterations."""
        pairs = [
            (_iteration(row, place), float(row[metric]))
            for place, row in enumerate(self.results, 1)
            if _is_number(row.get(metric))
        ]
        return Curve(metric, tuple(at for at, _ in pairs), tuple(value for _, value in pairs))

    def checkpoints(self, metric: str) -> list[SavedCheckpoint]:
        """Its checkpoints in the order they were saved, each with what the metric was then."""
        named = {
            str(row["checkpoint_dir_name"]): (_iteration(row, place), row)
            for place, row in enumerate(self.results, 1)
            if isinstance(row.get("checkpoint_dir_name"), str)
        }
        by_iteration = {_iteration(row, n): row for n, row in enumerate(self.results, 1)}
        saved = self.told.get("saved")
        for name, iteration in saved.items() if isinstance(saved, Mapping) else ():
            if iteration in by_iteration:  # what the state says is right where results are not
                named[name] = (iteration, by_iteration[iteration])
        checkpoints = []
        folders = _checkpoint_folders(self.path)
        is_ours = os.path.isfile(self.path / RUN_SPACES)
        is_counted = not is_ours and any(_number_of(each) == 0 for each in folders)  # since Ray 2.7
        for folder in folders:
            number = _number_of(folder)
            if folder.name in named:
                iteration, row = named[folder.name]
            elif not (named or is_counted) and number in by_iteration:
                iteration = number
                row = by_iteration[iteration]
            else:
                checkpoints.append(SavedCheckpoint(folder, None, None))
                continue
            value = row.get(metric)
            checkpoints.append(
                SavedCheckpoint(folder, iteration, float(value) if _is_number(value) else None)
            )
        return checkpoints

    def best_checkpoint(self, metric: str, mode: str = "max") -> SavedCheckpoint | None:
        """The checkpoint whose iteration was best; the last one where none tells."""
        checkpoints = self.checkpoints(metric)
        scored = [each for each in checkpoints if each.value is not None]
        if not scored:
            return checkpoints[-1] if checkpoints else None
        sign = 1 if mode == "max" else -1
        return max(scored, key=lambda each: sign * float(each.value or 0))


@dataclass(frozen=True)
class Runs:
    """The trials below a folder.

    Args:
        path: The folder.
        trials: By name.
        metric: What they are measured by; empty where they tell nothing.
        mode: Whether more of it is better ("max") or less ("min").
    """

    path: Path
    trials: tuple[Trial, ...]
    metric: str
    mode: str

    @cached_property
    def best(self) -> Trial | None:
        """The trial whose curve reaches the best value."""
        sign = 1 if self.mode == "max" else -1
        scored = [
            (sign * value, trial)
            for trial in self.trials
            if (value := trial.curve(self.metric).best(self.mode)) is not None
        ]
        return max(scored, key=lambda pair: pair[0])[1] if scored else None

    @cached_property
    def best_checkpoint(self) -> SavedCheckpoint | None:
        """The best of all trials' checkpoints; the best trial's last where none tells its value."""
        sign = 1 if self.mode == "max" else -1
        checkpoints = [
            each
            for trial in self.trials
            for each in trial.checkpoints(self.metric)
            if each.value is not None
        ]
        if checkpoints:
            return max(checkpoints, key=lambda each: sign * float(each.value or 0))
        return None if self.best is None else self.best.best_checkpoint(self.metric, self.mode)

    def varied(self) -> list[str]:
        """The settings that trials differ in, by path: short numbers first, seeds behind them."""
        flat = [trial.settings for trial in self.trials]
        names = dict.fromkeys(name for each in flat for name in each)
        varied = [name for name in names if len({repr(each.get(name, "")) for each in flat}) > 1]

        def place(name: str) -> tuple[bool, bool, bool]:
            values = [each[name] for each in flat if each.get(name) is not None]
            is_long = max(map(len, (name, *map(str, values)))) > _SHORT
            return is_long, not all(map(_is_number, values)), name == "seed"

        return sorted(varied, key=place)

    def setting(self, trial: Trial, name: str) -> Any:
        """A setting of a trial by path."""
        return trial.settings.get(name)


def open_runs(
    path: str | os.PathLike[str], *, metric: str | None = None, mode: str = "max"
) -> Runs:
    """The trials that Tune, or a trainer, wrote below a folder.

    Args:
        path: A trial's folder, a run's, or one of many runs such as `~/ray_results`.
        metric: What to measure by; the return if None.
        mode: "max" or "min".

    Raises:
        CheckpointNotFoundError: There is no trial.
        ConfigError: No trial tells the metric, or the mode is none.
    """
    if mode not in ("max", "min"):
        raise ConfigError(f"mode={mode!r}", expected="'max' or 'min'")
    folder = Path(os.path.expanduser(path))
    trials = tuple(_trials(folder)) if os.path.isdir(folder) else ()
    if not trials:
        raise CheckpointNotFoundError(
            f"no trial lies at {folder}",
            expected=f"folders with {RESULTS}, {RESULT_TABLE} or {PLAIN_SETTINGS}",
            hint="name what Tune calls its storage_path, such as ~/ray_results.",
        )
    metric_names = dict.fromkeys(name for trial in trials for name in trial.last_result)
    chosen = metric or next((each for each in METRICS if each in metric_names), "")
    if metric is not None and metric not in metric_names:
        numbers = [each for each in metric_names if each.endswith(metric.rpartition("/")[2])]
        raise ConfigError(
            f"no trial tells {metric!r}",
            found=", ".join((numbers or list(metric_names))[:12]),
            hint="name it by its path, such as env_runners/episode_return_mean.",
        )
    return Runs(folder, trials, chosen, mode)


def _trials(folder: Path) -> Iterator[Trial]:
    entry_count, most = 0, limits_in_force().max_entries
    states: dict[Path, dict[str, Any]] = {}
    for root, folders, files in os.walk(folder):
        entry_count += len(files) + len(folders)
        if entry_count > most:
            raise too_many_files(most, folder)
        place = Path(root)
        folders.sort()
        if {PLAIN_SETTINGS, RESULTS, RESULT_TABLE} & set(files):
            if place.parent not in states:
                states[place.parent] = _states(place.parent)
            folders.clear()
            yield Trial(place, states[place.parent].get(place.name) or {})
        folders[:] = [each for each in folders if not _NUMBERED.fullmatch(each)]


def _states(run: Path) -> dict[str, dict[str, Any]]:
    """What a run's newest state says of its trials, by the name of their folders."""
    files = sorted(run.glob("experiment_state-*.json"))
    state_data = _json_in(files[-1]) if files else None
    if state_data is None:
        return {}
    listed = state_data.get("trial_data", state_data.get("checkpoints"))
    by_trial = {}
    for each in listed if isinstance(listed, list) else []:
        text = each[0] if isinstance(each, list) and each else each
        try:
            state = json.loads(text) if isinstance(text, str) else text
        except (ValueError, RecursionError):
            continue
        if not isinstance(state, dict):
            continue
        for name in ("relative_logdir", "logdir", "local_path"):
            if isinstance(state.get(name), str):
                last = re.split(r"[/\\]", state[name].rstrip("/\\"))[-1]
                by_trial[last] = {"status": state.get("status"), "trial_id": state.get("trial_id")}
                by_trial[last]["saved"] = (
                    _saved(each[1]) if isinstance(each, list) and each[1:] else {}
                )
    return by_trial


def _saved(text: Any) -> dict[str, int]:
    """After which iteration each checkpoint was saved: a pickle in the state, read as data.

    Since Ray 2.7 folders are numbered from 0, and results name them an iteration too early, or not.
    """
    try:
        with at():
            packed = json.loads(text)["checkpoint_manager"]["value"]
            decoding = Decoding(Path("."), limits_in_force())
            manager = decoding.decode_bytes(bytes.fromhex(packed), "checkpoint_manager", "pickle")
            return {
                re.split(r"[/\\]", each.state["checkpoint"].state["path"].rstrip("/\\"))[-1]: int(
                    each.state["metrics"]["training_iteration"]
                )
                for each in manager.state["_checkpoint_results"]
            }
    except RlconnectError:
        return {}


def _checkpoint_folders(trial: Path) -> list[Path]:
    folders = [
        each for each in trial.iterdir() if os.path.isdir(each) and _NUMBERED.fullmatch(each.name)
    ]
    return sorted(folders, key=_number_of)


def _number_of(folder: Path) -> int:
    match = _NUMBERED.fullmatch(folder.name)
    return int(match[1]) if match else -1


def _json_in(file: Path) -> dict[str, Any] | None:
    """The object in a file, within the bounds of all that is read; None where there is none."""
    try:
        return read_json(file, limits_in_force())
    except CheckpointError:
        return None


def _table(file: Path) -> Iterator[dict[str, Any]]:
    try:
        with file.open(encoding="utf-8", errors="replace", newline="") as lines:
            for row in csv.DictReader(lines):
                yield {str(name): _as_number(text) for name, text in row.items()}
    except (OSError, csv.Error):
        return


def _as_number(text: Any) -> Any:
    try:
        value = float(text)
    except (TypeError, ValueError):
        return {"True": True, "False": False}.get(str(text), text)
    return int(value) if value.is_integer() else value


def _numbers(row: Mapping[str, Any], *, lists: bool = False) -> dict[str, Any]:
    """Numbers and texts by their paths, without a result's settings; lists if asked for."""
    numbers: dict[str, Any] = {}
    waiting: deque[tuple[str, Mapping[str, Any]]] = deque([("", row)])
    while waiting:
        before, part = waiting.popleft()
        for name, value in part.items():
            path = f"{before}{name}"
            if isinstance(value, Mapping):
                if path != "config" or lists:
                    waiting.append((f"{path}/", value))
            elif lists or not isinstance(value, Sequence) or isinstance(value, str):
                numbers[path] = value
    return numbers


def _is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _iteration(row: Mapping[str, Any], place: int) -> int:
    iteration = row.get(_STEP)
    return int(iteration) if _is_number(iteration) else place
