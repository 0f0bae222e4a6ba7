"""Spaces as Minari writes them into its metadata: JSON in a text, nested by `subspaces`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core.data.budget import Budget, checked_dtype, checked_shape, corrupt
from ...core.spaces.build import (
    build_box,
    build_dict,
    build_discrete,
    build_multi_binary,
    build_multi_discrete,
    build_text,
    build_tuple,
)
from ...core.spaces.walk import AnySpace
from .json_lines import parsed


def read_space(told: Any, budget: Budget) -> AnySpace | None:
    """The space in a text of JSON; None where there is none, or of a kind we do not know.

    Raises:
        CorruptCheckpointError: It contradicts itself.
    """
    if not isinstance(told, str):
        return None
    return _space(parsed(told.encode(), budget, "a space"), budget)


def _space(data: Any, budget: Budget) -> AnySpace | None:
    if not isinstance(data, Mapping):
        raise corrupt("this is no space", expected="a JSON object", found=data)
    kind, parts = data.get("type"), data.get("subspaces")
    with budget.level("a space"):
        if kind == "Dict" and isinstance(parts, Mapping):
            pairs = [(key, _space(part, budget)) for key, part in parts.items()]
            return None if any(part is None for _, part in pairs) else build_dict(pairs, budget)
        if kind == "Tuple" and isinstance(parts, list):
            spaces = [_space(part, budget) for part in parts]
            return None if any(part is None for part in spaces) else build_tuple(spaces, budget)
    if kind == "Box":
        dtype = checked_dtype(data.get("dtype"), "a Box", "biuf")
        shape = checked_shape(data.get("shape"), "a Box")
        low, high = (_bounds(data.get(side), shape, dtype, budget) for side in ("low", "high"))
        return build_box(low, high, shape, dtype, budget)
    if kind == "Discrete":
        return build_discrete(data.get("n"), data.get("start", 0), budget)
    if kind == "MultiDiscrete":
        dtype = checked_dtype(data.get("dtype", "int64"), "a MultiDiscrete", "iu")
        return build_multi_discrete(_array(data.get("nvec"), dtype), None, dtype, budget)
    if kind == "MultiBinary":
        return build_multi_binary(data.get("n"), budget)
    if kind == "Text":
        lengths = data.get("min_length"), data.get("max_length")
        return build_text(*lengths, data.get("charset"), budget)
    return None


def _bounds(given: Any, shape: tuple[int, ...], dtype: np.dtype[Any], budget: Budget) -> Any:
    budget.spend(int(np.prod(shape, dtype=object)) * dtype.itemsize, "the bounds of a Box")
    array = _array(given, dtype)
    return np.full(shape, array) if not array.ndim else array


def _array(given: Any, dtype: np.dtype[Any]) -> Any:
    try:
        return np.array(given, dtype)
    except (TypeError, ValueError, OverflowError):
        raise corrupt("this is no array of a space", expected=str(dtype), found=given) from None
