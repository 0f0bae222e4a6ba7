"""Stop criteria of a training run: metrics, and the values they have to reach."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import Any, Final

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


def warn_if_never(path: str, result: Mapping[str, Any]) -> None:
    """Warn of a metric that the first result does not contain and later ones will not."""
    head, _, rest = path.partition("/")
    is_there = metric_of(result, path) is not None
    may_come = (rest and isinstance(result.get(head), Mapping)) or head == "evaluation"
    last = path.rpartition("/")[2]
    if is_there or (may_come and last not in RESULT_KEYS):
        return
    near = [RESULT_KEYS[last]] if last in RESULT_KEYS else near_names(path, flat(result))
    advice = f"; did you mean {near[0]!r}?" if near else "."
    warnings.warn(
        f"stop={{{path!r}: ...}}: results have no such metric, so it ends no run{advice}",
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
