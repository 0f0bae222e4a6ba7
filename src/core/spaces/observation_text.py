"""An observation in a line of text."""

from __future__ import annotations

import numpy as np

from .. import nest
from ..types import Nest


def shown(observation: Nest) -> str:
    """An observation on one line, its numbers with six digits; large arrays in part.

    Example:
        >>> shown({"a": np.array([1.0, 0.5]), "b": 2})
        'a: [1. 0.5], b: 2'
    """
    parts = nest.flatten_with_path(observation)
    return ", ".join(
        ": ".join(filter(None, (".".join(map(str, path)), _leaf(leaf)))) for path, leaf in parts
    )


def short_shape(value: Nest) -> str:
    """Shape and type of an array; of several in a structure how many there are.

    Example:
        >>> short_shape(np.zeros((2, 3), np.float32)), short_shape({"a": 1, "b": 2})
        ('(2, 3) float32', '2 arrays')
    """
    leaves = nest.flatten(value)
    if len(leaves) != 1:
        return f"{len(leaves)} arrays"
    array = np.asarray(leaves[0])
    return f"{array.shape} {array.dtype}" if array.ndim else str(array.dtype)


def _leaf(leaf: object) -> str:
    if not isinstance(leaf, np.ndarray):
        return str(leaf)
    text = np.array2string(leaf.reshape(-1), precision=6, threshold=12, edgeitems=4)
    return " ".join(text.split())
