"""Values of one step as rows of a batch: a leading axis, float32 instead of float64."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.spaces import Space

from ...core import nest
from ...core.errors import SpaceError
from ...core.formulas.actions import flatten_to_single_ndarray
from ...core.types import Array, Nest

_FLOAT64 = np.dtype(np.float64)


def to_array(leaf: Any) -> Array:
    """One leaf as an array: float64 as float32, a dict's or None's place as an object.

    Example:
        >>> to_array(1.5)
        array(1.5, dtype=float32)
    """
    return _narrowed(leaf if isinstance(leaf, np.ndarray) else _from_other(leaf))


def to_row(value: Nest) -> Nest:
    """A nest of one step's values as a batch of one row, `(1, ...)` a leaf; always a copy.

    Example:
        >>> to_row({"a": np.zeros(3), "b": 1})["a"].shape
        (1, 3)
    """
    if isinstance(value, np.ndarray):
        row = value[None]
        return row.astype(np.float32) if value.dtype == _FLOAT64 else row.copy()
    if isinstance(value, (dict, tuple, list)):
        return nest.map_structure(to_row, value)
    return to_array(value)[None]


def to_object_row(value: Any) -> Array:
    """Anything at all as a batch of one row, kept whole.

    Example:
        >>> to_object_row({"lives": 3})
        array([{'lives': 3}], dtype=object)
    """
    row = np.empty(1, object)
    row[0] = value
    return row


def stack_rows(values: list[Nest]) -> Nest:
    """Values of one step, one of each slot, as a batch `(n, ...)` a leaf.

    Example:
        >>> stack_rows([np.zeros(3), np.ones(3)]).shape
        (2, 3)
    """
    first = values[0]
    if len(values) == 1:
        return to_row(first)
    if isinstance(first, np.ndarray):
        return _narrowed(stack_arrays(values))
    if isinstance(first, (dict, tuple, list)):
        leaves = zip(*(nest.flatten(value) for value in values), strict=True)
        return nest.unflatten_as(first, [stack_rows(list(column)) for column in leaves])
    return _narrowed(stack_arrays([to_array(value) for value in values]))


def stack_objects(values: list[Any]) -> Array:
    """Anything at all, one of each slot, as a batch of whole objects."""
    rows = np.empty(len(values), object)
    rows[:] = values
    return rows


def zeros_of(space: Space[Any], *, flatten: bool = False) -> Nest:
    """A row `(1, ...)` of zeros in the form of a value of `space`.

    Example:
        >>> zeros_of(spaces.Discrete(3))
        array([0])
    """
    zeros = zero_of(space)
    return to_row(flatten_to_single_ndarray(zeros) if flatten else zeros)


def zero_of(space: Space[Any]) -> Nest:
    """Zeros in the form and dtype of one value of `space`.

    Example:
        >>> zero_of(spaces.Tuple((spaces.Discrete(3), spaces.Box(1, 2, (2,)))))
        (array(0), array([0., 0.], dtype=float32))
    """
    if isinstance(space, spaces.Dict):
        return {key: zero_of(child) for key, child in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(zero_of(child) for child in space.spaces)
    if space.shape is not None and space.dtype is not None:
        return np.zeros(space.shape, space.dtype)
    return nest.map_structure(np.zeros_like, space.sample())


def narrowed(array: Array) -> Array:
    """A copy, of float64 as float32.

    Example:
        >>> narrowed(np.zeros(2))
        array([0., 0.], dtype=float32)
    """
    return array.astype(np.float32 if array.dtype == _FLOAT64 else array.dtype)


def _narrowed(array: Array) -> Array:
    return narrowed(array) if array.dtype == _FLOAT64 else array


def _from_other(leaf: Any) -> Array:
    if isinstance(leaf, dict) or leaf is None:
        return to_object_row(leaf).reshape(())
    detach = getattr(leaf, "detach", None)
    if detach is not None:
        leaf = detach().cpu().numpy()
    return np.asarray(leaf)


def stack_arrays(arrays: list[Array]) -> Array:
    """Arrays of one shape on a new first axis, in their own dtype."""
    shape = arrays[0].shape
    if arrays[-1] is arrays[0] and len({*map(id, arrays)}) == 1:  # The same state for beginners.
        return np.repeat(arrays[0][None], len(arrays), axis=0)
    try:
        if shape:
            # One concatenation and a view: numpy's own stack handles every item apart. It sees to
            # all axes but the first, whose lengths must be equal too.
            lengths = set(map(len, arrays))
            batch = np.concatenate(arrays).reshape(len(arrays), *shape)
        else:
            lengths = {1}
            batch = np.array(arrays)
    except (TypeError, ValueError):
        lengths = {-1, -2}
    if len(lengths) > 1:
        raise SpaceError(
            "values of different shapes make no batch",
            found=f"shapes {sorted({np.shape(array) for array in arrays}, key=str)[:4]}",
        )
    return batch


def joined_batches(batches: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The rows of many batches of the same columns as one batch."""
    return {name: nest.joined([batch[name] for batch in batches]) for name in batches[0]}


def locked(values: Nest) -> Nest:
    """The nest with read-only views in place of its arrays.

    Example:
        >>> locked({"a": np.zeros(2), "b": 1})["a"].flags.writeable
        False
    """
    if isinstance(values, np.generic):
        return values
    if isinstance(values, np.ndarray):
        view: Nest = values.view()
        view.setflags(False)
        return view
    kind = type(values)
    if kind is dict:
        return {
            key: value if isinstance(value, np.generic) else locked(value)
            for key, value in values.items()
        }
    if kind is list or kind is tuple:
        return kind([locked(value) for value in values])
    if isinstance(values, dict):
        return kind({key: locked(value) for key, value in values.items()})
    if isinstance(values, (list, tuple)):
        return nest.map_structure(locked, values)
    return values
