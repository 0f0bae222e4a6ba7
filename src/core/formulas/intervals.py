"""Confidence intervals of a mean, for values that vary as the weights of estimators do.

Products of weights have heavy tails: how much a few hundred of them vary is known but roughly, and
intervals that take it for granted are too narrow. So the number of degrees of freedom is that with
which the variance itself is known (Satterthwaite's, from the fourth moment).
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ..types import Array

LEVEL: float = 0.95


@dataclass(frozen=True)
class Interval:
    """A confidence interval of a value; its ends are infinite where nothing is known."""

    low: float
    high: float

    def holds(self, value: float) -> bool:
        """Return True if a value is inside the interval."""
        return self.low <= value <= self.high


def interval_of(influence: Array, center: float) -> Interval:
    """The interval of an estimate.

    `influence` is what each episode does to it, around any mean.

    Example:
        >>> found = interval_of(np.array([1.0, 2.0, 3.0, 2.0] * 25), 2.0)
        >>> round(found.low, 2), round(found.high, 2)
        (1.86, 2.14)
    """
    count = len(influence)
    if count < 2:
        return Interval(-np.inf, np.inf)
    deviations = influence - influence.mean()
    variance = float(np.mean(deviations**2))
    if not np.isfinite(variance):
        return Interval(-np.inf, np.inf)
    if variance == 0.0:
        return Interval(center, center)
    kurtosis = float(np.mean((deviations / np.sqrt(variance)) ** 4))
    freedom = min(2 * count / max(kurtosis - 1, 2.0), count - 1)
    half = student_quantile((1 + LEVEL) / 2, freedom) * np.sqrt(variance / (count - 1))
    return Interval(center - float(half), center + float(half))


def student_quantile(share: float, freedom: float) -> float:
    """Return the quantile of Student's t-distribution with `share` of its mass below.

    Example:
        >>> round(student_quantile(0.975, 10.0), 3)
        2.228
    """
    nu = max(freedom, 1.0)
    z = NormalDist().inv_cdf(share)
    # Hill's expansion, whose error is below a thousandth from 3 degrees on.
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92_160,
    )
    return float(z + sum(term / nu**power for power, term in enumerate(terms, 1)))
