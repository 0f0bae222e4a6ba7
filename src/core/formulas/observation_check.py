"""Check that an observation lies in its space, as tolerantly and as rarely as the old stack."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from gymnasium import spaces

from .. import nest
from ..errors import SpaceError
from ..spaces.walk import kind_of
from ..types import Nest
from .actions import get_base_struct_from_space

VALIDATION_INTERVAL: Final = 100
"""The old stack looks at the first of so many observations."""


def check_observation(space: spaces.Space[Any], observation: Nest) -> None:
    """Refuse an observation outside of its space, as tolerantly as the old stack.

    Lists pass for arrays, and ints and floats for one another, if the space holds the result.
    """
    if kind_of(space) == "Repeated":
        _check_list(space, observation)
        return
    value = np.array(observation) if type(observation) is list else observation
    if _holds(space, value) or _holds(space, _as_space_types(space, value)):
        return
    raise SpaceError(
        "an observation lies outside of its space", expected=str(space), found=repr(observation)
    )


def _check_list(space: Any, observation: Nest) -> None:
    """Refuse what is no list, or too long; its items are looked at one by one."""
    if not isinstance(observation, (list, np.ndarray)) or len(observation) > space.max_len:
        raise SpaceError(
            "an observation lies outside of its space",
            expected=f"a list of at most {space.max_len} items",
            found=repr(observation),
        )
    for item in observation:
        check_observation(space.child_space, item)


def _holds(space: spaces.Space[Any], value: Nest) -> bool:
    try:
        return bool(space.contains(value))
    except (TypeError, ValueError, AttributeError, IndexError):
        return False  # Some spaces fail on values of a foreign type instead of answering.


def _as_space_types(space: spaces.Space[Any], value: Nest) -> Nest:
    def converted(leaf_space: spaces.Space[Any], leaf: Any) -> Any:
        if isinstance(leaf_space, spaces.Discrete):
            return int(leaf)
        if isinstance(leaf_space, (spaces.Box, spaces.MultiDiscrete, spaces.MultiBinary)):
            return np.asarray(leaf).astype(leaf_space.dtype)
        return leaf

    struct = get_base_struct_from_space(space)
    try:
        return nest.map_structure_up_to(struct, converted, struct, value)
    except (SpaceError, TypeError, ValueError):
        return value
