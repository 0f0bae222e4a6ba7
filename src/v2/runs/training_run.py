"""A run in a folder: an algorithm trains there, and goes on there after whatever has cut it off.

    FOLDER/result.json, progress.csv, events.out.tfevents.*    a result for each iteration
    FOLDER/checkpoint_000040/                                  all of it, after iteration 40
    FOLDER/spaces.json                                         the environment's, to be held to
    FOLDER/videos/iteration_000040.gif                         an episode of an evaluation

A result is written before the checkpoint of its iteration. So whenever the process dies, the newest
checkpoint has all results up to its own beside it; later ones are taken away when the run goes on,
and come again, the same.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ...core.errors import ConfigError, CorruptCheckpointError, SpaceError
from ...core.spaces.own_layout import space_from_data, space_to_data
from ...core.spaces.text import describe
from ...core.text.shell import command
from ...core.vault.decode.load_limits import limits_in_force
from ...core.vault.file_names import RUN_SPACES, TRIAL_CHECKPOINT
from ...core.vault.files.reading import read_json
from ...core.vault.own.atomic import replaced_file
from ...core.vault.own.leftovers import sweep_folder
from ...core.vault.own.write_errors import refusals
from ..algorithms.algorithm import Algorithm
from ..config.algorithm_config import AlgorithmConfig
from ..logging.loggers import Logger, NoLogger, UnifiedLogger, cut_after
from .kept_checkpoints import KeptCheckpoints
from .stop_criteria import RESULT_KEYS, metric_of, warn_if_never

VIDEOS: Final = "videos"
_FILMS: Final = ("gif", "mp4")
_VECTOR: Final = "__env__"
RETURN: Final = RESULT_KEYS["episode_reward_mean"]


class DamagedCheckpointWarning(UserWarning):
    """A run goes on from an older checkpoint, because the newest one is damaged."""


class TrainingRun:
    """Trains an algorithm in a folder until it is enough.

    Where the folder holds checkpoints, `go` goes on from the newest: with the same weights,
    optimisers, random numbers and running episodes, as if nothing had happened.

    Args:
        config: The settings.
        folder: Where results and checkpoints lie; it is made if it is not there.
        stop: Metrics by path, with what they have to reach; the first that does ends the run.
            Without any it goes on until `end_soon()`.
        keep: How many checkpoints to keep: the best by `score`; the last one always stays. None
            keeps all.
        save_every: Save after every so many iterations, and at the end; 0 saves only at the end.
        score: The metric that ranks checkpoints; None keeps the newest.
        mode: "max" or "min".
        loggers: What writes results; None for CSV, JSON and TensorBoard.
        beside: Texts that lie in the folder as well, by the names of their files.
        video: "gif" or "mp4" films an episode of each evaluation (the extra `video`).

    Attributes:
        folder: The folder.
        checkpoints: Those that are kept.
        last_result: The last result, flat; empty before the first.

    Example:
        >>> import tempfile
        >>> from rlconnect.v2 import PPOConfig
        >>> config = PPOConfig().environment("CartPole-v1").env_runners(num_env_runners=0)
        >>> config = config.training(train_batch_size=64, minibatch_size=32, num_epochs=1)
        >>> run = TrainingRun(config, tempfile.mkdtemp(), stop={"training_iteration": 2})
        >>> run.go()
        'training_iteration'
        >>> TrainingRun(config, run.folder, stop={"training_iteration": 3}).go()
        'training_iteration'
        >>> run.newest
        3
    """

    def __init__(
        self,
        config: AlgorithmConfig,
        folder: str | os.PathLike[str],
        *,
        stop: Mapping[str, float] | None = None,
        keep: int | None = 3,
        save_every: int = 10,
        score: str | None = RETURN,
        mode: str = "max",
        loggers: Sequence[type[Logger]] | None = None,
        beside: Mapping[str, str] | None = None,
        video: str | None = None,
    ) -> None:
        if video is not None and (video not in _FILMS or not config.evaluation_interval):
            raise ConfigError(
                f"TrainingRun(video={video!r})",
                expected="'gif' or 'mp4', and evaluations to be filmed",
                found=f"evaluation_interval={config.evaluation_interval!r}",
                hint="config.evaluation(evaluation_interval=10).",
            )
        self.folder = Path(folder)
        self.stop = dict(stop or {})
        self.last_result: dict[str, Any] = {}
        self._config, self._loggers, self._beside = config, loggers, dict(beside or {})
        self.checkpoints = KeptCheckpoints(keep, save_every, score, mode)
        self._is_ending = False
        self._film = None if video is None else self.folder / VIDEOS / f"newest.{video}"

    @property
    def newest(self) -> int | None:
        """The iteration of the newest checkpoint; None if there is none."""
        saved = self._saved()
        return saved[-1] if saved else None

    def folder_of(self, iteration: int) -> Path:
        """Where the checkpoint of an iteration lies."""
        return self.folder / f"checkpoint_{iteration:06d}"

    def end_soon(self) -> None:
        """Let the run end, saved, after the iteration that is under way."""
        self._is_ending = True

    def reached(self, result: Mapping[str, Any]) -> str:
        """Which of the metrics in `stop` a result has brought far enough; "" for none."""
        for path, enough in self.stop.items():
            value = metric_of(result, path)
            if value is not None and value >= enough:
                return path
        return ""

    def go(self, on_result: Callable[[dict[str, Any]], Any] = lambda result: None) -> str:
        """Train until it is enough.

        Args:
            on_result: Called with each result.

        Returns:
            The metric that was reached; "" if the run was ended.

        Raises:
            CheckpointWriteError: The disk refuses; what was saved before is untouched.
        """
        algorithm = self._config.build_algo(logger_creator=lambda _: NoLogger(None, self.folder))
        algorithm.progress_line = None
        try:
            self._make_folder()
            if self._film is not None:
                algorithm.film_evaluations(self._film)
            self._check_spaces(algorithm)
            self._put_beside()  # What is refused leaves the run as it was.
            self._restore(algorithm)
            why = self.reached(self.last_result)
            if why or self._is_ending:
                return why
            with refusals(self.folder):
                logger = UnifiedLogger(algorithm.config.serialize(), self.folder, self._loggers)
            try:
                return self._train(algorithm, logger, on_result)
            finally:
                with refusals(self.folder):
                    logger.close()
        finally:
            algorithm.stop()

    def _make_folder(self) -> None:
        with refusals(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)

    def _put_beside(self) -> None:
        for name, text in self._beside.items():
            with replaced_file(self.folder / name) as staged:
                staged.write_text(text, encoding="utf-8")

    def _check_spaces(self, algorithm: Algorithm) -> None:
        """Hold the environment to the one that the run has begun in.

        Raises:
            SpaceError: It has other spaces.
        """
        group = algorithm.env_runner_group
        if group is None:
            return
        file = self.folder / RUN_SPACES
        spaces = {name: pair for name, pair in group.get_spaces().items() if name != _VECTOR}
        data = {
            name: [None if each is None else space_to_data(each) for each in pair]
            for name, pair in sorted(spaces.items())
        }
        if not os.path.lexists(file):
            with replaced_file(file) as staged:
                staged.write_text(json.dumps(data, indent=2), encoding="utf-8")
            return
        begun = read_json(file, limits_in_force())
        for name, pair in spaces.items():
            begun_pair = begun.get(name)
            if not isinstance(begun_pair, list) or len(begun_pair) != 2:
                raise CorruptCheckpointError(f"{file} does not tell the spaces of {name}")
            for what, before, now in zip(("observation", "action"), begun_pair, pair, strict=True):
                if now is not None and before != json.loads(json.dumps(space_to_data(now))):
                    env = self._config.env
                    words = ["--env", env] if isinstance(env, str) else []
                    begin = command("train", *words, "--from", self.folder_of(self.newest or 0))
                    raise SpaceError(
                        f"the environment has another {what} space than the run has begun with",
                        expected="none" if before is None else describe(space_from_data(before)),
                        found=describe(now),
                        hint="go on in the old one, or begin a new run from the checkpoint: "
                        f"{begin}",
                    )

    def _train(
        self, algorithm: Algorithm, logger: Logger, on_result: Callable[[dict[str, Any]], Any]
    ) -> str:
        is_first = True
        while True:
            result = algorithm.train()
            for path in self.stop if is_first else ():
                warn_if_never(path, result)
            is_first = False
            why = self.reached(result)
            result["done"] = bool(why)
            with refusals(self.folder):
                logger.on_result({key: each for key, each in result.items() if key != "config"})
            self.last_result = result
            if self._film is not None and self._film.exists():
                name = f"iteration_{algorithm.iteration:06d}{self._film.suffix}"
                self._film.replace(self._film.with_name(name))
            on_result(result)
            is_last = bool(why) or self._is_ending
            if self.checkpoints.is_due(algorithm.iteration, is_last):
                self._save(algorithm)
            if is_last:
                return why

    def _save(self, algorithm: Algorithm) -> None:
        folder = self.folder_of(algorithm.iteration)
        algorithm.save(folder)
        self.checkpoints.add(folder, self.last_result)

    def _saved(self) -> list[int]:
        if not self.folder.is_dir():
            return []
        names = [each.name for each in self.folder.iterdir() if each.is_dir()]
        return sorted(
            int(name.rpartition("_")[2])
            for name in names
            if TRIAL_CHECKPOINT.fullmatch(name) and name.rpartition("_")[2].isdecimal()
        )

    def _restore(self, algorithm: Algorithm) -> None:
        """Go back to the newest whole checkpoint; to the beginning, which is saved first."""
        sweep_folder(self.folder)
        saved = self._saved()
        for iteration in reversed(saved):
            try:
                algorithm.restore(self.folder_of(iteration))
            except CorruptCheckpointError as error:
                if iteration == saved[0]:
                    raise
                warnings.warn(
                    f"{self.folder_of(iteration)} is damaged, the run goes on from the one before: "
                    f"{error.summary}",
                    DamagedCheckpointWarning,
                    stacklevel=3,
                )
                continue
            if algorithm.iteration != iteration:
                raise ConfigError(
                    f"{self.folder_of(iteration)} is not of this run",
                    expected=f"a state after iteration {iteration}",
                    found=f"one after {algorithm.iteration}",
                )
            rows = cut_after(self.folder, iteration)
            self.last_result = rows.get(iteration, {})
            for each in saved:
                if each <= iteration:
                    self.checkpoints.add(self.folder_of(each), rows.get(each, {}))
            return
        cut_after(self.folder, 0)
        self._save(algorithm)
