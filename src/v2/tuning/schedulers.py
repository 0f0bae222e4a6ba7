"""Which trials are ended early, because others were better at the same age."""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from typing import Any, Final

import numpy as np
from typing_extensions import override

from ...core.errors import ConfigError
from .stopping import Stopper, checked_mode, metric_of


class FIFOScheduler:
    """One trial after the other, each to its end: what is done anyway."""


class ASHAScheduler(Stopper):
    """Ends trials that are worse than most were at the same age (successive halving, ASHA).

    A trial is looked at when it reaches `grace_period`, then `reduction_factor` times that, and so
    on; only the best of each `reduction_factor` go on from there. Numbers are those of Ray Tune.

    Args:
        time_attr: What tells a trial's age.
        metric: What is compared, by path; None takes the `TuneConfig`'s.
        mode: "max" or "min"; None likewise.
        max_t: The age at which every trial ends.
        grace_period: No trial ends before that age.
        reduction_factor: One of so many goes on.
        brackets: Only 1: all trials are looked at at the same ages.
        stop_last_trials: Whether trials end at `max_t`.

    Example:
        >>> asha = ASHAScheduler(metric="score", mode="max", grace_period=2, reduction_factor=2)
        >>> asha("first", {"training_iteration": 2, "score": 5.0})
        False
        >>> asha("second", {"training_iteration": 2, "score": 4.0})
        True
    """

    def __init__(
        self,
        time_attr: str = "training_iteration",
        metric: str | None = None,
        mode: str | None = None,
        max_t: int = 100,
        grace_period: int = 1,
        reduction_factor: float = 4,
        brackets: int = 1,
        stop_last_trials: bool = True,
    ) -> None:
        if not (0 < grace_period <= max_t and reduction_factor > 1 and brackets == 1):
            raise ConfigError(
                "ASHAScheduler",
                expected="0 < grace_period <= max_t, reduction_factor > 1, brackets of 1",
                found=f"grace_period={grace_period}, max_t={max_t}, "
                f"reduction_factor={reduction_factor}, brackets={brackets}",
            )
        self.metric, self.mode = metric, checked_mode(mode, "mode")
        self.settings: Final[dict[str, Any]] = {
            "time_attr": time_attr,
            "max_t": max_t,
            "grace_period": grace_period,
            "reduction_factor": reduction_factor,
            "stop_last_trials": stop_last_trials,
        }
        count = int(log(max_t / grace_period) / log(reduction_factor) + 1)
        ages = [grace_period * reduction_factor**step for step in range(count)]
        self._scores: dict[float, dict[str, float]] = {age: {} for age in reversed(ages)}

    def compare_by(self, metric: str | None, mode: str | None) -> None:
        """Take what a run says where the scheduler does not.

        Raises:
            ConfigError: Neither says it.
        """
        self.metric, self.mode = self.metric or metric, self.mode or mode
        if self.metric is None or self.mode is None:
            raise ConfigError(
                "ASHAScheduler has nothing to compare trials by",
                hint="TuneConfig(metric=..., mode='max').",
            )

    @override
    def __call__(self, trial_id: str, result: Mapping[str, Any]) -> bool:
        age = metric_of(result, self.settings["time_attr"])
        value = metric_of(result, str(self.metric))
        if age is None or value is None:
            return False
        if age >= self.settings["max_t"] and self.settings["stop_last_trials"]:
            return True
        score = -float(value) if self.mode == "min" else float(value)
        for milestone, scores in self._scores.items():  # The highest that it has reached.
            if age < milestone or trial_id in scores:
                if trial_id in scores and not self.settings["stop_last_trials"]:
                    return False
                continue
            share = 100 * (1 - 1 / self.settings["reduction_factor"])
            is_worse = bool(scores) and score < np.nanpercentile([*scores.values()], share)
            scores[trial_id] = score
            return bool(is_worse)
        return False
