"""The two pieces that value targets need, around a learner pipeline."""

from __future__ import annotations

from typing import Any

from ..connectors.common.numpy_to_tensor import NumpyToTensor
from ..connectors.learner.add_one_ts import AddOneTsToEpisodesAndTruncate
from ..connectors.learner.general_advantage_estimation import GeneralAdvantageEstimation


def add_value_targets(connector: Any, *, gamma: float, lambda_: float) -> None:
    """Have a pipeline compute advantages: one step more at its front, the estimation at its end.

    The end is that of the default pieces: what the user has put behind them sees advantages. A
    piece that is there already stays the only one of its kind.

    Args:
        connector: The learner pipeline, changed in place.
        gamma: Discount per step.
        lambda_: How far advantages reach.
    """
    if not connector[AddOneTsToEpisodesAndTruncate]:
        connector.prepend(AddOneTsToEpisodesAndTruncate())
    if connector[GeneralAdvantageEstimation]:
        return
    piece = GeneralAdvantageEstimation(gamma=gamma, lambda_=lambda_)
    if type(connector[len(connector) - 1]) is not NumpyToTensor and any(
        type(each) is NumpyToTensor for each in connector.connectors
    ):
        connector.insert_after(NumpyToTensor, piece)
    else:
        connector.append(piece)
