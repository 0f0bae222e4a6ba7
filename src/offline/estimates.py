"""What a policy is worth by recorded episodes: the estimate of one method."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..core.formulas.intervals import Interval, interval_of
from ..core.types import Array
from .estimators import NEED_MODEL, Judged, Steps

_LEAST: float = 1e-8
_FAR: float = 3.0


def doubts_of(method: str, steps: Steps) -> tuple[str, ...]:
    """Why not to trust what a method makes of recorded steps, where that shows."""
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
