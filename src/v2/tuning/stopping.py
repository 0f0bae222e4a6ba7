"""When a trial, or all of them, have done enough."""

from __future__ import annotations

import abc
import re
import warnings
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from statistics import pstdev
from time import monotonic
from typing import Any, Final

from typing_extensions import override

from ...core.errors import ConfigError
from ...core.text.near_names import did_you_mean, near_names
from ..logging.flat_result import at, flat

RESULT_KEYS: Final = {
    "episode_len_mean": "env_runners/episode_len_mean",
    "episode_reward_max": "env_runners/episode_return_max",
    "episode_reward_mean": "env_runners/episode_return_mean",
    "episode_reward_min": "env_runners/episode_return_min",
    "episodes_this_iter": "env_runners/num_episodes",
    "episodes_total": "env_runners/num_episodes_lifetime",
    "timesteps_total": "num_env_steps_sampled_lifetime",
}
"""Where a result of `train()` has today what older releases had elsewhere."""


class Stopper(abc.ABC):
    """Says when a trial has done enough."""

    @abc.abstractmethod
    def __call__(self, trial_id: str, result: Mapping[str, Any]) -> bool:
        """Whether a trial ends with this result."""

    def stop_all(self) -> bool:
        """Whether all trials end now."""
        return False


def seconds_of(time: float | timedelta) -> float:
    """A time in seconds."""
    return time.total_seconds() if isinstance(time, timedelta) else float(time)


class NoopStopper(Stopper):
    """Ends nothing."""

    @override
    def __call__(self, trial_id: str, result: Mapping[str, Any]) -> bool:
        return False


class FunctionStopper(Stopper):
    """Asks a function of trial id and result."""

    def __init__(self, function: Callable[[str, Mapping[str, Any]], bool]) -> None:
        self._function = function

    @override
    def __call__(self, trial_id: str, result: Mapping[str, Any]) -> bool:
        return bool(self._function(trial_id, result))


class MaximumIterationStopper(Stopper):
    """Ends a trial after so many results; those that come again after a failure count once."""

    def __init__(self, max_iter: int) -> None:
        self._max_iter = max_iter
        self._counts: dict[str, int] = {}
        self._newest: dict[str, float] = {}

    @override
    def __call__(self, trial_id: str, result: Mapping[str, Any]) -> bool:
        count, newest = self._counts.get(trial_id, 0), self._newest.get(trial_id, 0)
        iteration = result.get("training_iteration", newest + 1)
        if iteration > newest:
            self._counts[trial_id], self._newest[trial_id] = count + 1, iteration
        return self._counts.get(trial_id, 0) >= self._max_iter


class TimeoutStopper(NoopStopper):
    """Ends all trials after so many seconds, counted from the first result."""

    def __init__(self, timeout: float | timedelta) -> None:
        self._seconds, self._began = seconds_of(timeout), monotonic()

    @override
    def stop_all(self) -> bool:
        return monotonic() - self._began >= self._seconds


class TrialPlateauStopper(Stopper):
    """Ends a trial whose metric does not move any more.

    Args:
        metric: Which one.
        std: It stands still when the deviation of the last results is not above this.
        num_results: How many of them are looked at.
        grace_period: How many results there have to be at least.
        metric_threshold: End only where the metric has got so far.
        mode: "max" or "min": which side of the threshold is meant.
    """

    def __init__(
        self,
        metric: str,
        std: float = 0.01,
        num_results: int = 4,
        grace_period: int = 4,
        metric_threshold: float | None = None,
        mode: str | None = None,
    ) -> None:
        if metric_threshold is not None and mode not in ("max", "min"):
            raise ConfigError(
                "TrialPlateauStopper(mode=...)", expected="'max' or 'min'", found=repr(mode)
            )
        self._metric, self._std, self._num = metric, std, num_results
        self._grace, self._threshold, self._mode = grace_period, metric_threshold, mode
        self._last: dict[str, deque[float]] = {}
        self._count: dict[str, int] = {}

    @override
    def __call__(self, trial_id: str, result: Mapping[str, Any]) -> bool:
        value = metric_of(result, self._metric)
        if value is None:
            return False
        last = self._last.setdefault(trial_id, deque(maxlen=self._num))
        last.append(float(value))
        self._count[trial_id] = self._count.get(trial_id, 0) + 1
        if self._count[trial_id] < max(self._grace, self._num):
            return False
        if self._threshold is not None:
            is_short = value < self._threshold if self._mode == "max" else value > self._threshold
            if is_short:
                return False
        return pstdev(last) <= self._std


class CombinedStopper(Stopper):
    """Ends what any of several stoppers ends."""

    def __init__(self, *stoppers: Stopper) -> None:
        self._stoppers = stoppers

    @override
    def __call__(self, trial_id: str, result: Mapping[str, Any]) -> bool:
        return any([each(trial_id, result) for each in self._stoppers])  # Each counts.

    @override
    def stop_all(self) -> bool:
        return any(each.stop_all() for each in self._stoppers)


class MetricStopper(Stopper):
    """Ends a trial as soon as one of some metrics is high enough."""

    def __init__(self, enough: Mapping[str, Any]) -> None:
        for path, value in enough.items():
            if isinstance(value, Mapping):
                raise ConfigError(
                    f"stop={{{path!r}: {dict(value)!r}}}",
                    expected="one level",
                    hint=f"write the path: {f'{path}/{next(iter(value), ...)}'!r}.",
                )
        self._enough = dict(enough)
        self._is_looked_at = False

    @override
    def __call__(self, trial_id: str, result: Mapping[str, Any]) -> bool:
        if not self._is_looked_at:
            self._is_looked_at = True
            for path in self._enough:
                warn_if_never(path, result)
        pairs = ((metric_of(result, path), value) for path, value in self._enough.items())
        return any(reached is not None and bool(reached >= value) for reached, value in pairs)


