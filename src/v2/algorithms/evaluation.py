"""Evaluations: modules as they are, on env runners of their own, without what exploration adds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event
from time import perf_counter
from typing import Any

import numpy as np

from ...core.errors import ConfigError
from ...core.formulas.intervals import interval_of
from ...core.video import MODE
from ..env_runners.callback_hooks import CallbackHooks
from ..metrics import names
from ..metrics.metrics_logger import MetricsLogger
from .env_runner_group import EnvRunnerGroup


@dataclass(frozen=True)
class Training:
    """An iteration of training that runs beside an evaluation.

    Attributes:
        seconds: How long one took so far.
        is_over: Whether this one has ended.
        began: When it has begun.
    """

    seconds: float
    is_over: Callable[[], bool]
    began: float = field(default_factory=perf_counter)


class Evaluation:
    """Runs evaluations, with runners made for the first one.

    Args:
        config: The algorithm's settings; its `evaluation` section says how.
        hooks: What is called when one begins and ends.
        on_recreated: Called with indices of replaced runners.

    Attributes:
        group: The runners; None before the first evaluation.
        metrics: What they counted.
    """

    def __init__(
        self, config: Any, hooks: CallbackHooks, *, on_recreated: Callable[[list[int]], Any]
    ) -> None:
        self._given = config
        self._hooks = hooks
        self._on_recreated = on_recreated
        self.config: Any = None
        self.group: EnvRunnerGroup | None = None
        self._steps, self._seconds = 0, 0.0  # of all samples
        self._film: Path | None = None
        self.metrics = MetricsLogger(root=True, stats_cls_lookup=config.stats_cls_lookup)
        if config.evaluation_interval:
            self.make_runners()

    def make_runners(self) -> EnvRunnerGroup:
        """Make the runners, if they are not there.

        Raises:
            ConfigError: No environment is named.
        """
        if self.group is None:
            config = self._given.get_evaluation_config_object()
            if config.env is None:
                raise ConfigError(
                    "there is no environment to evaluate in",
                    hint='evaluation(evaluation_config={"env": ...}).',
                )
            if self._film is not None:
                _add_film(config, self._film)
            config.freeze()
            self.config = config
            with nullcontext() if self._film is None else _drawing():
                self.group = EnvRunnerGroup(config, on_recreated=self._on_recreated)
        return self.group

    def film(self, path: Path) -> None:
        """Film the first episode of each evaluation from now on; the runners are made anew.

        Args:
            path: The film; each is made once the last was taken away.
        """
        self.stop()
        self.group, self._film = None, path
        self.make_runners()

    def run(self, algorithm: Any) -> dict[str, Any]:
        """Evaluate.

        Args:
            algorithm: Whose modules and connector states are used.

        Returns:
            What runners counted, under "env_runners"; of two episodes and more also where the
            return they stand for lies, by 95 % confidence.
        """
        self._begin(algorithm)
        return self._ended(algorithm, self._results(algorithm))

    def run_beside(self, algorithm: Any, train: Callable[[], int]) -> tuple[int, dict[str, Any]]:
        """Evaluate what is there, in other processes, while an iteration trains here.

        Args:
            algorithm: Whose modules and connector states are used, as they are before it trains.
            train: Trains, and gives how often it called `training_step`.

        Returns:
            What `train` gave, and what `run` gives.
        """
        timer = algorithm.metrics.log_time((names.TIMERS, names.EVALUATION_ITERATION_TIMER))
        took = algorithm.metrics.peek((names.TIMERS, names.TRAINING_ITERATION_TIMER), default=0.0)
        is_over = Event()

        def evaluate() -> dict[str, Any]:
            with timer:
                return self._results(algorithm, Training(float(took), is_over.is_set))

        self._begin(algorithm)
        with ThreadPoolExecutor(1) as beside:
            waiting = beside.submit(evaluate)
            try:
                calls = train()
            finally:
                is_over.set()
            results = waiting.result()
        return calls, self._ended(algorithm, results)

    def _begin(self, algorithm: Any) -> None:
        """Give the runners what is to be evaluated: weights, and the states of connectors."""
        self._hooks.call("on_evaluate_start", algorithm=algorithm, metrics_logger=algorithm.metrics)
        group = self.make_runners()
        group.sync_weights(
            from_worker_or_learner_group=algorithm.learner_group, inference_only=True
        )
        if algorithm.env_runner_group is not None:
            group.set_connector_state(algorithm.env_runner_group.connector_state())

    def _ended(self, algorithm: Any, results: dict[str, Any]) -> dict[str, Any]:
        self._hooks.call(
            "on_evaluate_end",
            algorithm=algorithm,
            metrics_logger=algorithm.metrics,
            evaluation_metrics=results,
        )
        return results

    def _results(self, algorithm: Any, training: Training | None = None) -> dict[str, Any]:
        """Evaluate what the runners were given, beside training if there is any."""
        group = self.make_runners()
        if self.config.custom_evaluation_function is not None:
            return self._by_user(algorithm, group)
        returns = self._sample(group, training)
        results = self.metrics.reduce(compile=True)
        results.setdefault(names.ENV_RUNNER_RESULTS, {}).update(_interval(returns))
        results.update(group.fault_tolerance())
        results.update(group.in_flight())
        return results

    def _sample(self, group: EnvRunnerGroup, training: Training | None) -> list[float]:
        """Sample; gives the returns of the episodes that were seen whole."""
        done = 0
        returns: list[float] = []
        is_reset = bool(self.config.evaluation_force_reset_envs_before_iteration)
        wanted, runners = self.config.evaluation_duration, max(1, group.num_remote_env_runners())
        in_episodes = self.config.evaluation_duration_unit == "episodes"
        if wanted == "auto":  # Of `evaluate()`, beside which nothing trains, an episode each.
            wanted, in_episodes = runners if training is None else None, training is None
        while True:
            if wanted is None:
                assert training is not None  # It was looked at.
                share = self._while_it_trains(training, done, runners)
            else:
                share = -(-(int(wanted) - done) // runners)
            if share <= 0:
                break
            size: dict[str, Any] = (
                {"num_episodes": share}
                if in_episodes
                else {"num_timesteps": share, "force_reset": is_reset}
            )
            is_reset = False
            began = perf_counter()
            samples = group.sample(timeout_s=self.config.evaluation_sample_timeout_s, **size)
            if not samples:
                break
            self.metrics.aggregate(
                [sample.metrics for sample in samples], key=names.ENV_RUNNER_RESULTS
            )
            episodes = [each for sample in samples for each in sample.episodes]
            steps = sum(each.env_steps() for each in episodes)
            self._steps, self._seconds = (
                self._steps + steps,
                self._seconds + perf_counter() - began,
            )
            done += len(episodes) if in_episodes else steps
            returns += [float(e.get_return()) for e in episodes if e.is_done and not _began(e)]
        return returns

    def _while_it_trains(self, training: Training, done: int, runners: int) -> int:
        """How much each runner samples next: what takes as long as training still will.

        That is told by what both took so far, and lies within bounds; once training is over, the
        sample that is under way is the last.
        """
        if done and training.is_over():
            return 0
        left = training.seconds - (perf_counter() - training.began)
        speed = self._steps / self._seconds if self._seconds else 0.0
        least = int(self.config.evaluation_auto_duration_min_env_steps_per_sample)
        most = int(self.config.evaluation_auto_duration_max_env_steps_per_sample)
        return min(most, max(least, int(left * speed / runners)))

    def _by_user(self, algorithm: Any, group: EnvRunnerGroup) -> dict[str, Any]:
        given = self.config.custom_evaluation_function(algorithm, group)
        results = given[0] if isinstance(given, tuple) else given
        if not isinstance(results, dict):
            raise ConfigError(
                "the custom_evaluation_function",
                expected="results, environment steps and agent steps",
                found=type(given).__name__,
            )
        return results

    def stop(self) -> None:
        """Close environments and end processes."""
        if self.group is not None:
            self.group.stop()


@contextmanager
def _drawing() -> Iterator[None]:
    """While environments are made that shall draw, tell of those that cannot be asked to."""
    try:
        yield
    except TypeError as error:
        if "render_mode" not in str(error):
            raise
        raise ConfigError(
            "the evaluation's environment cannot be filmed",
            expected="one that takes render_mode",
            found=str(error),
            hint=f"let its constructor take render_mode={MODE!r} and render() give a picture, or "
            "train without videos.",
        ) from error


def _add_film(config: Any, path: Path) -> None:
    """Let an evaluation's runners film, and their environments draw."""
    from ..env_runners.filming import EpisodeFilm

    given = config.callbacks_class
    film = partial(EpisodeFilm, path)
    config.callbacks_class = [*(given if isinstance(given, (list, tuple)) else [given]), film]
    config.env_config = {"render_mode": MODE, **config.env_config}


def _began(episode: Any) -> int:
    """How many steps of an episode lie before this part of it."""
    began: int = getattr(episode, "env_t_started", getattr(episode, "t_started", 0))
    return began


def _interval(returns: list[float]) -> dict[str, float]:
    """The ends of the interval around the mean return; nothing where too little is known."""
    if len(returns) < 2:
        return {}
    values = np.array(returns)
    found = interval_of(values, float(values.mean()))
    return {
        names.EPISODE_RETURN_CI95_LOW: found.low,
        names.EPISODE_RETURN_CI95_HIGH: found.high,
    }
