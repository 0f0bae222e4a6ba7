"""Columns of arrays as tensors on a device, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .. import nest
from ..types import Array

# A policy's results have at most 32 bits: so does Ray cut them.
_REDUCED = {np.dtype(np.int64): np.int32, np.dtype(np.float64): np.float32}


def as_tensors(value: Any, device: Any = None) -> Any:
    """Convert a nest of arrays to tensors; float64 to float32, objects and strings unchanged."""

    def convert(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            return leaf.to(device)
        array = np.asarray(leaf)
        if array.dtype.kind in "OUS":
            return leaf
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        elif not array.flags.writeable:
            array = array.copy()  # torch shares the memory, and warns where it may not write
        return torch.from_numpy(np.ascontiguousarray(array)).to(device)

    return convert(value) if type(value) is np.ndarray else nest.map_structure(convert, value)


def as_array(value: Any) -> Array:
    """A tensor as an array of at most 32 bits."""
    array = np.asarray(value.detach().cpu() if isinstance(value, torch.Tensor) else value)
    return array.astype(_REDUCED.get(array.dtype, array.dtype), copy=False)
