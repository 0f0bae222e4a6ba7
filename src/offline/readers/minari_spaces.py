"""Spaces as Minari writes them into its metadata: JSON in a text, nested by `subspaces`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import numpy as np
from typing_extensions import override

from ...core.data.budget import Budget, corrupt
from ...core.spaces.schema import Fields
from ...core.spaces.walk import AnySpace
from ...core.types import Array
from .json_lines import parsed


def read_space(text: Any, budget: Budget) -> AnySpace | None:
    """The space in a text of JSON; None where there is none, or of a kind we do not know."""
    if not isinstance(text, str):
        return None
    try:
        return _space(parsed(text.encode(), budget, "a space"), budget)
    except _UnknownKindError:
        return None


_KINDS: Final = ("Box", "Discrete", "MultiDiscrete", "MultiBinary", "Text", "Dict", "Tuple")


class _UnknownKindError(Exception):
    """A space of a kind we do not know lies in it."""


class _MinariFields(Fields):
    spelled: ClassVar = {"spaces": "subspaces"}

    @override
    def space(self, value: Any) -> AnySpace:
        return _space(value, self.budget)

    @override
    def dtype(self, kinds: str, default: Any = None) -> np.dtype[Any]:
        return np.dtype(np.int64) if self.kind == "Discrete" else super().dtype(kinds, default)

    @override
    def array(self, name: str, dtype: np.dtype[Any] | None = None) -> Array:
        if dtype is None:
            return _array(self.get(name), self.dtype("iu", "int64"))
        count = int(np.prod(self.shape(), dtype=object))
        self.budget.spend(count * dtype.itemsize, "the bounds of a Box")
        array = _array(self.get(name), dtype)
        return array if array.ndim else np.full(self.shape(), array)


def _space(data: Any, budget: Budget) -> AnySpace:
    if not isinstance(data, Mapping):
        raise corrupt("this is no space", expected="a JSON object", found=data)
    kind = data.get("type")
    if kind not in _KINDS:
        raise _UnknownKindError
    with budget.level("a space"):
        return _MinariFields(kind, data, budget).made()


def _array(values: Any, dtype: np.dtype[Any]) -> Array:
    try:
        return np.array(values, dtype)
    except (TypeError, ValueError, OverflowError):
        raise corrupt("this is no array of a space", expected=str(dtype), found=values) from None
