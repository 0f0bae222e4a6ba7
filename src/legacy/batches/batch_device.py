"""Columns of a batch as torch tensors on a device."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import array_namespace as xp
from ...core.importing.torch_needed import torch_needed
from .batch_columns import map_column


def to_torch(
    column: Any,
    device: Any,
    pin_memory: bool = False,
    use_stream: bool = False,
    stream: Any = None,
) -> Any:
    """A column as tensors on `device`; float64 as float32, objects and strings as they are.

    Without a device tensors stay where they are.
    """
    with torch_needed("a batch of tensors"):
        import torch

    def moved(leaf: Any) -> Any:
        if not xp.is_tensor(leaf):
            array = np.asarray(leaf)
            if array.dtype.kind not in "biufc":
                return leaf
            if array.dtype == np.float64:
                array = array.astype(np.float32)
            # torch warns about memory it may not write to and knows no negative strides.
            leaf = torch.from_numpy(np.array(array))
        if pin_memory and torch.cuda.is_available():
            leaf = leaf.pin_memory()
        if device is None:
            return leaf
        if use_stream and torch.cuda.is_available():
            with torch.cuda.stream(stream):
                return leaf.to(device, non_blocking=True)
        return leaf.to(device)

    return map_column(moved, column)
