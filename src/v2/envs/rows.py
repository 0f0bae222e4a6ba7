"""Observations of several environments as one item each, cast and copied."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from gymnasium import spaces

from ...core.errors import SpaceError
from ...core.spaces.fit import explain_mismatch

Rows: TypeAlias = Callable[[Sequence[Any]], Any]

_FLAT: Final = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)


class RowReader:
    """Gives observations the dtypes of their space, and makes them the reader's own.

    An environment may change in place what it has returned, so everything is copied: flat
    observations into the rows of one array, others into a list of items.

    Example:
        >>> read = RowReader(spaces.Box(0, 1, (2,), np.float32))
        >>> read([[0, 1], np.ones(2)])
        array([[0., 1.],
               [1., 1.]], dtype=float32)
    """

    def __init__(self, space: spaces.Space[Any]) -> None:
        self.space = space
        self._rows = _rows_of(space)

    def __call__(self, observations: Sequence[Any]) -> Any:
        """Read one observation for each environment, in a list or in the rows of an array.

        Raises:
            SpaceError: One has not the form of the space.
        """
        try:
            return self._rows(observations)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            raise self._reason(observations, error) from error

    def _reason(self, observations: Sequence[Any], error: Exception) -> SpaceError:
        for index, observation in enumerate(observations):
            reason = explain_mismatch(self.space, observation)
            if reason is not None:
                return outside_of_space(index, reason)
        return SpaceError("the environments returned no observations", found=str(error))


def outside_of_space(index: int, reason: str) -> SpaceError:
    """Return the error for an observation that does not fit its space."""
    return SpaceError(
        f"environment {index} returned an observation outside of its space",
        found=reason,
        hint="let observation_space be what reset() and step() return.",
        index=index,
    )


def _rows_of(space: spaces.Space[Any]) -> Rows:
    if isinstance(space, spaces.Dict):
        return _dict_rows({key: _rows_of(child) for key, child in space.spaces.items()})
    if isinstance(space, spaces.Tuple):
        return _tuple_rows([_rows_of(child) for child in space.spaces])
    if isinstance(space, _FLAT):
        return _flat_rows(space)
    return lambda items: [copy.deepcopy(item) for item in items]


def _flat_rows(space: spaces.Space[Any]) -> Rows:
    dtype, shape = space.dtype, space.shape

    def rows(items: Sequence[Any]) -> Any:
        array = np.array(items, dtype)
        if array.shape[1:] != shape:
            raise ValueError(f"shape {array.shape[1:]}")
        return array

    return rows


def _dict_rows(children: dict[str, Rows]) -> Rows:
    def rows(items: Sequence[Any]) -> list[Any]:
        columns = [read([item[key] for item in items]) for key, read in children.items()]
        return [dict(zip(children, parts, strict=True)) for parts in zip(*columns, strict=True)]

    return rows


def _tuple_rows(children: list[Rows]) -> Rows:
    def rows(items: Sequence[Any]) -> list[Any]:
        parts = [list(item) for item in items]
        if any(len(part) != len(children) for part in parts):
            raise ValueError("another number of parts")
        columns = [read([part[place] for part in parts]) for place, read in enumerate(children)]
        return list(zip(*columns, strict=True))

    return rows
