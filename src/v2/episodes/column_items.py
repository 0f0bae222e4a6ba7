"""Items and columns: stack items to a column, grow it, fill it, write into it.

A *column* is one array with a row per time step, or a nest of such arrays when an item is a nest.
Flat arrays, the usual case, never meet a nest function here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core import nest
from ...core.arrays.batching import stack_rows
from ...core.arrays.one_hot import one_hot_in_space
from ...core.errors import EpisodeError, SpaceError
from ...core.spaces.walk import AnySpace, kind_of, map_leaves
from ...core.types import Array, Nest


def stacked(items: Sequence[Any]) -> Nest:
    """One column of many items.

    Raises:
        EpisodeError: The items differ in shape or structure.
    """
    first = items[0]
    try:
        if isinstance(first, (bool, np.ndarray)) and not np.ndim(first):
            return np.array(items)
        if nest.is_leaf(first) or isinstance(first, list):
            return stack_rows(items)
        if type(first) is dict and all(type(item) is dict for item in items):
            return _stacked_dicts(items, first)
        return nest.map_structure(lambda *leaves: stacked(leaves), *items)
    except (SpaceError, ValueError, TypeError) as error:
        raise EpisodeError(
            "these items make no column",
            expected=f"{len(items)} items built like the first, {_brief(first)}",
            found=str(error),
            hint="keep the episode unfinalized (do not call to_numpy()), or make the items alike.",
        ) from None


def _stacked_dicts(items: Sequence[dict[Any, Any]], first: dict[Any, Any]) -> Nest:
    for item in items:
        if item.keys() != first.keys():
            raise SpaceError(f"keys {sorted(map(str, item.keys() ^ first.keys()))} in some only")
    return {key: stacked([item[key] for item in items]) for key in first}


def length_of(column: Nest) -> int:
    """How many rows a column has, or items a list."""
    if isinstance(column, (list, np.ndarray)):
        return len(column)
    if type(column) is dict and column:
        first = next(iter(column.values()))
        if type(first) is np.ndarray:
            return len(first)
    leaves = nest.flatten(column)
    return len(leaves[0]) if leaves else 0


def copied(column: Nest) -> Nest:
    """A column that shares no memory with `column`."""
    if type(column) is np.ndarray:
        return column.copy()
    return nest.mapped(np.array, column)


def with_room(column: Nest, count: int, rows: int) -> Nest:
    """A store of `rows` rows whose first `count` are those of `column`."""

    def roomy(leaf: Array) -> Array:
        store = np.empty((rows, *leaf.shape[1:]), leaf.dtype)
        store[:count] = leaf
        return store

    return nest.mapped(roomy, column)


def repeat_row(store: Nest, row: int) -> None:
    """Write a row once more behind itself."""

    def repeated(leaf: Array) -> None:
        leaf[row + 1] = leaf[row]

    nest.mapped(repeated, store)


def fits_dtype(column: Nest, values: Nest) -> bool:
    """Whether values can be written into a column and stay the numbers they are."""
    if type(column) is np.ndarray:
        return _fits(column, values)
    try:
        fits = nest.map_structure(_fits, column, values)
    except SpaceError as error:
        raise EpisodeError("a new item is not built like the others", found=str(error)) from None
    return all(nest.flatten(fits))


def _fits(column: Array, values: Any) -> bool:
    given = np.asarray(values)
    dtype = given.dtype
    if dtype == column.dtype:
        return True
    if dtype.kind == "O":
        raise EpisodeError(
            "a new item is not built like the others",
            expected=f"an array of {column.dtype}",
            found=_brief(values),
        )
    if dtype.kind in "US":
        return dtype.kind == column.dtype.kind and dtype.itemsize <= column.dtype.itemsize
    if dtype.kind in "iu" and column.dtype.kind in "iu" and given.size:
        limits = np.iinfo(column.dtype)
        return bool(given.min() >= limits.min and given.max() <= limits.max)
    return np.can_cast(dtype, column.dtype, "same_kind")


def widened(column: Nest, values: Nest) -> Nest:
    """A copy of a column in a dtype that holds its numbers and those of `values`."""

    def wide(leaf: Array, value: Any) -> Array:
        return leaf.astype(np.result_type(leaf.dtype, np.asarray(value).dtype))

    if type(column) is np.ndarray:
        return wide(column, values)
    return nest.map_structure(wide, column, values)


def written(column: Nest, at: Any, values: Nest) -> None:
    """Write values into the rows at an int, a slice or an array of positions.

    Raises:
        EpisodeError: The values have another shape than the rows.
    """
    try:
        if type(column) is np.ndarray:
            column[at] = values
        else:
            nest.map_structure(lambda leaf, value: _put(leaf, at, value), column, values)
    except (ValueError, SpaceError) as error:
        raise EpisodeError(
            "new data does not fit the items there are",
            expected=f"items like {_brief(nest.taken(column, 0) if length_of(column) else column)}",
            found=f"{_brief(values)} ({error})",
        ) from None


def _put(leaf: Array, at: Any, value: Any) -> None:
    leaf[at] = value


def filled_item(fill: Any, space: AnySpace | None) -> Any:
    """What stands for an item that does not exist: `fill` in the form of the space, if one."""
    if space is None:
        return fill
    return _by_leaf(lambda leaf, value: np.full(leaf.shape or (), value, leaf.dtype), space, fill)


def filled_rows(fill: Any, space: AnySpace | None, column: Nest, count: int) -> Nest:
    """`count` rows of `fill` to stand beside a column."""
    if space is not None and not isinstance(column, np.ndarray):
        rows = _by_leaf(
            lambda leaf, value: np.full((count, *(leaf.shape or ())), value, leaf.dtype),
            space,
            fill,
        )
        return rows
    dtype = None if space is None or kind_of(space) in ("Dict", "Tuple") else space.dtype
    if isinstance(column, np.ndarray):
        return np.full((count, *column.shape[1:]), fill, dtype)
    return nest.map_structure(lambda leaf: np.full((count, *leaf.shape[1:]), fill), column)


def _by_leaf(function: Any, space: AnySpace, fill: Any) -> Nest:
    if nest.is_leaf(fill):
        return map_leaves(lambda leaf: function(leaf, fill), space)
    return map_leaves(function, space, fill)


def repeated(item: Nest, count: int) -> Nest:
    """A column of `count` rows, each of them `item`."""
    return nest.map_structure(lambda leaf: np.repeat(leaf[None], count, axis=0), item)


def one_hot(values: Nest, space: AnySpace) -> Nest:
    """Discrete and MultiDiscrete leaves as one-hot rows, the others as they are."""

    def encoded(leaf: AnySpace, value: Any) -> Any:
        if kind_of(leaf) in ("Discrete", "MultiDiscrete"):
            return one_hot_in_space(np.asarray(value), leaf)
        return value

    return map_leaves(encoded, space, values)


def one_hot_fill(fill: Any, space: AnySpace) -> Nest:
    """What stands for a missing item once items are one-hot: rows full of `fill`."""

    def encoded(leaf: AnySpace, value: Any) -> Any:
        kind = kind_of(leaf)
        if kind == "Discrete":
            return np.full((int(leaf.n),), value, np.float32)  # type: ignore[attr-defined]
        if kind == "MultiDiscrete":
            return np.full((int(leaf.nvec.sum()),), value, np.float32)  # type: ignore[attr-defined]
        return np.full(leaf.shape or (), value, leaf.dtype)

    return _by_leaf(encoded, space, fill)


def _brief(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
