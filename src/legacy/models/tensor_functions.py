"""Small functions on torch tensors that old models and losses are written with."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import torch

from ...core import nest
from ...core.arrays.tensors import as_tensors
from ...core.types import Nest

FLOAT_MIN: Final = -3.4e38
"""Replacement of minus infinity in masks of logits."""

FLOAT_MAX: Final = 3.4e38
"""Replacement of infinity."""


def convert_to_torch_tensor(
    x: Nest,
    device: Any = None,
    pin_memory: bool = False,
    use_stream: bool = False,
    stream: Any = None,
) -> Nest:
    """Arrays and numbers of a nest as tensors, float64 as float32; the rest stays.

    Args:
        x: A nest.
        device: Where to; where they are if None.
        pin_memory: Pin the memory, for a faster way to a GPU.
        use_stream: Copy without waiting.
        stream: The CUDA stream to copy on.

    Example:
        >>> convert_to_torch_tensor({"a": np.zeros(2), "b": "text"})
        {'a': tensor([0., 0.]), 'b': 'text'}
    """

    def converted(leaf: Any) -> Any:
        if leaf is None or isinstance(leaf, (str, bytes)):
            return leaf
        if not isinstance(leaf, torch.Tensor):
            array = np.asarray(leaf)
            if array.dtype.kind not in "biufc":
                return leaf
            leaf = as_tensors(array).reshape(array.shape)
        if leaf.dtype == torch.float64:
            leaf = leaf.float()
        if pin_memory and torch.cuda.is_available():
            leaf = leaf.pin_memory()
        if device is None:
            return leaf
        with torch.cuda.stream(stream if use_stream else None):
            return leaf.to(device, non_blocking=use_stream)

    return nest.map_structure(converted, x)


def sequence_mask(
    lengths: torch.Tensor,
    maxlen: int | None = None,
    dtype: torch.dtype | None = None,
    time_major: bool = False,
) -> torch.Tensor:
    """Return a mask that is True for steps and False for padding.

    Args:
        lengths: Lengths of the sequences, `(B,)`.
        maxlen: Number of steps of the mask; by default the length of the longest sequence.
        dtype: Accepted for compatibility with Ray; masks are always boolean.
        time_major: `(T, B)` instead of `(B, T)`.

    Example:
        >>> sequence_mask(torch.tensor([1, 2])).tolist()
        [[True, False], [True, True]]
    """
    longest = int(lengths.max()) if maxlen is None else int(maxlen)
    mask = torch.arange(longest, device=lengths.device) < lengths[:, None]
    return mask.T if time_major else mask


def reduce_mean_ignore_inf(x: torch.Tensor, axis: int | None = None) -> torch.Tensor:
    """The mean of what is not minus infinity, over one axis or over all.

    Example:
        >>> reduce_mean_ignore_inf(torch.tensor([1.0, -torch.inf, 3.0]))
        tensor(2.)
    """
    counts = x != -torch.inf
    finite = torch.where(counts, x, torch.zeros_like(x))
    if axis is None:
        return finite.sum() / counts.sum()
    return finite.sum(axis) / counts.sum(axis)
