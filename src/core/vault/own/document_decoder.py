"""A JSON tree with tags back to plain data; the tags are listed in `document`.

The tree comes from a file nobody trusts: each tag has one known set of keys, each claim about an
array is held against its content, and nothing but plain data can come out.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from collections.abc import Callable
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from ...data.budget import Budget, allowance, checked_bytes
from ...data.dtype_storage import dtype_from_name, from_stored, stored_layout
from ...data.inline_values import from_values
from ...data.keys import KeyGuard, checked_keys
from ...data.tagged import Path, TagReader, damaged, distinct
from ...types import Array
from ..files.json_text import ESCAPED, TAG, Json
from .array_file import is_shape
from .document import EXACT_INT, MAX_HEX_DIGITS

_HEX: Final = re.compile(rf"-?0x[0-9a-f]{{1,{MAX_HEX_DIGITS}}}")
_NAN_BITS: Final = re.compile(r"0x[0-9a-f]{16}")
_ENTRY: Final = 110
_ARRAY: Final = 128
_WIDEST: Final = 1 << 16


class Reference(NamedTuple):
    """An array in the array file: its name there, its true dtype and shape."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


def decode(
    tree: Json, name: str, *, find: Callable[[Reference], Any], budget: Budget | None = None
) -> Any:
    """Turn a JSON tree back into plain data; the inverse of `encode`.

    `find` gives the array, or what stands for it, that a reference names.

    Example:
        >>> decode({"$tuple": [2, 3]}, "document.json", find=print)
        (2, 3)
    """
    return _Decoder(name, find, allowance() if budget is None else budget).decode(tree, ())


