"""The leaves of nested spaces and values, in the order and width networks see them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Dict, Discrete, MultiDiscrete, Space, Tuple

from ...core.nets.activations import Float32

_LARGEST_TABLE: Final = 256
"""Of so many actions the table of all encodings is kept; it is as wide as it is long."""


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


def action_encoder(space: Space[Any]) -> Callable[[Any], Float32]:
    """What encodes a nest of actions `(B, ...)` as `(B, width)`, discrete parts one-hot."""
    encoders = [_encoder(leaf) for leaf in leaf_spaces(space)]
    if not isinstance(space, (Dict, Tuple)):
        only = encoders[0]
        return lambda actions: only(np.asarray(actions))

    def encode(actions: Any) -> Float32:
        pairs = zip(leaves(actions), encoders, strict=True)
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
