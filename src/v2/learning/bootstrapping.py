"""The two pieces that value targets need, around a learner pipeline."""

from __future__ import annotations

from typing import Any

from ..learner.add_one_ts import AddOneTsToEpisodesAndTruncate
from ..learner.general_advantage_estimation import GeneralAdvantageEstimation


def add_value_targets(connector: Any, *, gamma: float, lambda_: float) -> None:
    """Have a pipeline compute advantages: one step more at its front, the estimation at its end.

    A piece that is there already stays the only one of its kind.

    Args:
        connector: The learner pipeline, changed in place.
        gamma: Discount per step.
        lambda_: How far advantages reach.
    """
    if not connector[AddOneTsToEpisodesAndTruncate]:
        connector.prepend(AddOneTsToEpisodesAndTruncate())
    if not connector[GeneralAdvantageEstimation]:
        connector.append(GeneralAdvantageEstimation(gamma=gamma, lambda_=lambda_))
