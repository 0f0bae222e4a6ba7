"""Many observations as rows, leaf by leaf; `core.preprocessors` says which leaf lies where."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from . import xp
from .batching import stack_rows
from .errors import SpaceError
from .leaf_encoders import FlatEncoder, LeafEncoder
from .types import Array

_SHAPE: Final = attrgetter("shape")
_DTYPE: Final = attrgetter("dtype")
_NBYTES: Final = attrgetter("nbytes")
_NUMBERS: Final = "biufc"
_SMALL: Final = 1024
_FEW: Final = 16


def rows_of_leaves(
    columns: Sequence[Sequence[Any]],
    encoders: Sequence[LeafEncoder],
    parts: Sequence[slice],
    dtype: npt.DTypeLike,
) -> Array:
    """One row for each observation.

    Args:
        columns: The values of each leaf, one for each observation.
        encoders: One for each leaf.
        parts: Where each leaf lies in a row.
        dtype: Of the rows.

    Raises:
        SpaceError: The values of a leaf are no arrays or numbers of one type and its shape.
    """
    rows = len(columns[0])
    for column in columns:
        kind = type(column[0])
        if [*map(type, column)].count(kind) < rows:
            raise SpaceError("values of several kinds")
        if kind is not np.ndarray and xp.is_tensor(column[0]):
            raise SpaceError("tensors")
    if rows <= _FEW:  # All values joined at once: that spares the overhead of each leaf.
        flat = [_flat(encoder, column) for encoder, column in zip(encoders, columns, strict=True)]
        values = [*chain.from_iterable(zip(*flat, strict=True))]
        joined: Array = np.concatenate(values, dtype=dtype, casting="same_kind")
        return joined.reshape(rows, -1)
    out = np.zeros((rows, parts[-1].stop), dtype)
    for column, encoder, part in zip(columns, encoders, parts, strict=True):
        _write(encoder, column, out[:, part])
    return out


def _write(encoder: LeafEncoder, values: Sequence[Any], out: Array) -> None:
    """Put values of one type into zeros `(rows, size)`."""
    if type(values[0]) is np.ndarray:
        if type(encoder) is FlatEncoder:
            joined = _joined(values, encoder.size)
            if joined is not None:
                out[:] = joined
                return
        rows = np.array(values)
    else:
        rows = stack_rows(values)
    if rows.shape[1:] != encoder.item_shape:
        raise SpaceError("values of another shape")
    encoder.write(rows, out)


def _joined(values: Sequence[Any], size: int) -> Array | None:
    """Small arrays as flat rows, by joining their bytes: twice as fast as numpy's own way.

    Returns:
        None where they are not of one dtype and that size, or not contiguous.
    """
    dtype = values[0].dtype
    nbytes = size * dtype.itemsize
    if dtype.kind not in _NUMBERS or not 0 < nbytes <= _SMALL:
        return None
    if [*map(_DTYPE, values)].count(dtype) < len(values) or {*map(_NBYTES, values)} != {nbytes}:
        return None
    try:
        return np.frombuffer(bytearray().join(values), dtype).reshape(len(values), size)
    except BufferError:
        return None


def _flat(encoder: LeafEncoder, values: Sequence[Any]) -> Sequence[Array]:
    """Values of one type as flat arrays."""
    if type(encoder) is FlatEncoder and type(values[0]) is np.ndarray:
        if {*map(_SHAPE, values)} != {encoder.item_shape}:
            raise SpaceError("values of another shape")
        if len(encoder.item_shape) == 1:
            return values
        return [value.reshape(encoder.size) for value in values]
    rows = np.zeros((len(values), encoder.size), np.float32)
    if encoder.item_shape == () and isinstance(values[0], (int, np.integer)):
        for value, row in zip(values, rows, strict=True):
            encoder.write_one(value, row)
    else:
        _write(encoder, values, rows)
    return [*rows]
