"""Nested plain data as a JSON tree, bit for bit.

What JSON has no word for is an object with a tag, a key that begins with one `$`:

    {"$tuple": [...]}   {"$set": [...]}   {"$frozenset": [...]}   {"$pairs": [[key, value], ...]}
    {"$int": "0x..."}   {"$float": "nan"} {"$complex": [re, im]}
    {"$bytes": "base64"}                  {"$str": "base64"}      text that is not valid Unicode
    {"$scalar": value, "dtype": name}                             one numpy number
    {"$array": name, "dtype": name, "shape": [...]}               an array in the array file
    {"$inline": rows, "dtype": name, "shape": [...]}              an array as readable numbers
    {"$base64": text, "dtype": name, "shape": [...]}              an array as its stored bytes
    {"$objects": [...], "shape": [...]}                           an array of dtype object

A key of the data that begins with `$` is written with one more `$`. `document_decoder` reads
what is written here; `docs/own-format.md` is the specification.
"""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from ...data.dtype_storage import dtype_name, to_stored
from ...data.inline_values import to_values
from ...data.tagged import Path, place
from ...errors import CheckpointWriteError
from ...types import Array
from ..files.json_text import TAG, Json, compact

_MOST_READABLE: Final = 10_000
MAX_WRITE_DEPTH: Final = 60
EXACT_INT: Final = 2**53
MAX_HEX_DIGITS: Final = 2048
_NAN: Final = struct.pack("<d", math.nan)
_RESERVED: Final = "__metadata__"


def encode(document: Any, *, arrays: dict[str, Array] | None = None, inline_up_to: int = 0) -> Json:
    """Turn plain data into a JSON tree; mappings of any class come back as dicts.

    `arrays` is filled with every array to be stored beside the JSON, in its stored layout, under a
    name made of its path. Arrays of at most `inline_up_to` items, all of them without `arrays`, are
    written into the tree.

    Raises:
        CheckpointWriteError: A value is no plain data; the message names its path.

    Example:
        >>> encode({"shape": (2, 3), "seed": None})
        {'shape': {'$tuple': [2, 3]}, 'seed': None}
    """
    return _Encoder(arrays, inline_up_to).encode(document, ())


def _place(index: int, item: Any) -> str:
    """The name of a list's item in the names of arrays.

    A pair that begins with a name goes by it, so that putting another one before it (a connector,
    say) moves no array.
    """
    if type(item) in (list, tuple) and len(item) == 2:
        name = item[0]
        if type(name) is str and name.isidentifier():
            return name
    return str(index)


