"""The leaves of nested spaces and values, in the order and width networks see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Dict, Discrete, MultiDiscrete, Space, Tuple


def leaf_spaces(space: Space[Any]) -> list[Space[Any]]:
    """List the leaves of a nested space, dict entries in the order of their sorted keys."""
    if isinstance(space, Dict):
        return [leaf for key in sorted(space.spaces) for leaf in leaf_spaces(space.spaces[key])]
    if isinstance(space, Tuple):
        return [leaf for part in space.spaces for leaf in leaf_spaces(part)]
    return [space]


def leaves(value: Any) -> list[Any]:
    """List the leaves of a nested value in the order of `leaf_spaces`."""
    if isinstance(value, Mapping):
        return [leaf for key in sorted(value) for leaf in leaves(value[key])]
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]


def leaf_width(space: Space[Any]) -> int:
    """Count the numbers one leaf takes once encoded."""
    if isinstance(space, Discrete):
        return int(space.n)
    if isinstance(space, MultiDiscrete):
        return int(space.nvec.sum())
    return int(np.prod(space.shape or (), dtype=np.int64))


def action_width(space: Space[Any]) -> int:
    """Count the numbers one action takes once encoded."""
    return sum(leaf_width(leaf) for leaf in leaf_spaces(space))
