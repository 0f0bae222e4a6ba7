"""Spaces from the plain data that `space_writer` describes, whoever may have written it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

import numpy as np

from ..data.array_codec import array_from_data, dtype_name
from ..data.budget import Budget, allowance, checked_dtype, checked_shape, corrupt
from ..types import Array
from .build import (
    build_box,
    build_dict,
    build_discrete,
    build_graph,
    build_multi_binary,
    build_multi_discrete,
    build_one_of,
    build_repeated,
    build_sequence,
    build_simplex,
    build_text,
    build_tuple,
)
from .walk import AnySpace


def space_from_data(data: Any, *, max_bytes: int | None = None) -> AnySpace:
    """The space that `space_to_data` described.

    Args:
        data: Plain data from anywhere; nothing about it is trusted.
        max_bytes: The most memory the space may take; None for what the load may still take.

    Raises:
        CorruptCheckpointError: The data describes no space.
        LimitExceededError: The space would be larger, or is nested deeper, than allowed.
    """
    return _read(data, allowance(max_bytes))


def _read(data: Any, budget: Budget) -> AnySpace:
    if not isinstance(data, Mapping):
        raise corrupt("a space is no mapping", expected="a mapping with a kind", found=data)
    kind = data.get("kind")
    read = _READ.get(kind) if isinstance(kind, str) else None
    if read is None:
        raise corrupt("a space is of no known kind", expected=", ".join(_READ), found=kind)
    with budget.level("a space"):
        space: Any = read(data, budget)
        if data.get("original_space") is not None:
            space.original_space = _read(data["original_space"], budget)
    return cast("AnySpace", space)


def _read_box(data: Mapping[str, Any], budget: Budget) -> Any:
    dtype = checked_dtype(data.get("dtype"), "a Box", "biuf")
    shape = checked_shape(data.get("shape"), "a Box")
    low = _read_bounds(data, "low", shape, dtype, budget)
    high = _read_bounds(data, "high", shape, dtype, budget)
    flag = np.dtype(np.bool_)
    below, above = (
        _read_bounds(data, side, shape, flag, budget) if side in data else None
        for side in ("bounded_below", "bounded_above")
    )
    return build_box(low, high, shape, dtype, budget, (below, above))


def _read_bounds(
    data: Mapping[str, Any],
    side: str,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    budget: Budget,
) -> Array:
    given = data.get(side)
    if isinstance(given, Mapping):
        content = {"base64": given.get("base64")}
    else:
        content = {"values" if isinstance(given, (list, tuple)) else "fill": given}
    whole = {"dtype": dtype_name(dtype), "shape": list(shape), **content}
    return array_from_data(whole, budget=budget, what=f"{side} of a space")


def _read_discrete(data: Mapping[str, Any], budget: Budget) -> Any:
    dtype = checked_dtype(data.get("dtype", "int64"), "a Discrete", "iu")
    return build_discrete(data.get("n"), data.get("start", 0), budget, dtype)


def _read_multi_discrete(data: Mapping[str, Any], budget: Budget) -> Any:
    dtype = checked_dtype(data.get("dtype"), "a MultiDiscrete", "iu")
    shape = checked_shape(data.get("shape"), "a MultiDiscrete")
    nvec = _read_bounds(data, "nvec", shape, dtype, budget)
    start = _read_bounds(data, "start", shape, dtype, budget) if "start" in data else None
    return build_multi_discrete(nvec, start, dtype, budget)


def _read_text(data: Mapping[str, Any], budget: Budget) -> Any:
    return build_text(data.get("min_length"), data.get("max_length"), data.get("charset"), budget)


def _read_dict(data: Mapping[str, Any], budget: Budget) -> Any:
    if "items" in data:
        pairs = _listed(data["items"])
        if not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs):
            raise corrupt("a Dict space has an item that is no pair")
    elif isinstance(data.get("spaces"), Mapping):
        pairs = list(data["spaces"].items())
    else:
        raise corrupt("a Dict space has no spaces", found=data.get("spaces"))
    built = [(key, _read(child, budget)) for key, child in pairs]
    return build_dict(built, budget, is_flexible=data["kind"] == "FlexDict")


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise corrupt("a space has no list of spaces", expected="a list", found=value)
    return list(value)


def _read_list(data: Mapping[str, Any], budget: Budget) -> list[AnySpace]:
    return [_read(child, budget) for child in _listed(data.get("spaces"))]


def _read_graph(data: Mapping[str, Any], budget: Budget) -> Any:
    edges = data.get("edges")
    return build_graph(
        lambda: _read(data.get("nodes"), budget),
        lambda: None if edges is None else _read(edges, budget),
        budget,
    )


def _read_simplex(data: Mapping[str, Any], budget: Budget) -> Any:
    dtype = checked_dtype(data.get("dtype"), "a Simplex", "f")
    shape = checked_shape(data.get("shape"), "a Simplex")
    shares = array_from_data(data.get("concentration"), budget=budget, what="a concentration")
    return build_simplex(shape, shares, dtype, budget)


_READ: Final[dict[str, Callable[[Mapping[str, Any], Budget], Any]]] = {
    "Box": _read_box,
    "Discrete": _read_discrete,
    "MultiDiscrete": _read_multi_discrete,
    "MultiBinary": lambda data, budget: build_multi_binary(data.get("n"), budget),
    "Text": _read_text,
    "Dict": _read_dict,
    "FlexDict": _read_dict,
    "Tuple": lambda data, budget: build_tuple(_read_list(data, budget), budget),
    "OneOf": lambda data, budget: build_one_of(_read_list(data, budget), budget),
    "Sequence": lambda data, budget: build_sequence(
        lambda: _read(data.get("space"), budget), data.get("stack", False), budget
    ),
    "Graph": _read_graph,
    "Simplex": _read_simplex,
    "Repeated": lambda data, budget: build_repeated(
        _read(data.get("space"), budget), data.get("max_len"), budget
    ),
}