@dataclass
class _Encoder:
    arrays: dict[str, Array] | None
    inline_up_to: int
    counts: dict[str, int] = field(default_factory=dict)

    def encode(self, value: Any, path: Path) -> Json:
        if len(path) > MAX_WRITE_DEPTH:
            raise _unwritable(
                path[:4], f"nested more than {MAX_WRITE_DEPTH} deep", "does it contain itself?"
            )
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is str and _is_text(value):
            return value
        if kind is str:
            return {"$str": to_base64(value.encode("utf-32-le", "surrogatepass"))}
        if kind is int:
            if value.bit_length() > 4 * MAX_HEX_DIGITS:
                raise _unwritable(path, "an integer without end", "keep it as text or bytes.")
            return value if abs(value) < EXACT_INT else {"$int": hex(value)}
        if kind is float:
            return _float(value)
        if kind is complex:
            return {"$complex": [_float(value.real), _float(value.imag)]}
        if kind is bytes:
            return {"$bytes": to_base64(value)}
        if isinstance(value, np.generic):
            return self._scalar(value, path)
        if isinstance(value, np.ndarray):
            return self._array(value, path)
        if isinstance(value, Mapping):
            return self._mapping(value, path)
        if kind is list:
            return self._items(value, path)
        if kind is tuple:
            return {"$tuple": self._items(value, path)}
        if kind is set or kind is frozenset:
            # Sorted by their text: a set has no order of its own to keep.
            return {f"${kind.__name__}": sorted(self._items(value, path), key=compact)}
        raise _unwritable(path, f"{_class_name(value)} is no plain data", _advice(value))

    def _items(self, value: Any, path: Path) -> list[Json]:
        return [self.encode(item, (*path, _place(index, item))) for index, item in enumerate(value)]

    def _mapping(self, value: Mapping[Any, Any], path: Path) -> Json:
        if all(type(key) is str and _is_text(key) for key in value):
            return {
                (TAG + key if key.startswith(TAG) else key): self.encode(item, (*path, key))
                for key, item in value.items()
            }
        pairs = [
            [self.encode(key, (*path, "key")), self.encode(item, (*path, str(key)))]
            for key, item in value.items()
        ]
        return {"$pairs": pairs}

    def _scalar(self, value: np.generic, path: Path) -> Json:
        if isinstance(value, np.str_):
            return {"$scalar": self.encode(str(value), path), "dtype": "str"}
        if isinstance(value, np.bytes_):
            return {"$scalar": self.encode(bytes(value), path), "dtype": "bytes"}
        array = np.asarray(value)
        name, stored = self._stored(array, path)
        values = to_values(array)
        if values is None:
            values = self.encode(stored.tobytes(), path)
        return {"$scalar": values, "dtype": name}

    def _array(self, value: Array, path: Path) -> Json:
        if type(value) is not np.ndarray and not isinstance(value, np.memmap):
            raise _unwritable(path, f"{_class_name(value)} is no plain array", "np.asarray(it).")
        value = np.asarray(value)
        shape = list(value.shape)
        if value.dtype == np.dtype(object):
            return {"$objects": self._items(value.flat, path), "shape": shape}
        dtype, stored = self._stored(value, path)
        is_inline = self.arrays is None or value.size <= self.inline_up_to
        # Text reads better in the JSON, whatever its amount; nobody reads a picture's numbers.
        is_readable = value.dtype.kind == "U" or (is_inline and value.size <= _MOST_READABLE)
        rows = to_values(value) if is_readable else None
        if rows is not None:
            return {"$inline": rows, "dtype": dtype, "shape": shape}
        if self.arrays is None or is_inline:
            return {"$base64": to_base64(stored.tobytes()), "dtype": dtype, "shape": shape}
        name = free_name(path, self.arrays, self.counts)
        self.arrays[name] = stored
        return {"$array": name, "dtype": dtype, "shape": shape}

    def _stored(self, value: Array, path: Path) -> tuple[str, Array]:
        try:
            return dtype_name(value.dtype), to_stored(value)
        except TypeError as error:
            raise _unwritable(
                path, str(error), "convert it, say with .astype('float32'), before saving."
            ) from None


def free_name(path: Path, names: Mapping[str, Any], counts: dict[str, int] | None = None) -> str:
    """The name of the array at `path`: its keys joined by slashes, told apart if need be.

    `counts` is kept from call to call: many arrays of one path take no longer than as many of their
    own.

    Example:
        >>> free_name(("weights", "fc.0.weight"), {})
        'weights/fc.0.weight'
        >>> free_name(("a", "b"), {"a/b": 0})
        'a/b~2'
    """
    plain = "/".join(path).encode("utf-8", "backslashreplace").decode("utf-8") or "array"
    counts = {} if counts is None else counts
    count = counts.get(plain, 1)
    name = plain if count == 1 else f"{plain}~{count}"
    while name in names or name == _RESERVED:
        count += 1
        name = f"{plain}~{count}"
    counts[plain] = count
    return name


def to_base64(data: bytes) -> str:
    """Bytes as standard base64 with padding."""
    return base64.b64encode(data).decode("ascii")


def _float(value: float) -> Json:
    if math.isfinite(value):
        return value
    bits = struct.pack("<d", value)
    if math.isnan(value) and bits != _NAN:
        return {"$float": f"0x{int.from_bytes(bits, 'little'):016x}"}
    return {"$float": str(value)}


def _is_text(value: str) -> bool:
    return value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)


def _class_name(value: Any) -> str:
    kind = type(value)
    return f"a {kind.__module__}.{kind.__qualname__}"


def _advice(value: Any) -> str:
    if type(value).__module__.partition(".")[0] == "torch":
        return "give it as an array: tensor.detach().cpu().numpy()."
    if isinstance(value, tuple):
        return "give it as a plain tuple or as a dict with its names."
    if isinstance(value, (str, int, float, list, bytes)):
        return "give it as the builtin it derives from."
    return "describe it with dicts, lists, numbers, text and arrays."


def _unwritable(path: Path, what: str, hint: str) -> CheckpointWriteError:
    where = place(path)
    return CheckpointWriteError(f"cannot save {where}: {what}.", hint=hint, at=where)
