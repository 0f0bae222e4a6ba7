"""Torch tensors into arrays."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from typing_extensions import override

from ....core import array_namespace as xp
from ....core import nest
from ....core.types import Array, Nest
from ..connector import ConnectorV2

_NARROW: Final[dict[np.dtype[Any], Any]] = {
    np.dtype(np.float64): np.float32,
    np.dtype(np.int64): np.int32,
}
_OF_TENSORS: Final[dict[np.dtype[Any], Any]] = {**_NARROW, np.dtype(np.float16): np.float32}


class TensorToNumpy(ConnectorV2):
    """Turn tensors into arrays of float32 and int32, and those of one number into Python's.

    Arrays that are there already become as narrow.

    Example:
        >>> TensorToNumpy()(rl_module=None, batch={"x": np.array([1])}, episodes=[])["x"].dtype
        dtype('int32')
    """

    @override
    def __call__(self, *, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        made: dict[str, Any] = narrowed(batch)
        return made


def narrowed(data: Nest) -> Nest:
    """A nest of tensors and arrays as arrays of float32 and int32."""
    if type(data) is np.ndarray:
        return _narrow_array(data)
    if type(data) is dict:
        return {key: narrowed(own) for key, own in data.items()}
    return _narrow_tensor(data) if xp.is_tensor(data) else nest.map_structure(_narrow, data)


def _narrow(leaf: Any) -> Any:
    if xp.is_tensor(leaf):
        return _narrow_tensor(leaf)
    return _narrow_array(leaf) if isinstance(leaf, np.ndarray) else leaf


def _narrow_array(array: Array) -> Array:
    narrow = _NARROW.get(array.dtype)
    return array if narrow is None else array.astype(narrow)


def _narrow_tensor(tensor: Any) -> Any:
    try:
        array = tensor.numpy()  # the usual case of what follows
    except (TypeError, RuntimeError):  # It has a gradient or is elsewhere; numpy knows no bfloat16.
        array = xp.to_numpy(tensor.float() if tensor.is_floating_point() else tensor)
    if not array.ndim:
        return array.item()
    narrow = _OF_TENSORS.get(array.dtype)
    return array if narrow is None else array.astype(narrow)
