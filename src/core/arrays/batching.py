"""Nested items to one nest of arrays and back: a new first axis counts the items.

Items may already be batches; `BatchedNdArray` tags an array as such without a copy.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from typing_extensions import Self

from .. import array_namespace as xp
from .. import nest
from ..errors import SpaceError
from ..types import Array, Nest

_PLAIN: Final = frozenset(
    {np.ndarray, float, int, bool, np.float32, np.float64, np.int64, np.bool_}
)

_SHAPE: Final = attrgetter("shape")
_NUMBERS: Final = "biufc"
_SMALL: Final = 1024
_FEW: Final = 8
_LONG: Final = 8


class BatchedNdArray(np.ndarray[Any, Any]):
    """An array whose first axis counts items; shares the memory of what it is made from.

    Example:
        >>> plain = np.zeros((3, 2))
        >>> tagged = BatchedNdArray(plain)
        >>> isinstance(tagged, np.ndarray), np.shares_memory(plain, tagged)
        (True, True)
    """

    def __new__(cls, input_array: npt.ArrayLike) -> Self:
        """View `input_array` as a batch."""
        return np.asarray(input_array).view(cls)


def batch(
    list_of_structs: Sequence[Nest],
    *,
    individual_items_already_have_batch_dim: bool | str = False,
) -> Nest:
    """Stack items of the same structure to one nest of arrays.

    Args:
        list_of_structs: The items. Python numbers get the dtype numpy chooses for them.
        individual_items_already_have_batch_dim: False stacks the items, True concatenates them,
            "auto" concatenates exactly where the first item's leaves are `BatchedNdArray`.

    Raises:
        SpaceError: There are no items, or their structures differ.

    Example:
        >>> batch([{"a": 1, "b": (2.5,)}, {"a": 3, "b": (4.5,)}])
        {'a': array([1, 3]), 'b': (array([2.5, 4.5]),)}
    """
    if len(list_of_structs) == 0:
        raise SpaceError("the list holds no items", expected="at least one item to batch")
    first = list_of_structs[0]
    if individual_items_already_have_batch_dim == "auto":
        leaves = nest.flatten(first)
        is_batched = bool(leaves) and isinstance(leaves[0], BatchedNdArray)
    elif isinstance(individual_items_already_have_batch_dim, str):
        raise SpaceError(
            "individual_items_already_have_batch_dim is not understood",
            expected="True, False or 'auto'",
            found=repr(individual_items_already_have_batch_dim),
        )
    else:
        is_batched = individual_items_already_have_batch_dim
    join = join_rows if is_batched else stack_rows
    # A list as an item is an array to RLlib; inside of an item it is a nest like any other.
    if isinstance(first, list) or nest.is_leaf(first):
        return join(list_of_structs)
    columns = _flat_columns(list_of_structs)
    if columns is not None:
        return {key: join(column) for key, column in columns.items()}
    return nest.map_structure(lambda *leaves: join(leaves), *list_of_structs)


def stack_rows(items: Sequence[Any]) -> Array:
    """Arrays or numbers of one shape, stacked on a new first axis."""
    first = items[0]
    if not isinstance(first, np.ndarray):
        kind = type(first)
        if kind is float or kind is int:
            return _plain_rows(items, "d" if kind is float else "q")
        if isinstance(first, np.generic) and first.dtype.kind in _NUMBERS:
            return _number_rows(items, first)
        if not xp.is_tensor(first):
            return _as_rows(items)
        items = [xp.to_numpy(item) for item in items]
        first = items[0]
    if not first.ndim:
        return _as_rows(items)
    if len(items) > _FEW:
        rows = rows_of_alike(items)
        if rows is not None:
            return rows
    try:
        shapes = {*map(_SHAPE, items)}
    except AttributeError:  # A list among arrays.
        return stack_rows([np.asarray(item) for item in items])
    if len(shapes) > 1:
        raise SpaceError(
            "items of different shapes make no batch",
            expected=f"shape {first.shape}",
            found=f"shapes {sorted(shapes)[:4]}",
        )
    # One concatenation and a view: numpy's own stack handles every item apart.
    flat: Array = np.concatenate(items)
    return np.asarray(flat).reshape((len(items), *first.shape))


def rows_of_alike(items: Sequence[Any]) -> Array | None:
    """Small plain arrays of one shape and dtype, stacked by joining their bytes.

    That is three times as fast as concatenating many small arrays. None where they are others.
    """
    first = items[0]
    dtype, shape, plain = first.dtype, first.shape, np.ndarray
    if first.nbytes > _SMALL or dtype.kind not in _NUMBERS:
        return None
    for item in items:  # One look at each takes less time than one pass for each question.
        if type(item) is not plain or item.shape != shape:
            return None
        if item.dtype is not dtype and item.dtype != dtype:  # Pickled dtypes are copies.
            return None
    try:
        return np.frombuffer(bytearray().join(items), dtype).reshape((len(items), *shape))
    except (BufferError, TypeError, ValueError):
        return None  # A strided array is among them, or they are empty.


def _number_rows(items: Sequence[Any], first: np.generic) -> Array:
    """Numpy numbers; faster than numpy's own way if all are of one type."""
    if [*map(type, items)].count(type(first)) == len(items):
        return np.frombuffer(bytearray().join(items), first.dtype)
    return _as_rows(items)


