"""Items and columns: stack items to a column, grow it, fill it, write into it.

A *column* is one array with a row per time step, or a nest of such arrays when an item is a nest.
Flat arrays, the usual case, never meet a nest function here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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


def listed(values: Any) -> list[Any]:
    """Values as a list of items: a list as it is, a column row by row."""
    if isinstance(values, (list, np.ndarray)):
        return list(values)
    leaves = nest.flatten(values)
    if leaves and all(isinstance(leaf, np.ndarray) and leaf.ndim for leaf in leaves):
        return [nest.taken(values, row) for row in range(len(leaves[0]))]
    return list(values) if isinstance(values, Iterable) else [values]


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
    array = np.asarray(values)
    dtype = array.dtype
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
    if dtype.kind in "iu" and column.dtype.kind in "iu" and array.size:
        limits = np.iinfo(column.dtype)
        return bool(array.min() >= limits.min and array.max() <= limits.max)
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


def filled_item(
    fill: Any, space: AnySpace | None, one_hot_discrete: bool = False, rows: tuple[int, ...] = ()
) -> Any:
    """What stands for an item that does not exist: `fill` in the form of the space, if one.

    Args:
        fill: One value, or one for each leaf.
        space: The space of an item.
        one_hot_discrete: Whether Discrete and MultiDiscrete parts are one-hot vectors.
        rows: Axes before those of an item.
    """
    if space is None:
        return fill

    def filled(leaf: AnySpace, value: Any) -> Any:
        shape, dtype, kind = leaf.shape or (), leaf.dtype, kind_of(leaf)
        if one_hot_discrete and kind in ("Discrete", "MultiDiscrete"):
            size = leaf.n if kind == "Discrete" else leaf.nvec.sum()  # type: ignore[attr-defined]
            shape, dtype = (int(size),), np.dtype(np.float32)
        return np.full((*rows, *shape), value, dtype)

    if nest.is_leaf(fill):
        return map_leaves(lambda leaf: filled(leaf, fill), space)
    return map_leaves(filled, space, fill)


def filled_rows(
    fill: Any, space: AnySpace | None, column: Nest, count: int, one_hot_discrete: bool
) -> Nest:
    """`count` rows of `fill` to stand beside a column."""
    if space is not None and (one_hot_discrete or not isinstance(column, np.ndarray)):
        return filled_item(fill, space, one_hot_discrete, (count,))
    dtype = None if space is None or kind_of(space) in ("Dict", "Tuple") else space.dtype
    if isinstance(column, np.ndarray):
        return np.full((count, *column.shape[1:]), fill, dtype)
    return nest.map_structure(lambda leaf: np.full((count, *leaf.shape[1:]), fill), column)


def expect_space(space: AnySpace | None) -> AnySpace:
    """The space that one-hot vectors need.

    Raises:
        EpisodeError: There is none.
    """
    if space is None:
        raise EpisodeError(
            "one_hot_discrete=True needs the space of the items",
            found="a buffer without a space",
            hint="give the episode its observation_space and action_space.",
        )
    return space


def one_hot(values: Nest, space: AnySpace | None) -> Nest:
    """Discrete and MultiDiscrete leaves as one-hot rows, the others and empty ones as they are."""

    def encoded(leaf: AnySpace, value: Any) -> Any:
        if kind_of(leaf) in ("Discrete", "MultiDiscrete") and np.size(value):
            return one_hot_in_space(np.asarray(value), leaf)
        return value

    return map_leaves(encoded, expect_space(space), values)


def _brief(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
