"""Packed values: base64 of a compressed pickle, read as data.

Nothing says that a value is packed but its being a text. The pickle goes through the vault's
machine, which runs nothing; one that names what we do not build is refused.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import Any, Final

from ...core.data.budget import Budget, corrupt
from ...core.errors import UnsafeCheckpointError
from ...core.vault.decode.constructors import CONSTRUCTORS
from ...core.vault.decode.pickle_machine import PickleMachine
from ...core.vault.decode.walk import named_places
from .lz4_frame import MAGIC, decode_lz4_frame
from .pickled_arrays import array_of_pickle

_ZLIB: Final = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")


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
