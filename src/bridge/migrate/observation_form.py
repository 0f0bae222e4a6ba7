"""The nested observation of an old network, in the form that a native one takes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from ...core.preprocessors import flatten_observations_plan
from ...core.types import Nest


def in_native_form(stages: Mapping[str, Nest], space: Any) -> dict[str, Nest]:
    """What a source gave by stage, its nested observation flat as V2 flattens it.

    Args:
        stages: By stage, with a batch of nested observations.
        space: Of one of them.
    """
    if not isinstance(space, (spaces.Dict, spaces.Tuple)):
        return dict(stages)
    seen = stages["observation"]
    if isinstance(seen, np.ndarray):
        return dict(stages)
    return {**stages, "observation": flatten_observations_plan(space).transform_batch(seen)}
