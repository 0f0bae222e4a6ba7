"""Nested inputs as one row of numbers each, for networks that take one tensor."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from .. import array_namespace as xp
from .. import nest
from ..arrays.one_hot import one_hot_in_space
from ..spaces.walk import struct_of
from ..types import Nest


def flatten_inputs_to_1d_tensor(
    inputs: Nest,
    spaces_struct: Nest = None,
    time_axis: bool = False,
    batch_axis: bool = True,
) -> Any:
    """All leaves of a nest beside each other in one float32 array, numpy or torch.

    By the nest's space, or a nest of spaces, integers of Discrete and MultiDiscrete spaces become
    one-hot rows; without it all numbers stay themselves. Leaves have the leading axes that are
    named.

    Example:
        >>> inputs = {"b": np.array([1, 0]), "a": np.array([[0.5], [0.25]])}
        >>> struct = {"a": spaces.Box(0, 1, (1,)), "b": spaces.Discrete(2)}
        >>> flatten_inputs_to_1d_tensor(inputs, struct)
        array([[0.5 , 0.  , 1.  ],
               [0.25, 1.  , 0.  ]], dtype=float32)
    """
    leaves = nest.flatten(inputs)
    if isinstance(spaces_struct, spaces.Space):
        spaces_struct = struct_of(spaces_struct)
    kinds = [None] * len(leaves) if spaces_struct is None else nest.flatten(spaces_struct)
    axes = int(batch_axis) + int(time_axis)
    rows = []
    for leaf, space in zip(leaves, kinds, strict=True):
        values = xp.as_array(leaf)
        if isinstance(space, (spaces.Discrete, spaces.MultiDiscrete)):
            values = one_hot_in_space(values, space)
        lead: tuple[int, ...] = tuple(values.shape[:axes])
        rows.append(xp.cast(values.reshape((*lead, -1)), np.float32))
    return xp.concatenate(rows, -1)
