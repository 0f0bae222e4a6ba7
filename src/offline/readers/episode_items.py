"""Packed episodes as columns, at the speed of msgpack's own decoder where a file is as Ray's are.

An item is unpacked in C within bounds, and the arrays of all steps of a column are joined as bytes.
Whatever is not as usual (other types, steps that differ) is left to the vault's decoder.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgpack  # type: ignore[import-untyped]  # it has no types
import numpy as np

from ...core.data.budget import Budget
from ...core.vault.decode.load_limits import no_collection
from ...core.vault.decode.msgpack_file import array_in

_UNFOLDED: Final = 80
"""Bytes of memory that one byte may become: an empty map with its place in a list."""
_LONGEST: Final = 1 << 16
_DTYPE: Final = re.compile(r"<[iuf][1248]|<f2|\|[iub]1")
_PLAIN: Final = {int: np.int64, float: np.float64, bool: np.bool_}
_COLUMNS: Final = ("observations", "actions", "rewards")


class _UnusualError(Exception):
    """It is left to the slower decoder."""


def quick_state(data: bytes, budget: Budget) -> dict[str, Any] | None:
    """The state of an episode with its columns as arrays; None where another has to look.

    `data` is a packed `SingleAgentEpisode.get_state()`.
    """
    if _UNFOLDED * len(data) > budget.left:
        return None
    longest = min(len(data), _LONGEST)
    bounds = {"max_array_len": longest, "max_map_len": longest, "max_ext_len": 0}
    try:
        with no_collection():
            state = msgpack.unpackb(data, raw=False, strict_map_key=True, **bounds)
            if not isinstance(state, dict) or any(not _is_open(state.get(n)) for n in _COLUMNS):
                return None
            outputs = state.get("extra_model_outputs") or {}
            if not isinstance(outputs, dict) or not all(map(_is_open, outputs.values())):
                return None
            columns: dict[str, Any] = {n: _buffer(state.pop(n), budget) for n in _COLUMNS}
            columns["extra_model_outputs"] = {
                n: _buffer(output, budget) for n, output in outputs.items()
            }
            state.pop("extra_model_outputs", None)
            infos = state.get("infos")
            if isinstance(infos, dict) and not any(infos["data"]):
                columns["infos"] = state.pop("infos")
            columns |= _plain(state, budget)
    except (ValueError, TypeError, KeyError, RecursionError, _UnusualError):
        return None
    budget.spend(16 * len(data), "an episode")
    return columns


def _is_open(buffer: Any) -> bool:
    """Whether it is a column as a list of items."""
    return (
        isinstance(buffer, dict)
        and not buffer.get("finalized", True)
        and isinstance(buffer.get("data"), list)
        and bool(buffer["data"])
    )


def _buffer(buffer: dict[str, Any], budget: Budget) -> dict[str, Any]:
    """A column of an episode whose items are arrays now."""
    items = _column(buffer.pop("data"))
    return {**_plain(buffer, budget), "data": items, "finalized": True}


def _column(items: list[Any]) -> Any:
    """Items as one array with a row for each, or dicts and tuples of such arrays."""
    kinds = set(map(type, items))
    if len(kinds) != 1:
        raise _UnusualError
    kind = kinds.pop()
    if kind is dict:
        first = items[0]
        if b"nd" in first or "nd" in first:
            return _joined(items, b"nd" if b"nd" in first else "nd")
        if any(item.keys() != first.keys() for item in items):
            raise _UnusualError
        return {key: _column([item[key] for item in items]) for key in first}
    if kind is list:
        width = len(items[0])
        if not width or any(len(item) != width for item in items):
            raise _UnusualError
        return tuple(_column([item[place] for item in items]) for place in range(width))
    if kind not in _PLAIN:
        raise _UnusualError
    return np.array(items, _PLAIN[kind])


def _joined(items: list[dict[Any, Any]], mark: str | bytes) -> Any:
    names: tuple[Any, ...] = ("type", "kind", "shape", "data")
    if isinstance(mark, bytes):
        names = tuple(name.encode() for name in names)
    type_, kind, shape, data = names
    first = items[0]
    code, sizes = first[type_], first.get(shape, [])
    if not isinstance(code, str) or not _DTYPE.fullmatch(code) or not isinstance(sizes, list):
        raise _UnusualError
    dtype = np.dtype(code)
    if not all(type(size) is int and 0 <= size < 1 << 31 for size in sizes) or len(sizes) > 8:
        raise _UnusualError
    width = int(np.prod(sizes, dtype=object)) * dtype.itemsize
    like = {**first, data: b""}
    parts = []
    for item in items:
        part = item.pop(data)
        item[data] = b""
        if item != like or type(part) is not bytes or len(part) != width:
            raise _UnusualError
        parts.append(part)
    if first.get(kind) or (bool(sizes) and not first[mark]):
        raise _UnusualError
    return np.frombuffer(bytearray().join(parts), dtype).reshape(len(items), *sizes)


def _plain(value: Any, budget: Budget) -> Any:
    """Values with their arrays, as the vault's decoder gives them."""
    if isinstance(value, dict):
        return array_in({key: _plain(part, budget) for key, part in value.items()}, budget)
    return [_plain(part, budget) for part in value] if isinstance(value, list) else value
