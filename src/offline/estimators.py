"""Off-policy estimators of the value of a policy, as functions of columns of recorded steps.

`judged` applies a method by name to `Steps`. A method returns a value for each episode, whose mean
is the estimate, and the influence of each episode on that mean, from which confidence intervals
are computed. The weights of weighted importance sampling are shared by all episodes, so there the
two differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np

from ..core.arrays.padding import places_by_time
from ..core.errors import ConfigError
from ..core.formulas.intervals import Interval, interval_of
from ..core.types import Array

_LEAST: float = 1e-8
_FAR: float = 3.0


def doubts_of(method: str, steps: Steps) -> tuple[str, ...]:
    """Return reasons not to trust an estimate; empty if none shows."""
    if method not in NEED_MODEL or steps.reach is None or steps.reach <= _FAR:
        return ()
    return (
        f"the model is asked for actions that are unlike the recorded ones ({steps.reach:.3g} "
        f"times as far from them as they are from each other; up to {_FAR:g} is fine)",
    )


@dataclass(frozen=True)
class Estimate:
    """Values of the recorded behaviour and of the policy asked about, over episodes.

    Args:
        v_behavior: The mean discounted return that was recorded.
        v_behavior_std: Its standard deviation over episodes.
        v_target: The mean that the policy is estimated to get.
        v_target_std: Its standard deviation over episodes.
        influence: What each episode does to `v_target`; intervals are made of it.
        doubts: Why not to trust it, where that shows.
    """

    v_behavior: float
    v_behavior_std: float
    v_target: float
    v_target_std: float
    influence: Array = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)
    doubts: tuple[str, ...] = ()

    @classmethod
    def of(cls, behavior: Array, judgement: Judged, doubts: tuple[str, ...] = ()) -> Estimate:
        """The estimate that a value for each episode amounts to."""
        return cls(
            float(behavior.mean()),
            float(behavior.std()),
            float(judgement.values.mean()),
            float(judgement.values.std()),
            judgement.influence,
            doubts,
        )

    @property
    def interval(self) -> Interval:
        """Where `v_target` lies with 95 % confidence, as far as episodes differ."""
        return interval_of(self.influence, self.v_target)

    @property
    def v_gain(self) -> float:
        """`v_target` over `v_behavior`, as RLlib has it: huge where that is not positive."""
        return self.v_target / max(self.v_behavior, _LEAST)

    @property
    def v_delta(self) -> float:
        """`v_target` less `v_behavior`."""
        return self.v_target - self.v_behavior


@dataclass(frozen=True)
class Steps:
    """Recorded steps, episode after episode, and what the policy in question makes of them.

    Args:
        lengths: How many steps each episode has, `(E,)`.
        rewards: One a step, `(N,)`.
        ratios: How much likelier each action is under the policy, `(N,)`.
        chosen: A model's value of each step's action, `(N,)`; None without a model.
        values: Its value of what the policy would do there, `(N,)`.
        influence: What each episode does to the mean of first values, `(E,)`, through the model,
            too; None where the model cannot tell.
        reach: How far beyond what was recorded the model is asked, on a scale on which 1 is not
            at all; None where that was not looked at.
    """

    lengths: Array
    rewards: Array
    ratios: Array
    chosen: Array | None = None
    values: Array | None = None
    influence: Array | None = None
    reach: float | None = None

    @cached_property
    def starts(self) -> Array:
        """The place of each episode's first step."""
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def ends(self) -> Array:
        """The place of each episode's last step."""
        return np.cumsum(self.lengths) - 1

    @cached_property
    def times(self) -> Array:
        """How many steps of its episode come before each."""
        times: Array = np.arange(len(self.rewards)) - np.repeat(self.starts, self.lengths)
        return times

    @cached_property
    def by_time(self) -> list[Array]:
        """The places of the first steps of all episodes, of the second ones, and so on."""
        return places_by_time(self.lengths)

    @cached_property
    def weights(self) -> Array:
        """By step, how much likelier all that led there is under the policy."""
        weights: Array = np.array(self.ratios, np.float64)
        for places in self.by_time[1:]:
            weights[places] *= weights[places - 1]
        return weights

    def total(self, column: Array) -> Array:
        """The sum of a column over each episode."""
        return np.add.reduceat(column, self.starts)

    def discounts(self, gamma: float) -> Array:
        """The worth of a reward at each step."""
        return np.asarray(gamma**self.times, np.float64)


