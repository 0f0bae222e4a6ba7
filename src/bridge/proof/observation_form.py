"""The nested observation of an old network, in the form that a native one takes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from ...core.formulas.preprocessors import flatten_observations_plan
from ...core.types import Nest


def in_form_of(
    stages: Mapping[str, Nest], other: Mapping[str, Nest], space: Any
) -> dict[str, Nest]:
    """What one gave by stage, its nested observation flat as V2 flattens it if the other's is."""
    observation = stages["observation"]
    is_nested = isinstance(space, (spaces.Dict, spaces.Tuple)) and not isinstance(
        observation, np.ndarray
    )
    if not (is_nested and isinstance(other.get("observation"), np.ndarray)):
        return dict(stages)
    return {**stages, "observation": flatten_observations_plan(space).transform_batch(observation)}
