"""Columns of a batch as pure functions: count, cut, join, copy, move to a device.

A column is an array, a tensor, a list (of infos), or dicts and tuples of these. Columns that start
with "state_in_", and "seq_lens", have one entry per sequence; all others one per step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from ...core import array_namespace as xp
from ...core.errors import PieceError
from ...core.importing.torch_needed import torch_needed
from ...core.types import Array

SEQ_LENS = "seq_lens"
_LAST: Final = "last"


def map_column(function: Callable[..., Any], *columns: Any) -> Any:
    """Apply `function` to the arrays of equally built columns; a list counts as an array.

    Example:
        >>> map_column(len, {"a": [1, 2], "b": ([3],)})
        {'a': 2, 'b': (1,)}
    """
    first = columns[0]
    if isinstance(first, dict):
        return {key: map_column(function, *(each[key] for each in columns)) for key in first}
    if isinstance(first, tuple):
        parts = [map_column(function, *each) for each in zip(*columns, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)
    return function(*columns)


def first_array(column: Any) -> Any:
    """The first array of a column, None where there is none."""
    while isinstance(column, (dict, tuple)):
        values = column.values() if isinstance(column, dict) else column
        column = next(iter(values), None)
    return column


def arrays_of(column: Any) -> list[Any]:
    """All arrays of a column."""
    arrays: list[Any] = []
    map_column(arrays.append, column)
    return arrays


def is_per_sequence(name: str) -> bool:
    """Whether a column has one entry per sequence instead of one per step."""
    return name == SEQ_LENS or name.startswith("state_in_")


def has_lens(lens: Any) -> bool:
    """Whether a batch's "seq_lens" say anything."""
    return lens is not None and np.ndim(lens) == 1 and len(lens) > 0


def lens_of(columns: Mapping[str, Any]) -> Array | None:
    """The lengths of the sequences as a numpy array; None where there are none."""
    lens = dict.get(columns, SEQ_LENS) if isinstance(columns, dict) else columns.get(SEQ_LENS)
    return np.asarray(xp.to_numpy(lens), np.int64) if has_lens(lens) else None


def count_steps(columns: Mapping[str, Any]) -> int:
    """Return the number of steps, without padding."""
    lens = lens_of(columns)
    if lens is not None:
        return int(lens.sum())
    for name, column in columns.items():
        if name == "infos" or name.startswith(("state_in_", "state_out_")) or name == SEQ_LENS:
            continue
        array = first_array(column)
        if array is not None and np.ndim(array) > 0:
            return len(array)
    return 0


def count_bytes(columns: Mapping[str, Any]) -> int:
    """Return the memory of all arrays in bytes."""
    sizes = [
        getattr(array, "nbytes", 0) for column in columns.values() for array in arrays_of(column)
    ]
    return int(sum(sizes))


def cut_steps(columns: Mapping[str, Any], start: int, end: int) -> dict[str, Any]:
    """Return steps `start` to `end`; sequences that overlap the edges are cut.

    If the start of a sequence is cut off, the state still belongs to the original start.
    """
    lens = lens_of(columns)
    if lens is None:
        return {name: _cut(column, start, end) for name, column in columns.items()}
    ends = np.cumsum(lens)
    overlap = np.minimum(ends, end) - np.maximum(ends - lens, start)
    steps = np.flatnonzero(overlap > 0)
    cut = {}
    for name, column in columns.items():
        if name == SEQ_LENS:
            cut[name] = overlap[steps].astype(np.int32)
        elif is_per_sequence(name):
            cut[name] = map_column(lambda array: array[steps], column)
        else:
            cut[name] = _cut(column, start, end)
    return cut


def cut_sequences(
    columns: Mapping[str, Any], first: int, last: int, padded_length: int | None
) -> dict[str, Any]:
    """Sequences `first` to before `last`, whole; padded ones have `padded_length` rows each."""
    lens = lens_of(columns)
    assert lens is not None, "only batches with seq_lens have sequences"
    if padded_length is not None:
        start, end = first * padded_length, last * padded_length
    else:
        bounds = np.concatenate([[0], np.cumsum(lens)])
        start, end = int(bounds[first]), int(bounds[last])
    return {
        name: _cut(column, first, last) if is_per_sequence(name) else _cut(column, start, end)
        for name, column in columns.items()
    }


