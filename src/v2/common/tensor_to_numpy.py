"""Torch tensors into arrays."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from typing_extensions import override

from ...core import nest, xp
from ...core.types import Array, Nest
from ..connector import ConnectorV2

_FLOAT32: Final = np.dtype(np.float32)
_NARROW: Final = {np.dtype(np.float64): np.float32, np.dtype(np.int64): np.int32}


class TensorToNumpy(ConnectorV2):
    """Turn tensors into arrays of float32 and int32, and those of one number into Python's.

    Arrays that are there already become as narrow.

    Example:
        >>> TensorToNumpy()(rl_module=None, batch={"x": np.array([1])}, episodes=[])["x"].dtype
        dtype('int32')
    """

    @override
    def __call__(self, *, batch: dict[str, Any], **kwargs: Any) -> Any:
        return narrowed(batch)


def narrowed(data: Nest) -> Nest:
    """A nest of tensors and arrays as arrays of float32 and int32."""
    if type(data) is dict:
        return {key: narrowed(own) for key, own in data.items()}
    return _narrow(data) if xp.is_tensor(data) else nest.map_structure(_narrow, data)


def _narrow(leaf: Any) -> Any:
    if xp.is_tensor(leaf):
        if leaf.ndim == 0:
            return leaf.item()
        leaf = _array(leaf)
    if isinstance(leaf, np.ndarray) and leaf.dtype in _NARROW:
        return leaf.astype(_NARROW[leaf.dtype])
    return leaf


def _array(tensor: Any) -> Array:
    if tensor.dtype.itemsize < _FLOAT32.itemsize and tensor.is_floating_point():
        tensor = tensor.float()  # numpy knows no bfloat16
    if tensor.is_cpu and not tensor.requires_grad:
        array: Array = tensor.numpy()  # the usual case of what follows
        return array
    return np.asarray(xp.to_numpy(tensor))
