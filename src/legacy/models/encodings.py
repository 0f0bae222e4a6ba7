"""Turn discrete values and earlier actions into the vectors networks eat (torch)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Discrete, MultiDiscrete, Space
from torch import Tensor
from torch.nn import functional

from ...core import nest
from ...core.errors import SpaceError
from ..distributions.action_leaves import leaf_spaces


def one_hot(x: Tensor, space: Space[Any]) -> Tensor:
    """One-hot encode a batch of values of a discrete space, as float32.

    Args:
        x: `(B,)` for Discrete; `(B, k)` for MultiDiscrete.
        space: The Discrete or MultiDiscrete space the values are from.

    Returns:
        `(B, n)`, the components of a MultiDiscrete side by side.

    Raises:
        SpaceError: A value lies outside the space. As in Ray, `Discrete.start` is not taken off.
    """
    if isinstance(space, Discrete):
        sizes = [int(space.n)]
    elif isinstance(space, MultiDiscrete):
        sizes = [int(n) for n in np.ravel(space.nvec)]
    else:
        raise SpaceError("one_hot() needs a Discrete or MultiDiscrete space", found=repr(space))
    columns = x.long().reshape(x.shape[0], len(sizes))
    try:
        parts = [functional.one_hot(columns[:, i], n) for i, n in enumerate(sizes)]
    except RuntimeError as error:
        raise SpaceError(
            "values to encode lie outside their space",
            expected=f"0 <= value < n for {space}",
            found=f"{int(x.min())} to {int(x.max())}",
        ) from error
    return (parts[0] if len(parts) == 1 else torch.cat(parts, dim=-1)).float()


def encode_actions(actions: Any, space: Space[Any], steps: int = 1) -> Tensor:
    """Encode previous actions: discrete parts one-hot, others unchanged.

    From a nest of `(B, *action)`, or `(B, steps, *action)`, to `(B, steps * action_width)`, the
    oldest action first.
    """
    columns = []
    rows = 0
    for value, leaf in zip(nest.flatten(actions), leaf_spaces(space), strict=True):
        rows = value.shape[0]
        if isinstance(leaf, Discrete):
            columns.append(one_hot(value.reshape(rows * steps), leaf))
        elif isinstance(leaf, MultiDiscrete):
            columns.append(one_hot(value.reshape(rows * steps, -1), leaf))
        else:
            columns.append(value.reshape(rows * steps, -1).float())
    joined = columns[0] if len(columns) == 1 else torch.cat(columns, dim=-1)
    return joined.reshape(rows, -1)
