"""Batches of observations as rows, leaf by leaf; see `preprocessors` for the order of leaves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .. import array_namespace as xp
from ..arrays.batching import stack_rows
from ..errors import SpaceError
from ..types import Array
from .leaf_encoders import FlatEncoder, LeafEncoder, OneHotEncoder

_SHAPE: Final = attrgetter("shape")
_DTYPE: Final = attrgetter("dtype")
_NBYTES: Final = attrgetter("nbytes")
_ARRAYS: Final = {np.ndarray}
_NUMBERS: Final = "biufc"
_SMALL: Final = 1024
_FEW: Final = 16


def rows_of_leaves(
    columns: Sequence[Sequence[Any]],
    encoders: Sequence[LeafEncoder],
    parts: Sequence[slice],
    dtype: npt.DTypeLike,
) -> Array:
    """One row for each observation, of the values of each leaf, which have their part of it."""
    rows = len(columns[0])
    if rows <= _FEW:  # All values joined at once: that spares the overhead of each leaf.
        flat = [_flat(encoder, column) for encoder, column in zip(encoders, columns, strict=True)]
        values = [*chain.from_iterable(zip(*flat, strict=True))]
        if {*map(type, values)} != _ARRAYS:
            raise SpaceError("values of several kinds")
        joined: Array = np.concatenate(values, dtype=dtype, casting="same_kind")
        return joined.reshape(rows, parts[-1].stop)
    out = np.zeros((rows, parts[-1].stop), dtype)
    for column, encoder, part in zip(columns, encoders, parts, strict=True):
        _check_kind(column)
        _write(encoder, column, out[:, part])
    return out


def row_of_leaves(
    leaves: Sequence[Any], encoders: Sequence[LeafEncoder], dtype: npt.DTypeLike
) -> Array | None:
    """The values of one observation, joined; None where they have to be written leaf by leaf."""
    flat = []
    for leaf, encoder in zip(leaves, encoders, strict=True):
        numbers = encoder.flat(leaf)
        if numbers is None:
            return None
        flat.append(numbers)
    try:
        return np.concatenate(flat, dtype=dtype, casting="same_kind")
    except (TypeError, ValueError):
        return None  # Numbers of another kind, or no leaves.


def _check_kind(values: Sequence[Any]) -> None:
    """Refuse tensors, and values of several types."""
    kind = type(values[0])
    if [*map(type, values)].count(kind) < len(values):
        raise SpaceError("values of several kinds")
    if kind is not np.ndarray and xp.is_tensor(values[0]):
        raise SpaceError("tensors")


def _write(encoder: LeafEncoder, values: Sequence[Any], out: Array) -> None:
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
    """Values as flat arrays; where the first is an array, others may not be any."""
    if type(values[0]) is np.ndarray and type(encoder) is FlatEncoder:
        shape = encoder.item_shape
        if len(shape) == 1 and {*map(len, values)} == {shape[0]}:
            return values  # Joining refuses those of more axes.
        if {*map(_SHAPE, values)} != {shape}:
            raise SpaceError("values of another shape")
        return [column.ravel() for column in values]
    _check_kind(values)
    is_number = encoder.item_shape == () and isinstance(values[0], (int, np.integer))
    if is_number and type(encoder) is OneHotEncoder:
        try:
            return [*map(encoder.rows.__getitem__, values)]
        except KeyError:
            pass  # One by one they are written, or the one outside of the leaf is named.
    rows = np.zeros((len(values), encoder.size), np.float32)
    if is_number:
        for value, row in zip(values, rows, strict=True):
            encoder.write_one(value, row)
    else:
        _write(encoder, values, rows)
    return [*rows]
