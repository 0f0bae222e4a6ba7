"""Torch tensors into arrays."""

from __future__ import annotations

import sys
from typing import Any, Final

import numpy as np
from typing_extensions import override

from ....core import array_namespace as xp
from ....core import nest
from ....core.step.part import moves_numbers
from ....core.types import Array, Nest
from ..columnar import ColumnarPiece
from ..piece_plan import Call

_NARROW: Final[dict[np.dtype[Any], Any]] = {
    np.dtype(np.float64): np.float32,
    np.dtype(np.int64): np.int32,
}
_OF_TENSORS: Final[dict[np.dtype[Any], Any]] = {**_NARROW, np.dtype(np.float16): np.float32}


class TensorToNumpy(ColumnarPiece):
    """Turn tensors into arrays of float32 and int32, and those of one number into Python's.

    Arrays that are there already become as narrow.

    Example:
        >>> TensorToNumpy()(rl_module=None, batch={"x": np.array([1])}, episodes=[])["x"].dtype
        dtype('int32')
    """

    part = moves_numbers

    @override
    def columns(self, batch: dict[str, Any], call: Call) -> dict[str, Any]:
        arrays: dict[str, Any] = narrowed(batch)
        return arrays


def narrowed(data: Nest) -> Nest:
    """A nest of tensors and arrays as arrays of float32 and int32."""
    torch = sys.modules.get("torch")
    return _narrowed(data, None if torch is None else torch.Tensor)


def _narrowed(data: Nest, tensor: Any) -> Nest:
    kind = type(data)
    if kind is dict:
        return {key: _narrowed(value, tensor) for key, value in data.items()}
    if kind is np.ndarray:
        narrow = _NARROW.get(data.dtype)
        return data if narrow is None else data.astype(narrow)
    if kind is not tensor and not xp.is_tensor(data):
        is_array = isinstance(data, np.ndarray)
        return _narrow_array(data) if is_array else nest.map_structure(_narrow, data)
    try:
        array = data.numpy()  # the usual case of what follows
    except (TypeError, RuntimeError):  # It has a gradient or is elsewhere; numpy knows no bfloat16.
        array = xp.to_numpy(data.float() if data.is_floating_point() else data)
    if not array.ndim:
        return array.item()
    narrow = _OF_TENSORS.get(array.dtype)
    return array if narrow is None else array.astype(narrow)


def _narrow(leaf: Any) -> Any:
    is_known = isinstance(leaf, np.ndarray) or xp.is_tensor(leaf)
    return narrowed(leaf) if is_known else leaf


def _narrow_array(array: Array) -> Array:
    narrow = _NARROW.get(array.dtype)
    return array if narrow is None else array.astype(narrow)
