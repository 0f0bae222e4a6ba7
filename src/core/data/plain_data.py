"""Values as data that any file format can hold, and back.

Numbers, text, bytes and arrays are data as they are; containers become dicts that say what they
were, so that tuples, sets and keys of any type come back. Whatever else there is, a caller may
know: an object it can write as a dict of data. What is read comes from files that nobody trusts.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from itertools import islice, zip_longest
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
from typing_extensions import override

from .budget import allowance
from .keys import KeyGuard, checked_keys
from .tagged import Path, TagReader, damaged, distinct

Writer: TypeAlias = Callable[[Any, Callable[[Any], Any]], dict[str, Any]]
"""`write(value, to_data)` gives a dict for a value that is no data by itself, or raises."""

Reader: TypeAlias = Callable[[Mapping[str, Any], Any], Any]
"""`read(data, now)` is a writer's way back; `now` is what stands in the value's place.

What it stumbles over is damage, but for a `NotPlainError`.
"""

_PLAIN: Final = (bool, int, float, str, bytes, type(None))
_CONTAINERS: Final[dict[str, Callable[[list[Any]], Any]]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
}
_OF_KEYS: Final = ("set", "frozenset")
_OF_ITEMS: Final = (list, tuple, set, frozenset, deque)
_ITEMS: Final = "items"
_PAIRS: Final = "pairs"
_NUMBER: Final = "number"
_LONG: Final = "long"
_KIND: Final = "kind"
_LONGEST: Final = "longest"
_MOST_DIGITS: Final = 2052
_DEEPEST: Final = 40
"""Containers in containers; in a file, where each takes several levels, the vault reads 200."""


class NotPlainError(Exception):
    """Raised for a value that is no plain data; callers catch it and leave the value out."""


def to_data(value: Any, write: Writer | None = None, *, most: int = 1_000_000) -> Any:
    """A value as data.

    `write` knows more than numbers, text, arrays and containers. What it does not know either is a
    NotPlainError, and so is too much, or what lies too deep.

    Example:
        >>> from_data(to_data({(0, 1): {2}, "at": 2**70})) == {(0, 1): {2}, "at": 2**70}
        True
    """
    items_left, deep = most, 0

    def data(value: Any) -> Any:
        nonlocal items_left, deep
        items_left -= 1
        if items_left < 0 or deep > _DEEPEST:
            raise NotPlainError(f"more than {most} items, or {_DEEPEST} in one another")
        kind = type(value)
        if kind is int and value.bit_length() > 63:
            if value.bit_length() > 8192:
                raise NotPlainError("a number without end")
            return {_LONG: hex(value)}
        if kind in _PLAIN:
            return value
        if kind is np.ndarray and not value.dtype.hasobject:
            return value.copy()
        if isinstance(value, np.generic):
            return {_NUMBER: np.asarray(value)}
        deep += 1
        record: dict[str, Any]
        if kind is dict:
            record = {_PAIRS: [[data(key), data(value_of)] for key, value_of in value.items()]}
        elif kind in _OF_ITEMS:
            record = {_KIND: kind.__name__, _ITEMS: [data(item) for item in value]}
            if kind is deque:
                record[_LONGEST] = value.maxlen
        elif write is None:
            raise NotPlainError(kind.__name__)
        else:
            record = write(value, data)
        deep -= 1
        return record

    return data(value)


def from_data(
    data: Any, read: Reader | None = None, now: Any = None, name: str = "the data"
) -> Any:
    """The value that `to_data` described.

    `read` is the way back of its `write`, and may raise a NotPlainError; `now` is what is in the
    value's place.
    """
    return _Data(name, read).value(data, (), now)


class _Data(TagReader):
    def __init__(self, name: str, read: Reader | None) -> None:
        super().__init__(name)
        self.read = read
        self.guard = KeyGuard(allowance())

    def value(self, data: Any, path: Path, now: Any = None) -> Any:
        if isinstance(data, np.ndarray):
            return data.copy()
        if type(data) in _PLAIN:
            return data
        if not isinstance(data, Mapping):
            raise damaged(self.name, path, f"a {type(data).__name__} stands without its tag")
        return self.tagged(data, path, now)

    def read_long(self, data: Mapping[str, Any], path: Path, now: Any) -> int:
        text = data[_LONG]
        if len(text) > _MOST_DIGITS:
            raise ValueError(f"a number of {len(text):,} digits")
        return int(text, 16)

    def read_pairs(self, data: Mapping[str, Any], path: Path, now: Any) -> dict[Any, Any]:
        present = now if isinstance(now, dict) else {}
        result = {}
        for index, (key, item) in enumerate(data[_PAIRS]):
            (at,) = checked_keys([self.value(key, (*path, str(index)))], self.guard)
            result[at] = self.value(
                item, (*path, at if type(at) is str else str(index)), present.get(at)
            )
        return distinct(result, data[_PAIRS])

    def read_items(self, data: Mapping[str, Any], path: Path, now: Any) -> Any:
        items = self._items(data[_ITEMS], path, now)
        if data[_KIND] in _OF_KEYS:
            items = checked_keys(items, self.guard)
        return distinct(_CONTAINERS[data[_KIND]](items), items)

    def _items(self, items: Any, path: Path, now: Any) -> list[Any]:
        present = now if isinstance(now, (list, tuple, deque)) else ()
        each = zip_longest(items, islice(present, len(items)))
        return [self.value(item, (*path, str(i)), at) for i, (item, at) in enumerate(each)]

    @override
    def unknown(self, data: Mapping[str, Any], path: Path, *given: Any) -> Any:
        return super().unknown(data, path) if self.read is None else self.read(data, *given)

    tags: ClassVar = {
        frozenset([_LONG]): read_long,
        frozenset([_NUMBER]): lambda self, data, path, now: data[_NUMBER][()],
        frozenset([_PAIRS]): read_pairs,
        frozenset([_ITEMS, _KIND]): read_items,
        frozenset([_ITEMS, _KIND, _LONGEST]): lambda self, data, path, now: deque(
            self._items(data[_ITEMS], path, now), data[_LONGEST]
        ),
    }


_MOST_BITS: Final = 4096
"""Python refuses to write longer integers out."""


def as_json(value: Any, most_numbers: float = math.inf) -> Any:
    """A value in JSON's own types; anything JSON has no type for becomes text.

    Arrays of more than `most_numbers` become a few words.

    Example:
        >>> as_json({1: (np.float32(0.5), float("inf"))})
        {'1': [0.5, 'inf']}
    """
    if isinstance(value, Mapping):
        return {str(key): as_json(part, most_numbers) for key, part in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [as_json(part, most_numbers) for part in value]
    if isinstance(value, (np.ndarray, np.generic)):
        if value.size > most_numbers:
            return f"an array {value.shape} of {value.dtype}"
        plain = value.tolist()  # still numpy's where Python has no such number
        return str(plain) if isinstance(plain, np.generic) else as_json(plain)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return f"an integer of {value.bit_length():,} bits"
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
