"""Columns that grow by one row a step, in arrays that double."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import nest
from ...core.types import Array, Nest
from ..batches.step_rows import to_array


class GrowingColumn:
    """Rows of one column, one array a leaf.

    `is_object` keeps values whole, infos for instance.

    Example:
        >>> column = GrowingColumn(1.0)
        >>> column.append(2.0)
        >>> column.rows()
        array([1., 2.], dtype=float32)
    """

    def __init__(self, first: Nest, *, is_object: bool = False) -> None:
        self._is_object = is_object
        self._form: Nest = 0 if is_object else first
        leaves = self._leaves(first)
        self._arrays: list[Array] = [np.zeros((8, *leaf.shape), leaf.dtype) for leaf in leaves]
        self._length = 0
        self.append(first)

    def __len__(self) -> int:
        return self._length

    def append(self, value: Nest, times: int = 1) -> None:
        """Add one value, or the same one several times."""
        leaves = self._leaves(value)
        end = self._length + times
        for position, (array, leaf) in enumerate(zip(self._arrays, leaves, strict=True)):
            dtype = np.promote_types(array.dtype, leaf.dtype)
            if end > len(array) or dtype != array.dtype:
                grown = np.zeros((max(2 * len(array), end), *array.shape[1:]), dtype)
                grown[: self._length] = array[: self._length]
                self._arrays[position] = array = grown
            array[self._length : end] = leaf
        self._length = end

    def rows(self) -> Nest:
        """All rows; views that later appends may leave behind."""
        return self.mapped(lambda array: array)

    def at(self, places: Array) -> Nest:
        """Copies of the rows at `places`; zeros, or empty infos, beyond the last one."""
        beyond = places >= self._length
        inside = np.clip(places, 0, max(self._length - 1, 0))

        def picked(array: Array) -> Array:
            rows: Array = array[inside]
            if beyond.any():
                rows[beyond] = 0
            return rows

        return self.mapped(picked)

    def keep_last(self, count: int) -> None:
        """Drop all rows but the last `count`."""
        count = min(count, self._length)
        start = self._length - count
        for array in self._arrays:
            array[:count] = array[start : self._length].copy()
        self._length = count

    def leaves(self) -> list[Array]:
        """The rows of each leaf."""
        return [array[: self._length] for array in self._arrays]

    def mapped(self, function: Any) -> Nest:
        """The column's form with `function` of each leaf's rows in it."""
        return nest.unflatten_as(self._form, [function(leaf) for leaf in self.leaves()])

    def _leaves(self, value: Nest) -> list[Array]:
        if self._is_object:
            cell = np.empty((), object)
            cell[()] = value
            return [cell]
        return [to_array(leaf) for leaf in nest.flatten(value)]
