"""A msgpack reader for files nobody trusts: iterative, bounded, nothing allocated in advance.

A header may declare four billion items in five bytes; here items are collected as they come, each
one paid from the budget, and no header may declare more than the bytes behind it can hold. Maps
that are msgpack-numpy arrays become arrays; what is pickled inside them, and extension types,
become stand-ins. Written in Python because the C extension neither bounds work nor memory; Ray's
own files hold a thousand items.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final, NoReturn

import numpy as np

from ...data.keys import KeyGuard
from ...data.msgpack_arrays import decode_msgpack_object
from ...errors import CorruptCheckpointError, LimitExceededError, UnsafeCheckpointError
from .load_limits import Budget, no_collection
from .standins import GlobalRef, Opaque

Hook = Callable[[dict[Any, Any]], Any]

# Beyond this, bytes stay views of the file: arrays made of them copy nothing.
VIEW_FROM: Final = 4096
# A map that may be an array takes as long to recognise as this many plain items.
MAP_STEPS: Final = 7
ARRAY_STEPS: Final = 40

_NUMBERS: Final = {
    0xCA: struct.Struct(">f"),
    0xCB: struct.Struct(">d"),
    0xCC: struct.Struct(">B"),
    0xCD: struct.Struct(">H"),
    0xCE: struct.Struct(">I"),
    0xCF: struct.Struct(">Q"),
    0xD0: struct.Struct(">b"),
    0xD1: struct.Struct(">h"),
    0xD2: struct.Struct(">i"),
    0xD3: struct.Struct(">q"),
}
_CONSTANTS: Final = {0xC0: None, 0xC2: False, 0xC3: True}
# First byte: what follows, and how many bytes tell its size.
_SIZED: Final = {
    0xC4: ("bin", 1), 0xC5: ("bin", 2), 0xC6: ("bin", 4),
    0xC7: ("ext", 1), 0xC8: ("ext", 2), 0xC9: ("ext", 4),
    0xD9: ("str", 1), 0xDA: ("str", 2), 0xDB: ("str", 4),
    0xDC: ("array", 2), 0xDD: ("array", 4),
    0xDE: ("map", 2), 0xDF: ("map", 4),
}  # fmt: skip
_OBJECT_ARRAY: Final = GlobalRef("numpy", "ndarray")
_EXTENSION: Final = GlobalRef("msgpack", "ExtType")


def decode_msgpack(data: bytes | memoryview, budget: Budget, *, hook: Hook | None = None) -> Any:
    """The one value in `data`; text as str, arrays as lists, maps as dicts.

    `hook` turns each map into what it stands for; by default msgpack-numpy's arrays.

    Example:
        >>> from .load_limits import Limits
        >>> data = bytes.fromhex("82a16101a1629201c0")
        >>> decode_msgpack(data, Budget(Limits(), len(data)))
        {'a': 1, 'b': [1, None]}
    """
    with no_collection():
        return _Reader(memoryview(data).cast("B"), budget, hook).read()


def array_in(
    value: dict[Any, Any], budget: Budget, *, on_pickle: Callable[[bytes], Any] | None = None
) -> Any:
    """The array a map stands for, or the map; arrays of pickles and records are stand-ins.

    `on_pickle` is told the bytes that other readers would unpickle.
    """

    def pickled(data: bytes) -> Any:
        if on_pickle is not None:
            on_pickle(data)
        return _pickled(data)

    declared = value.get(b"type", value.get("type"))
    data = value.get(b"data", value.get("data"))
    if isinstance(declared, str) and "U" in declared[:3] and isinstance(data, (bytes, memoryview)):
        budget.spend(21 * len(data), "an array of text")  # looked at as one str for each item
    try:
        array = decode_msgpack_object(value, on_pickle=pickled)
    except UnsafeCheckpointError:
        return _pickled(b"")
    if isinstance(array, (np.ndarray, np.generic)):
        if array.size and not array.itemsize:
            raise CorruptCheckpointError("an array whose items have no size")
        if array.dtype.kind in "mM" and not np.datetime_data(array.dtype)[1]:
            raise CorruptCheckpointError("an array of times without a unit")
    return array


def _pickled(data: bytes) -> Opaque:
    return Opaque(_OBJECT_ARRAY, (f"{len(data):,} bytes, not read",))


class _Reader:
    """Reads items one after the other; containers still open lie on a stack of ours.

    Each open container is (items so far, how many it will have, whether it is a map).
    """

    def __init__(self, data: memoryview, budget: Budget, hook: Hook | None) -> None:
        self.data = data
        self.budget = budget
        self.hook = hook or (lambda value: array_in(value, budget))
        self.position = 0
        self.key = KeyGuard(budget).check
        self.open: list[tuple[list[Any], int, bool]] = []

    def read(self) -> Any:
        data = self.data
        while True:
            self.budget.work(1, "the msgpack file")
            if self.position >= len(data):
                self._damaged("it ends in the middle")
            value = self._item(data[self.position])
            if value is _OPENED:
                continue
            while self.open:
                items, count, is_map = self.open[-1]
                items.append(value)
                if len(items) < count:
                    break
                self.open.pop()
                value = self._map(items) if is_map else items
            else:
                if self.position != len(data):
                    self._damaged(f"{len(data) - self.position:,} bytes follow its end")
                return value

    def _item(self, code: int) -> Any:
        """The scalar or empty container that begins here, or `_OPENED` for one with items."""
        self.position += 1
        if code < 0x80:
            return code
        if code >= 0xE0:
            return code - 0x100
        if code in _NUMBERS:
            return self._number(_NUMBERS[code])
        if code in _CONSTANTS:
            return _CONSTANTS[code]
        if code < 0x90:
            return self._container(code & 0x0F, is_map=True)
        if code < 0xA0:
            return self._container(code & 0x0F, is_map=False)
        if code < 0xC0:
            return self._text(code & 0x1F)
        if 0xD4 <= code <= 0xD8:
            return self._extension(1 << (code - 0xD4))
        if code not in _SIZED:
            self._damaged(f"no item begins with 0x{code:02x}")
        self.budget.work(2, "the msgpack file")
        kind, width = _SIZED[code]
        size = int.from_bytes(self._take(width), "big")
        if kind == "str":
            return self._text(size)
        if kind == "bin":
            return self._binary(size)
        if kind == "ext":
            return self._extension(size)
        return self._container(size, is_map=kind == "map")

    def _take(self, count: int) -> memoryview:
        start, left = self.position, len(self.data) - self.position
        if count > left:
            self._damaged(f"it declares {count:,} bytes where {left:,} are")
        self.position = start + count
        return self.data[start : self.position]

    def _number(self, layout: struct.Struct) -> Any:
        self.budget.spend(32, "a number")
        start = self.position
        self.position = start + layout.size
        if self.position > len(self.data):
            self._damaged("a number is cut")
        return layout.unpack_from(self.data, start)[0]

    def _text(self, count: int) -> str:
        raw = self._take(count)
        self.budget.spend(56 + count, "a string")
        try:
            text = str(raw, "utf-8")
        except UnicodeDecodeError:
            self._damaged("text that is not UTF-8")
        if not text.isascii():
            self.budget.spend(3 * count, "a string")
        return text

    def _binary(self, count: int) -> bytes | memoryview:
        raw = self._take(count)
        if count < VIEW_FROM:
            self.budget.spend(48 + count, "bytes")
            return bytes(raw)
        self.budget.spend(200, "bytes")
        return raw.toreadonly()

    def _extension(self, count: int) -> Opaque:
        code = self._take(1)[0]
        raw = self._take(count)
        self.budget.spend(320 + count, "an extension")
        return Opaque(_EXTENSION, (code, bytes(raw)))

    def _container(self, count: int, *, is_map: bool) -> Any:
        items = 2 * count if is_map else count
        left = len(self.data) - self.position
        if items > left:
            self._damaged(f"it declares {items:,} items where {left:,} bytes are")
        self.budget.spend((72 + 55 * items) if is_map else (64 + 9 * items), "its items")
        if not items:
            return {} if is_map else []
        if len(self.open) >= self.budget.limits.max_depth:
            raise LimitExceededError(
                "data nested too deep",
                expected=f"at most {self.budget.limits.max_depth} levels",
                hint="no checkpoint nests like this; it was built to break readers.",
            )
        self.open.append(([], items, is_map))
        return _OPENED

    def _map(self, items: list[Any]) -> Any:
        self.budget.work(MAP_STEPS, "the msgpack file")
        keys = [self.key(tuple(key) if type(key) is list else key) for key in items[::2]]
        mapping = dict(zip(keys, items[1::2], strict=True))
        if len(mapping) != len(keys):
            self._damaged("a key stands twice in one map")
        value = self.hook(mapping)
        if value is not mapping:
            self.budget.work(ARRAY_STEPS, "the msgpack file")
            self.budget.spend(300, "an array")
        return value

    def _damaged(self, why: str) -> NoReturn:
        raise CorruptCheckpointError(
            f"the msgpack data cannot be decoded at byte {self.position:,} of {len(self.data):,}"
            f" ({why})",
            hint="the file is cut or damaged; take another copy or an earlier checkpoint.",
            position=self.position,
        )


_OPENED: Final = object()
