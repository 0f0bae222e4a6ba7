"""Packed values: base64 of a compressed pickle, read as data.

Nothing says that a value is packed but its being a text. The pickle goes through the vault's
machine, which runs nothing; one that names what we do not build is refused. The one pickle that
nearly all packed columns are, an array's, is known by its bytes: those of its numbers stand between
a head and a tail that say nothing but dtype and shape.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from math import prod
from typing import Any, Final

import numpy as np

from ...core.data.budget import Budget, corrupt
from ...core.errors import UnsafeCheckpointError
from ...core.types import Array
from ...core.vault.decode.constructors import CONSTRUCTORS
from ...core.vault.decode.pickle_machine import PickleMachine
from ...core.vault.decode.walk import named_places
from .lz4_frame import MAGIC, decode_lz4_frame

_ZLIB: Final = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
_ARRAY_STEPS: Final = 40
_LONGEST_HEAD: Final = 80
_LONGEST_TAIL: Final = 200
_HEAD: Final = re.compile(
    rb"\x80\x05\x95.{8}\x8c[\x12\x13](?:numpy\.core|numpy\._core)\.numeric\x94"
    rb"\x8c\x0b_frombuffer\x94\x93\x94\(\x96(.{8})",
    re.DOTALL,
)
_SIZE: Final = rb"(?:K.|M..|J.{3}[\x00-\x7f])"
_TAIL: Final = re.compile(
    rb"(?:\x95.{8})?\x94\x8c\x05numpy\x94\x8c\x05dtype\x94\x93\x94\x8c\x02([biuf][1248])\x94\x89\x88\x87\x94R\x94"
    rb"\(K\x03\x8c\x01([<|])\x94NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00t\x94b"
    rb"(?:(" + _SIZE + rb")\x85|(" + _SIZE + _SIZE + rb")\x86|(" + _SIZE * 3 + rb")\x87"
    rb"|\((" + _SIZE + rb"{4})t)\x94\x8c\x01C\x94t\x94R\x94\.",
    re.DOTALL,
)
_EACH: Final = re.compile(rb"(?:K(.)|M(..)|J(.{4}))", re.DOTALL)


def unpack(text: str | bytes, budget: Budget, what: str) -> Any:
    """The value in a packed text."""
    budget.spend(len(text) * 3 // 4, what)
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise corrupt(f"{what} is a text and no packed value", found=text[:32]) from None
    if data[:4] == MAGIC:
        return unpickle(decode_lz4_frame(data, budget, what), budget, what)
    if data[:2] in _ZLIB:
        return unpickle(_inflated(data, budget, what), budget, what)
    return unpickle(data, budget, what)


def unpickle(data: bytes | bytearray, budget: Budget, what: str) -> Any:
    """The value of a pickle in which nothing is called."""
    array = array_of_pickle(data, budget)
    if array is not None:
        return array
    value = PickleMachine(memoryview(data), budget, constructors=CONSTRUCTORS).load()
    for _, part in named_places(value):
        raise UnsafeCheckpointError(
            f"{what} is a pickle that names {part.path}",
            expected="arrays, numbers, texts, lists and dicts",
            hint="rlconnect runs nothing a file names; what else the file holds is read.",
        )
    return value


def _inflated(data: bytes, budget: Budget, what: str) -> bytes:
    stream = zlib.decompressobj()
    try:
        plain = stream.decompress(data, budget.left + 1)
    except zlib.error as error:
        raise corrupt(f"{what} is not valid zlib data", found=str(error)) from None
    budget.spend(len(plain), what)
    if not stream.eof:
        raise corrupt(f"{what} is cut")
    return plain


def array_of_pickle(data: bytes | bytearray, budget: Budget) -> Array | None:
    """The array that a pickle holds, if it is written in the usual way; else None.

    Example:
        >>> import pickle
        >>> array_of_pickle(pickle.dumps(np.zeros(2), 5), Budget()).tolist()
        [0.0, 0.0]
    """
    head = _HEAD.match(data[:_LONGEST_HEAD])
    if head is None:
        return None
    size = int.from_bytes(head[1], "little")
    end = head.end() + size
    if end > len(data) or len(data) - end > _LONGEST_TAIL:
        return None
    tail = _TAIL.fullmatch(data, end)
    if tail is None:
        return None
    dtype = _dtype(tail[2] + tail[1])
    shape = _shape(next(filter(None, tail.groups()[2:])))
    if dtype is None or prod(shape) * dtype.itemsize != size:
        return None
    budget.work(_ARRAY_STEPS, "a pickle")
    budget.spend(size + 200, "an array")
    array = np.frombuffer(data, dtype, size // dtype.itemsize, head.end()).reshape(shape)
    return array if array.flags.writeable else array.copy()


def _dtype(code: bytes) -> np.dtype[Any] | None:
    try:
        return np.dtype(code.decode())
    except TypeError:
        return None


def _shape(sizes: bytes) -> tuple[int, ...]:
    return tuple(int.from_bytes(b"".join(each), "little") for each in _EACH.findall(sizes))
