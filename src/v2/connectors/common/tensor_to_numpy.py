"""Torch tensors into arrays."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from typing_extensions import override

from ....core import array_namespace as xp
from ....core import nest
from ....core.step.part import moves_numbers
from ....core.types import Nest
from ..columnar import ColumnarPiece
from ..piece_plan import Call

NARROW: Final[dict[np.dtype[Any], Any]] = {
    np.dtype(np.float64): np.float32,
    np.dtype(np.int64): np.int32,
}
NARROW_TENSORS: Final[dict[np.dtype[Any], Any]] = {**NARROW, np.dtype(np.float16): np.float32}


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
    tensor = None if torch is None else torch.Tensor
    return _narrowed(data, tensor) if type(data) is dict else _narrowed({"": data}, tensor)[""]


def _narrowed(columns: Mapping[Any, Nest], tensor: Any) -> dict[Any, Any]:
    """All of a dict in one call: a call for each takes as long as what it does."""
    arrays: dict[Any, Any] = {}
    for name, value in columns.items():
        kind = type(value)
        if kind is dict:
            arrays[name] = _narrowed(value, tensor)
            continue
        narrows, array = NARROW_TENSORS, value
        if kind is tensor or xp.is_tensor(value):
            try:
                array = value.numpy()  # the usual case of what follows
            except (TypeError, RuntimeError):  # It has a gradient or is elsewhere; or is bfloat16.
                array = xp.to_numpy(value.float() if value.is_floating_point() else value)
            if not array.ndim:
                arrays[name] = array.item()
                continue
        elif isinstance(value, np.ndarray):
            narrows = NARROW
        else:
            arrays[name] = nest.map_structure(_narrow, value)
            continue
        narrow = narrows.get(array.dtype)
        arrays[name] = array if narrow is None else array.astype(narrow)
    return arrays


def _narrow(leaf: Any) -> Any:
    is_known = isinstance(leaf, np.ndarray) or xp.is_tensor(leaf)
    return narrowed(leaf) if is_known else leaf
