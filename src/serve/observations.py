"""Observations as clients send them become arrays; what does not fit is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from ..core import nest
from ..core.types import Array, Nest
from .errors import ServeError


class ObservationReader:
    """Reads observations of one space.

    Example:
        >>> reader = ObservationReader(spaces.Box(-1, 1, (2,)))
        >>> reader.rows([[0.0, 1.0], [0.5, 0.5]])
        array([[0. , 1. ],
               [0.5, 0.5]], dtype=float32)
    """

    def __init__(self, space: spaces.Space[Any], name: str = "obs") -> None:
        self.space, self._name = space, name

    def rows(self, values: Sequence[Any]) -> Nest:
        """One row for each value.

        Raises:
            ServeError: One of them is no observation of the space.
        """
        return _read(values, self.space, self._name, are_columns=False)

    def batch(self, value: Any) -> Nest:
        """A list of observations, or arrays with a row for each.

        Raises:
            ServeError: They are no observations of the space.
        """
        if isinstance(value, list):
            if not value:
                raise _misfit(self._name, self.space, "an empty list")
            return self.rows(value)
        if isinstance(self.space, (spaces.Dict, spaces.Tuple)) or isinstance(value, np.ndarray):
            parsed = _read(value, self.space, self._name, are_columns=True)
            counts = {len(leaf) for leaf in nest.flatten(parsed)}
            if len(counts) != 1 or 0 in counts:
                raise _misfit(self._name, self.space, f"parts of {sorted(counts)} rows")
            return parsed
        raise _misfit(self._name, self.space, type(value).__name__)


def _read(values: Any, space: spaces.Space[Any], name: str, *, are_columns: bool) -> Nest:
    """Observations in a list, or as parts that have a row for each of them already."""
    parts: Any = getattr(space, "spaces", None)
    if isinstance(space, spaces.Dict):
        children = [(key, part, f"{name}.{key}") for key, part in parts.items()]
    elif isinstance(space, spaces.Tuple):
        children = [(at, part, f"{name}[{at}]") for at, part in enumerate(parts)]
    else:
        return _leaf(values, space, name)
    for value in [values] if are_columns else values:
        _check_parts(value, space, name)
    columns = [
        _read(
            values[key] if are_columns else [value[key] for value in values],
            part,
            inner,
            are_columns=are_columns,
        )
        for key, part, inner in children
    ]
    if isinstance(space, spaces.Tuple):
        return tuple(columns)
    return {key: column for (key, _, _), column in zip(children, columns, strict=True)}


def _check_parts(value: Any, space: Any, name: str) -> None:
    """Refuse what has not just the parts of a Dict or Tuple."""
    if isinstance(space, spaces.Dict):
        fits = isinstance(value, Mapping) and value.keys() == space.spaces.keys()
    else:
        fits = isinstance(value, (list, tuple)) and len(value) == len(space.spaces)
    if not fits:
        raise _misfit(name, space, _described(value))


def _leaf(values: Any, space: spaces.Space[Any], name: str) -> Array:
    shape, dtype = space.shape, space.dtype
    if shape is None or dtype is None or dtype.kind not in "biuf":
        raise ServeError(
            501, "unserved_space", f"{name} is of {space}, which no request can hold",
            hint="adapt the policy to an environment of numbers first.",
        )  # fmt: skip
    for value in values if shape else ():
        if type(value) is list and len(value) != shape[0]:  # cheap, where a long one is converted
            raise _misfit(name, space, _described(value))
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError):
        raise _misfit(name, space, "rows of different shapes") from None
    if array.shape[1:] != shape or array.ndim != len(shape) + 1:
        raise _misfit(name, space, f"shape {array.shape[1:]}" if array.ndim else _described(values))
    if dtype.kind == "f":
        if array.dtype.kind not in "biuf":
            raise _misfit(name, space, f"values of {array.dtype}")
        if array.dtype != dtype:
            with np.errstate(over="ignore"):
                array = array.astype(dtype)
        if not np.isfinite(array).all():
            raise _misfit(name, space, "NaN, or a number that is too large")
        return array
    if array.dtype.kind not in "biu" and not _is_whole(array):
        raise _misfit(name, space, f"values of {array.dtype}")
    low, high = _bounds(space, dtype)
    if not ((array >= low) & (array <= high)).all():
        raise _misfit(name, space, "a number out of its bounds")
    return array.astype(dtype)


def _is_whole(array: Array) -> bool:
    return array.dtype.kind == "f" and bool((array == np.round(array)).all())


def _bounds(space: Any, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """What whole numbers may be."""
    if isinstance(space, spaces.Discrete):
        return space.start, space.start + space.n - 1
    if isinstance(space, spaces.MultiDiscrete):
        start = getattr(space, "start", 0)
        return start, start + space.nvec - 1
    if dtype.kind == "b" or isinstance(space, spaces.MultiBinary):
        return 0, 1
    limits = np.iinfo(dtype)
    return limits.min, limits.max


def _described(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"a map of {', '.join(map(str, [*value][:8]))[:120] or 'nothing'}"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    return type(value).__name__


def _misfit(name: str, space: spaces.Space[Any], found: str) -> ServeError:
    return ServeError(
        400,
        "bad_observation",
        f"{name} is not of the policy's space: expected {str(space)[:200]}, found {found}",
        hint="GET /v1/policies tells the space of each policy.",
    )