def warn_if_never(path: str, result: Mapping[str, Any]) -> None:
    """Tell a metric that results do not have, and will not, by the first of them."""
    head, _, rest = path.partition("/")
    is_there = metric_of(result, path) is not None
    may_come = (rest and isinstance(result.get(head), Mapping)) or head == "evaluation"
    last = path.rpartition("/")[2]
    if is_there or (may_come and last not in RESULT_KEYS):
        return
    near = [RESULT_KEYS[last]] if last in RESULT_KEYS else near_names(path, flat(result))
    advice = f"; did you mean {near[0]!r}?" if near else "."
    warnings.warn(
        f"stop={{{path!r}: ...}}: results have no such metric, so it ends no trial{advice}",
        UserWarning,
        stacklevel=2,
    )


def metric_of(result: Mapping[str, Any], path: str) -> Any:
    """What a result has under a name, or at a path; None if nothing.

    Example:
        >>> metric_of({"env_runners": {"num_episodes": 3}}, "env_runners/num_episodes")
        3
    """
    return result[path] if path in result else at(result, tuple(path.split("/")))


def checked_mode(mode: str | None, setting: str) -> str | None:
    """A mode, or None.

    Raises:
        ConfigError: It is neither.
    """
    if mode not in (None, "max", "min"):
        raise ConfigError(f"`{setting}`", expected="'max' or 'min'", found=repr(mode))
    return mode


def stopper_of(stop: Any, time_budget_s: Any = None) -> Stopper:
    """What ends trials, of all that users may give.

    Raises:
        ConfigError: It is none of that.
    """
    parts: list[Stopper] = [] if time_budget_s is None else [TimeoutStopper(time_budget_s)]
    is_list = isinstance(stop, Sequence) and not isinstance(stop, str)
    if isinstance(stop, Mapping):
        parts.append(MetricStopper(stop))
    elif isinstance(stop, Stopper):
        parts.append(stop)
    elif is_list and all(isinstance(each, Stopper) for each in stop):
        parts += stop
    elif callable(stop):
        parts.append(FunctionStopper(stop))
    elif stop is not None:
        raise ConfigError(
            "RunConfig(stop=...)",
            expected="a dict of metrics, a Stopper, a list of them, or a function",
            found=repr(stop),
        )
    return parts[0] if len(parts) == 1 else CombinedStopper(*parts)


METRICS: Final = {
    "return": "env_runners/episode_return_mean",
    "evaluation": "evaluation/env_runners/episode_return_mean",
    "steps": "num_env_steps_sampled_lifetime",
    "episodes": "env_runners/num_episodes_lifetime",
    "iterations": "training_iteration",
    "time": "time_total_s",
}
"""Short words for what most runs end by."""
_UNITS: Final = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_NUMBER: Final = re.compile(r"([-+]?[0-9.]+(?:e[-+]?[0-9]+)?)([a-z]?)", re.IGNORECASE)


def short(path: str) -> str:
    """The short word for a metric, or its path."""
    return next((word for word, metric in METRICS.items() if metric == path), path)


def enough_of(criteria: str | Mapping[str, Any]) -> dict[str, float]:
    """Metrics and what they have to reach; the first that does ends the run.

    Args:
        criteria: `WORD=NUMBER,...`, or a mapping of such words. A word is one of `METRICS`, or the
            path of a metric; a time may end in s, m, h or d.

    Raises:
        ConfigError: A word is no metric, or a value no number.

    Example:
        >>> enough_of("steps=1e6,time=10m")
        {'num_env_steps_sampled_lifetime': 1000000.0, 'time_total_s': 600.0}
    """
    pairs: list[tuple[str, Any]] = []
    if isinstance(criteria, Mapping):
        pairs = list(criteria.items())
    elif not isinstance(criteria, str):
        raise ConfigError(
            "stop", expected="WORD=NUMBER,... or a table of such", found=repr(criteria)
        )
    else:
        for part in filter(None, (each.strip() for each in criteria.split(","))):
            word, sign, value = part.partition("=")
            if not sign:
                raise ConfigError(
                    f"stop: {part!r}", expected="WORD=NUMBER", hint="such as return=475,steps=1e6."
                )
            pairs.append((word.strip(), value.strip()))
    return {_metric(str(word)): _number(str(word), value) for word, value in pairs}


def _metric(word: str) -> str:
    if word in METRICS:
        return METRICS[word]
    if "/" in word or word in METRICS.values():
        return word
    raise ConfigError(
        f"stop: {word!r}",
        expected=f"{', '.join(METRICS)}, or a metric's path such as env_runners/episode_len_mean",
        hint=did_you_mean(word, METRICS),
    )


def _number(word: str, value: Any) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    match = _NUMBER.fullmatch(value) if isinstance(value, str) else None
    unit = match[2].lower() if match else ""
    try:
        if match and (not unit or (word == "time" and unit in _UNITS)):
            return float(match[1]) * _UNITS[unit]
    except ValueError:
        pass
    raise ConfigError(
        f"stop: {word}={value}",
        expected="a number" + (", or one of seconds, such as 90s, 10m, 2h" * (word == "time")),
    )