@dataclass(frozen=True)
class Judged:
    """What a method makes of recorded episodes.

    Args:
        values: One an episode; their mean is the estimate.
        influence: One an episode, of the same mean; as they vary, the estimate does.
    """

    values: Array
    influence: Array


def recorded(steps: Steps, gamma: float) -> Array:
    """The discounted return of each episode as it was recorded."""
    return steps.total(steps.discounts(gamma) * steps.rewards)


def judged(method: str, steps: Steps, gamma: float) -> Judged:
    """Apply a method."""
    return known_method(method)(steps, gamma)


def known_method(method: str) -> Callable[[Steps, float], Judged]:
    """A method by name."""
    if method not in METHODS:
        methods = ", ".join(map(repr, METHODS))
        raise ConfigError(f"no method {method!r}", expected=f"one of {methods}")
    return METHODS[method]


def _plain(values: Array) -> Judged:
    return Judged(values, values)


def _by_decision(steps: Steps, gamma: float) -> Judged:
    return _plain(steps.total(steps.discounts(gamma) * steps.weights * steps.rewards))


def _weighted_by_decision(steps: Steps, gamma: float) -> Judged:
    """Weighted importance sampling as in RLlib.

    Weights are divided by their mean over the episodes that are at least as long.
    """
    discounts = steps.discounts(gamma)
    scaled = np.empty_like(steps.weights)
    around = np.empty_like(scaled)
    for places in steps.by_time:
        weights = steps.weights[places]
        scaled[places] = share = weights / max(float(weights.mean()), _TINY)
        around[places] = float(np.mean(share * steps.rewards[places]))
    return Judged(
        steps.total(discounts * scaled * steps.rewards),
        steps.total(discounts * (around + scaled * (steps.rewards - around))),
    )


def _direct(steps: Steps, gamma: float) -> Judged:
    """The direct method: the model's value of each first step.

    If the model has no influence of its own, the interval is that of the doubly robust estimate.
    """
    _, values = _model(steps)
    first = values[steps.starts]
    influence = steps.influence
    if influence is None:
        influence = _doubly_robust(steps, gamma).values
    return Judged(first, influence + (first.mean() - influence.mean()))


def _doubly_robust(steps: Steps, gamma: float) -> Judged:
    chosen, values = _model(steps)
    corrected = np.zeros(len(steps.rewards) + 1)
    for places in reversed(steps.by_time):
        # Behind an end lies a first step, which is 0 until it is its turn.
        later = corrected[places + 1]
        error = steps.rewards[places] + gamma * later - chosen[places]
        corrected[places] = values[places] + steps.ratios[places] * error
    return _plain(corrected[steps.starts])


def _model(steps: Steps) -> tuple[Array, Array]:
    if steps.chosen is None or steps.values is None:
        raise ConfigError(
            "this method needs a model of values", hint="fit one: q_model={'n_iters': 200}."
        )
    return steps.chosen, steps.values


METHODS: Final[dict[str, Callable[[Steps, float], Judged]]] = {
    "is": _by_decision,
    "pdis": _by_decision,
    "wis": _weighted_by_decision,
    "dm": _direct,
    "dr": _doubly_robust,
}
"""By name. RLlib's importance sampling is per-decision, so "is" and "pdis" are the same."""

NEED_MODEL: Final = frozenset({"dm", "dr"})
_TINY: Final = float(np.finfo(float).tiny)
