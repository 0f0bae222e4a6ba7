"""How networks see spaces and actions: leaves, their widths, which kind of network fits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Space, Tuple

from ...core import nest
from ...core.nets.numpy_layers import Float32
from ..distributions.action_leaves import leaf_spaces

_LARGEST_TABLE: Final = 256
"""Largest number of actions for which the table of all encodings (n, n) is stored."""


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


def action_encoder(space: Space[Any]) -> Callable[[Any], Float32]:
    """Return the function that encodes actions `(B, ...)` as `(B, width)`, one-hot if discrete."""
    encoders = [_encoder(leaf) for leaf in leaf_spaces(space)]
    if not isinstance(space, (Dict, Tuple)):
        only = encoders[0]
        return lambda actions: only(np.asarray(actions))

    def encode(actions: Any) -> Float32:
        pairs = zip(nest.flatten(actions), encoders, strict=True)
        columns = [encode(np.asarray(value)) for value, encode in pairs]
        return columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1)

    return encode


def _encoder(leaf: Space[Any]) -> Callable[[Any], Any]:
    if isinstance(leaf, Discrete):
        encode = _one_hot(int(leaf.n))
        return lambda x: encode(x.reshape(-1))
    if isinstance(leaf, MultiDiscrete):
        encoders = [_one_hot(int(n)) for n in np.ravel(leaf.nvec)]
        return lambda x: np.concatenate(
            [
                encode(column)
                for encode, column in zip(encoders, x.reshape(x.shape[0], -1).T, strict=True)
            ],
            axis=1,
        )
    return lambda x: x.reshape(x.shape[0], -1).astype(np.float32)


def _one_hot(size: int) -> Callable[[Any], Float32]:
    # Unsigned, so that a negative value is out of range instead of counting from the end.
    if size <= _LARGEST_TABLE:
        table = np.eye(size, dtype=np.float32)
        return lambda x: table[x.astype(np.uint32)]

    def encode(x: Any) -> Float32:
        rows = np.zeros((len(x), size), np.float32)
        rows[np.arange(len(x)), x.astype(np.uint32)] = 1
        return rows

    return encode


def network_kind(obs_space: Space[Any]) -> Literal["dense", "image", "nested"]:
    """Choose the kind of network for an observation space.

    Images get convolutions, vectors dense layers, anything else (and vectors made from a nested
    space with an image or matrix inside) one trunk per component.

    Example:
        >>> network_kind(Box(0, 255, (84, 84, 3))), network_kind(Dict(a=Box(0, 1, (2,))))
        ('image', 'nested')
    """
    if not isinstance(obs_space, Box):
        return "nested"
    if len(obs_space.shape) == 3:
        return "image"
    original = getattr(obs_space, "original_space", obs_space)
    has_matrix = isinstance(original, (Dict, Tuple)) and any(
        isinstance(leaf, Box) and len(leaf.shape) >= 2 for leaf in leaf_spaces(original)
    )
    return "nested" if len(obs_space.shape) != 1 or has_matrix else "dense"