def take_rows(columns: Mapping[str, Any], rows: Array) -> dict[str, Any]:
    """The given rows of every column, in that order."""

    def taken(array: Any) -> Any:
        return [array[row] for row in rows] if isinstance(array, list) else array[rows]

    return {name: map_column(taken, column) for name, column in columns.items()}


def rows_of_sequences(order: Array, length: int) -> Array:
    """The rows of padded sequences, in the given order of sequences.

    Example:
        >>> rows_of_sequences(np.array([1, 0]), 2)
        array([2, 3, 0, 1])
    """
    return np.asarray((order[:, None] * length + np.arange(length)).reshape(-1))


def one_row(column: Any, row: int) -> Any:
    """One row of a column."""
    return map_column(lambda array: array[row], column)


def join_columns(name: str, parts: Sequence[Any], *, axis: int = 0) -> Any:
    """Columns of several batches as one."""

    def joined(*arrays: Any) -> Any:
        if isinstance(arrays[0], list):
            return [item for array in arrays for item in array]
        if xp.is_tensor(arrays[0]):
            return xp.concatenate(arrays, axis)
        return np.concatenate([xp.to_numpy(array) for array in arrays], axis=axis)

    try:
        return map_column(joined, *parts)
    except (ValueError, KeyError, TypeError) as error:
        raise PieceError(
            f"column {name!r} cannot be joined: its parts differ.", found=str(error)
        ) from error


def copy_column(column: Any, *, shallow: bool = False) -> Any:
    """A column of the same arrays, or of copies of them."""

    def copied(array: Any) -> Any:
        if isinstance(array, np.ndarray):
            return array.copy()
        if xp.is_tensor(array):
            return array.clone()
        return list(array) if isinstance(array, list) else array

    return map_column((lambda array: array) if shallow else copied, column)


def single_step_columns(
    columns: Mapping[str, Any], view_requirements: Mapping[str, Any], index: str | int
) -> dict[str, Any]:
    """Return the columns of one step, one row each, with "seq_lens" of 1 if there are states.

    "last" is the position after the last step: its observation is "new_obs", and the values of the
    last step become the previous ones. Other steps are returned unchanged.
    """
    built: dict[str, Any] = {}
    for name, view in view_requirements.items():
        if not view.used_for_compute_actions:
            continue
        source = view.data_col or name
        if index == _LAST and source == "obs" and "new_obs" in columns:
            source = "new_obs"
        if source not in columns:
            raise PieceError(
                f"view {name!r} needs the column {source!r}, which this batch lacks",
                found=f"columns {list(columns)}",
            )
        newest = 0 if source in ("obs", "new_obs", "infos") else -1
        is_single = len(view.shift_arr) == 1
        offsets = np.array([0] if is_single else [int(shift) - newest for shift in view.shift_arr])
        place = -1 if index == _LAST else int(index)
        built[name] = map_column(partial(_window, place, offsets), columns[source])
    if any(name.startswith("state_in_") for name in built):
        built[SEQ_LENS] = np.array([1], np.int32)
    return built


def _window(place: int, offsets: Array, array: Any) -> Any:
    """Rows at fixed distances from one place; zeros before the first row."""
    array = array if xp.is_tensor(array) else np.asarray(array)
    rows = len(array)
    places = (place + rows if place < 0 else place) + offsets
    if len(places) == 1:
        start = int(places[0])
        return array[start : start + 1]
    values = np.array(xp.to_numpy(array)[np.clip(places, 0, rows - 1)])
    values[(places < 0) | (places >= rows)] = 0
    return values[None]


def to_torch(
    column: Any,
    device: Any,
    pin_memory: bool = False,
    use_stream: bool = False,
    stream: Any = None,
) -> Any:
    """Convert a column to tensors on `device`: float64 to float32, objects and strings unchanged.

    Without a device, tensors are not moved.
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


def _cut(column: Any, start: int, end: int) -> Any:
    return map_column(lambda array: array[start:end] if np.ndim(array) else array, column)