class _Decoder(TagReader):
    def __init__(self, name: str, find: Callable[[Reference], Any], budget: Budget) -> None:
        super().__init__(name)
        self.find = find
        self.budget = budget
        self.guard = KeyGuard(budget)
        self.seen: set[str] = set()

    def decode(self, tree: Json, path: Path) -> Any:
        if isinstance(tree, list):
            return [self.decode(item, (*path, str(i))) for i, item in enumerate(tree)]
        if type(tree) is int and abs(tree) >= EXACT_INT:
            raise damaged(self.name, path, "a large integer stands without its tag")
        if not isinstance(tree, dict):
            return tree
        if any(key.startswith(TAG) and not key.startswith(ESCAPED) for key in tree):
            return self.tagged(tree, path)
        return {
            (key[1:] if key.startswith(ESCAPED) else key): self.decode(item, (*path, key))
            for key, item in tree.items()
        }

    def _items(self, tree: Json, path: Path) -> list[Any]:
        if not isinstance(tree, list):
            raise TypeError("its content is no list")
        return [self.decode(item, (*path, str(i))) for i, item in enumerate(tree)]

    def _keys(self, keys: list[Any]) -> list[Any]:
        self.budget.spend(_ENTRY * len(keys), self.name)
        return checked_keys(keys, self.guard)

    def _dtype(self, name: Json) -> np.dtype[Any]:
        """The dtype of that name; an array that is about to be made of it is paid for."""
        if not isinstance(name, str):
            raise TypeError("its dtype is no text")
        dtype = dtype_from_name(name)
        # Numpy sets aside one item even where there is none; an item too wide is refused later.
        self.budget.spend(_ARRAY + min(dtype.itemsize, _WIDEST), self.name)
        return dtype

    def _from_base64(self, text: Json) -> bytes:
        if not isinstance(text, str):
            raise TypeError("its content is no text")
        self.budget.spend(2 * len(text), self.name)  # the bytes, and an array made of them
        try:
            return base64.b64decode(text.encode("ascii"), validate=True)
        except (binascii.Error, UnicodeEncodeError):
            raise ValueError("its content is no base64") from None

    def read_set(self, tree: Json, path: Path) -> Any:
        ((tag, content),) = tree.items()
        items = self._keys(self._items(content, path))
        return distinct(set(items) if tag == "$set" else frozenset(items), items)

    def read_pairs(self, tree: Json, path: Path) -> Any:
        pairs = self._items(tree["$pairs"], path)
        if any(type(pair) is not list or len(pair) != 2 for pair in pairs):
            raise TypeError("an entry is no pair")
        keys = self._keys([key for key, _ in pairs])
        return distinct(dict(zip(keys, (value for _, value in pairs), strict=True)), pairs)

    def read_float(self, tree: Json, path: Path) -> Any:
        text = tree["$float"]
        if isinstance(text, str) and text in ("nan", "inf", "-inf"):
            return float(text)
        bits = int(_matching(_NAN_BITS, text), 16)
        return struct.unpack("<d", bits.to_bytes(8, "little"))[0]

    def read_complex(self, tree: Json, path: Path) -> Any:
        parts = self._items(tree["$complex"], path)
        if len(parts) != 2 or any(type(part) is not float for part in parts):
            raise TypeError("its parts are not two floats")
        return complex(*parts)

    def read_scalar(self, tree: Json, path: Path) -> Any:
        value, name = tree["$scalar"], tree["dtype"]
        if isinstance(value, (str, dict)) and name in ("str", "bytes"):
            plain = self.decode(value, path)
            if type(plain).__name__ != name:
                raise TypeError(f"its value is no {name}")
            return np.str_(plain) if name == "str" else np.bytes_(plain)
        dtype = self._dtype(name)
        if isinstance(value, dict):
            return _from_bytes(self.decode(value, path), dtype, ())[()]
        return from_values(value, dtype, (), self.budget)[()]

    def read_array(self, tree: Json, path: Path) -> Any:
        name, shape = tree["$array"], _shape(tree["shape"])
        if not isinstance(name, str) or name in self.seen:
            raise ValueError("its name is not its own")
        self.seen.add(name)
        return self.find(Reference(name, self._dtype(tree["dtype"]), shape))

    def read_inline(self, tree: Json, path: Path) -> Any:
        dtype, shape = self._dtype(tree["dtype"]), _shape(tree["shape"])
        return from_values(tree["$inline"], dtype, shape, self.budget)

    def read_base64(self, tree: Json, path: Path) -> Any:
        data, shape = self._from_base64(tree["$base64"]), _shape(tree["shape"])
        return _from_bytes(data, self._dtype(tree["dtype"]), shape)

    def read_objects(self, tree: Json, path: Path) -> Any:
        items, shape = self._items(tree["$objects"], path), _shape(tree["shape"])
        if len(items) != math.prod(shape):
            raise ValueError("its items do not fill its shape")
        self.budget.spend(_ARRAY + 8 * len(items), self.name)
        array = np.empty(len(items), object)
        for index, item in enumerate(items):
            array[index] = item
        return array.reshape(shape)

    tags: ClassVar = {
        frozenset(["$tuple"]): lambda self, tree, path: tuple(self._items(tree["$tuple"], path)),
        frozenset(["$set"]): read_set,
        frozenset(["$frozenset"]): read_set,
        frozenset(["$pairs"]): read_pairs,
        frozenset(["$int"]): lambda self, tree, path: int(_matching(_HEX, tree["$int"]), 16),
        frozenset(["$float"]): read_float,
        frozenset(["$complex"]): read_complex,
        frozenset(["$bytes"]): lambda self, tree, path: self._from_base64(tree["$bytes"]),
        frozenset(["$str"]): lambda self, tree, path: self._from_base64(tree["$str"]).decode(
            "utf-32-le", "surrogatepass"
        ),
        frozenset(["$scalar", "dtype"]): read_scalar,
        frozenset(["$array", "dtype", "shape"]): read_array,
        frozenset(["$inline", "dtype", "shape"]): read_inline,
        frozenset(["$base64", "dtype", "shape"]): read_base64,
        frozenset(["$objects", "shape"]): read_objects,
    }


def _matching(pattern: re.Pattern[str], text: Json) -> str:
    if not isinstance(text, str) or not pattern.fullmatch(text):
        raise ValueError("its number is malformed")
    return text


def _from_bytes(data: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    if type(data) is not bytes:
        raise TypeError("its value is no bytes")
    stored_dtype, stored_shape = stored_layout(dtype, shape)
    if len(data) != checked_bytes(stored_shape, stored_dtype):
        raise ValueError("its bytes do not fill its shape")
    stored = np.frombuffer(bytearray(data), stored_dtype).reshape(stored_shape)
    return from_stored(stored, dtype, shape)


def _shape(sizes: Json) -> tuple[int, ...]:
    if not is_shape(sizes):
        raise ValueError("its shape is malformed")
    return tuple(sizes)
