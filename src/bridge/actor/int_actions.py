"""Whole numbers among actions as RLlib hands them out: in 32 bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import array_namespace as xp
from ...core import nest
from ...core.types import Nest


def as_int32(actions: Nest) -> Nest:
    """Actions with their whole numbers in 32 bits, as policies hand them out."""
    return nest.map_structure(_int32, actions)


def _int32(leaf: Any) -> Any:
    if str(leaf.dtype).endswith("int64"):
        return xp.cast(leaf, np.int32)
    return leaf
