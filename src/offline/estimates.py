"""What a policy is worth by recorded episodes: the estimate of one method."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..core.formulas.intervals import Interval, interval_of
from ..core.types import Array
from .estimators import Judged

_LEAST: float = 1e-8


@dataclass(frozen=True)
class Estimate:
    """Values of the recorded behaviour and of the policy asked about, over episodes.

    Args:
        v_behavior: The mean discounted return that was recorded.
        v_behavior_std: Its standard deviation over episodes.
        v_target: The mean that the policy is estimated to get.
        v_target_std: Its standard deviation over episodes.
        influence: What each episode does to `v_target`; intervals are made of it.
    """

    v_behavior: float
    v_behavior_std: float
    v_target: float
    v_target_std: float
    influence: Array = field(default_factory=lambda: np.zeros(0), repr=False, compare=False)

    @classmethod
    def of(cls, behavior: Array, found: Judged) -> Estimate:
        """The estimate that a value for each episode amounts to."""
        return cls(
            float(behavior.mean()),
            float(behavior.std()),
            float(found.values.mean()),
            float(found.values.std()),
            found.influence,
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
