"""A head for weights that are there: no larger than they are, or refused before it is built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Space

from ...core.errors import RlconnectError, WeightsError
from ...core.limits.misfits import asked_shapes, shape_misfit
from ...core.limits.weight_room import BeyondWeightsError, WeightRoom
from .head import PolicyHead
from .registry import build_head


def built_head(
    algorithm: Any,
    obs_space: Space[Any],
    action_space: Space[Any],
    config: Mapping[str, Any],
    weights: Mapping[str, Any] | None,
    **options: Any,
) -> PolicyHead:
    """Build a head as `build_head` does, in as much room as its weights need.

    Raises:
        WeightsError: The settings ask for another network; setting and weight are named.
    """
    described = (algorithm, obs_space, action_space, config)
    if weights is None:
        return build_head(*described, **options)
    size = sum(np.size(weight) * 4 for weight in weights.values())
    try:
        with WeightRoom(size, len(weights), "the policy's network"):
            return build_head(*described, weights=weights, **options)
    except BeyondWeightsError as error:
        misfit = _misfit(described, weights, options)
        if misfit is None:
            raise
        raise misfit from error


def _misfit(
    described: tuple[Any, ...], weights: Mapping[str, Any], options: Mapping[str, Any]
) -> WeightsError | None:
    if options.get("custom_models"):  # They may not do without real tensors.
        return None
    try:
        expected_shapes = asked_shapes(lambda: build_head(*described, **options).model)
    except (RlconnectError, RuntimeError, NotImplementedError):
        return None  # What led here is told instead.
    config = described[3]
    saved_shapes = {name: np.shape(weight) for name, weight in weights.items()}
    return shape_misfit(
        expected_shapes, saved_shapes, "the policy", {**config, **(config.get("model") or {})}
    )
