"""Columns of arrays as tensors on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .. import nest


def as_tensors(value: Any, device: Any = None) -> Any:
    """A nest of arrays as tensors; float64 becomes float32, objects and text stay as they are."""

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

    return nest.map_structure(convert, value)
