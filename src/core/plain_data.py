"""Values as data that any file format can hold, and back.

Numbers, text, bytes and arrays are data as they are; containers become dicts that say what they
were, so that tuples, sets and keys of any type come back. Whatever else there is, a caller may
know: an object it can write as a dict of data.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np

Writer: TypeAlias = Callable[[Any, Callable[[Any], Any]], dict[str, Any]]
"""`write(value, to_data)` gives a dict for a value that is no data by itself, or raises."""

Reader: TypeAlias = Callable[[Mapping[str, Any], Any], Any]
"""`read(data, now)` is a writer's way back; `now` is what stands in the value's place."""

_PLAIN: Final = (bool, int, float, str, bytes, type(None))
_CONTAINERS: Final[dict[str, Callable[[list[Any]], Any]]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
}
_ITEMS: Final = "items"
_PAIRS: Final = "pairs"
_NUMBER: Final = "number"
_LONG: Final = "long"


class NotPlainError(Exception):
    """Something that is no data; for whoever asked, who then does without."""


def to_data(value: Any, write: Writer | None = None, *, most: int = 1_000_000) -> Any:
    """A value as data.

    Args:
        value: The value.
        write: What the caller knows beside numbers, text, arrays and containers.
        most: How many items it may have.

    Raises:
        NotPlainError: It holds something else, or too much.

    Example:
        >>> from_data(to_data({(0, 1): {2}, "at": 2**70})) == {(0, 1): {2}, "at": 2**70}
        True
    """
    left = most

    def data(value: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise NotPlainError(f"more than {most} items")
        kind = type(value)
        if kind is int and value.bit_length() > 63:
            return {_LONG: str(value)}
        if kind in _PLAIN:
            return value
        if kind is np.ndarray and not value.dtype.hasobject:
            return value.copy()
        if isinstance(value, np.generic):
            return {_NUMBER: np.asarray(value)}
        if kind is dict:
            return {_PAIRS: [[data(key), data(own)] for key, own in value.items()]}
        if kind in (list, tuple, set, frozenset, deque):
            held = {"kind": kind.__name__, _ITEMS: [data(item) for item in value]}
            return {**held, "longest": value.maxlen} if kind is deque else held
        if write is None:
            raise NotPlainError(kind.__name__)
        return write(value, data)

    return data(value)


def from_data(data: Any, read: Reader | None = None, now: Any = None) -> Any:
    """What data stands for.

    Args:
        data: As `to_data` made it.
        read: The way back of its `write`.
        now: What is in the value's place, for `read`.

    Raises:
        NotPlainError: It is not as `to_data` makes it.
    """
    if isinstance(data, np.ndarray):
        return data.copy()
    if not isinstance(data, Mapping):
        return data
    if _LONG in data:
        return int(data[_LONG])
    if _NUMBER in data:
        return data[_NUMBER][()]
    if _PAIRS in data:
        present = now if isinstance(now, dict) else {}
        keys = [(from_data(key, read), own) for key, own in data[_PAIRS]]
        return {key: from_data(own, read, present.get(key)) for key, own in keys}
    if _ITEMS in data:
        places = list(now) if isinstance(now, (list, tuple, deque)) else []
        places += [None] * (len(data[_ITEMS]) - len(places))
        items = [from_data(own, read, at) for own, at in zip(data[_ITEMS], places, strict=False)]
        if data["kind"] == "deque":
            return deque(items, data["longest"])
        if data["kind"] not in _CONTAINERS:
            raise NotPlainError(data["kind"])
        return _CONTAINERS[data["kind"]](items)
    if read is None:
        raise NotPlainError(f"keys {[*data]}")
    return read(data, now)