def _plain_rows(items: Sequence[Any], code: str) -> Array:
    """Python's floats ("d") or ints ("q")."""
    if code == "d" or np.dtype(int).itemsize == _LONG:
        try:
            # The dtype numpy gives such numbers itself, which prints without its name.
            return np.frombuffer(array(code, items), float if code == "d" else int)
        except (TypeError, OverflowError):
            pass  # Others are among them: numpy finds the dtype that holds all.
    return _as_rows(items)


def join_rows(items: Sequence[Any]) -> Array:
    """Arrays that are batches already, one after the other."""
    try:
        return np.asarray(np.concatenate([xp.to_numpy(item) for item in items], axis=0))
    except ValueError as error:
        raise SpaceError(
            "these items make no batch",
            expected="arrays with a leading batch axis and equal shapes after it",
            found=f"shapes {sorted({np.shape(item) for item in items})[:4]}",
        ) from error


def unbatch(batches_struct: Nest) -> list[Nest]:
    """A nest of arrays as the list of its items; rows of arrays are views.

    Raises:
        SpaceError: The nest holds no arrays, or arrays of different length.

    Example:
        >>> [type(item).__name__ for item in unbatch({"a": np.zeros((2, 3))})]
        ['dict', 'dict']
    """
    if nest.is_leaf(batches_struct):
        return list(batches_struct)
    leaves = nest.flatten(batches_struct)
    if not leaves or any(np.ndim(leaf) == 0 for leaf in leaves):
        raise SpaceError("there is nothing to unbatch", expected="arrays with a leading batch axis")
    lengths = {len(leaf) for leaf in leaves}
    if len(lengths) > 1:
        raise SpaceError(
            "the arrays to unbatch differ in length",
            expected="one number of items",
            found=f"{sorted(lengths)}",
        )
    if type(batches_struct) is dict and all(map(nest.is_leaf, batches_struct.values())):
        keys = list(batches_struct)
        columns: Iterable[Any] = zip(*batches_struct.values(), strict=True)
        return [dict(zip(keys, row, strict=True)) for row in columns]
    return [nest.unflatten_as(batches_struct, row) for row in zip(*leaves, strict=True)]


def _flat_columns(items: Sequence[Nest]) -> dict[Any, list[Any]] | None:
    """The leaves of equally built dicts of leaves: the usual case, taken apart fast."""
    first = items[0]
    if type(first) is not dict or not first:
        return None
    if not all(type(item) is dict and item.keys() == first.keys() for item in items):
        return None
    columns = {key: [item[key] for item in items] for key in first}
    for column in columns.values():
        kinds = set(map(type, column))
        if not kinds <= _PLAIN and not all(map(nest.is_leaf, column)):
            return None
    return columns


def _as_rows(items: Sequence[Any]) -> Array:
    try:
        return np.array([xp.to_numpy(item) if xp.is_tensor(item) else item for item in items])
    except ValueError as error:
        raise SpaceError(
            "items of different shapes make no batch",
            found=f"shapes {sorted({np.shape(item) for item in items}, key=str)[:4]}",
        ) from error
