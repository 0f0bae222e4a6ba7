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

from ...core.data.budget import Budget, allow_more, corrupt
from ...core.errors import LimitExceededError, UnsafeCheckpointError
from ...core.types import Array
from ...core.vault.decode.constructors import CONSTRUCTORS
from ...core.vault.decode.pickle_machine import PickleMachine
from ...core.vault.decode.walk import named_places

MAGIC: Final = b"\x04\x22\x4d\x18"
_BLOCK_SIZES: Final = {4: 1 << 16, 5: 1 << 18, 6: 1 << 20, 7: 1 << 22}
_AS_IT_IS: Final = 1 << 31
_SMALL: Final = 1 << 12
_PORTION: Final = 1 << 20


def decode_lz4_frame(data: bytes, budget: Budget, what: str = "an lz4 frame") -> bytearray:
    """What a frame holds; its memory is taken from the budget as it grows.

    Example:
        >>> frame = bytes.fromhex("04224d186040820300008061626300000000")
        >>> bytes(decode_lz4_frame(frame, Budget()))
        b'abc'
    """
    quick = _by_library(data, budget, what)
    if quick is not None:
        return quick
    out = bytearray()
    try:
        _decode(data, out, budget, what)
    except IndexError:
        raise corrupt(f"{what} is cut", found=f"{len(data):,} bytes") from None
    return out


def _by_library(data: bytes, budget: Budget, what: str) -> bytearray | None:
    """What a frame holds, by pyarrow where it is there; None where our own decoder has to look."""
    if len(data) < _SMALL or _is_hardly_packed(data):
        return None
    try:
        import pyarrow as pa
    except ImportError:
        return None
    out = bytearray()
    try:
        with pa.CompressedInputStream(pa.BufferReader(data), "lz4") as stream:
            while part := stream.read(min(_PORTION, budget.left - len(out) + 1)):
                out += part
                if len(out) > budget.left:
                    raise _too_large(what, budget.left)
    except (OSError, ValueError, NotImplementedError) as error:
        if isinstance(error, LimitExceededError):
            raise
        return None
    budget.spend(len(out), what)
    return out


def _is_hardly_packed(data: bytes) -> bool:
    """Whether a frame declares little more than its own bytes, which are copied as quickly."""
    return bool(data[4] & 8) and int.from_bytes(data[6:14], "little") < 1.2 * len(data)


def _decode(data: bytes, out: bytearray, budget: Budget, what: str) -> None:
    if data[:4] != MAGIC:
        raise corrupt(f"{what} does not begin as one", found=data[:4])
    flags, sizes = data[4], data[5]
    largest = _BLOCK_SIZES.get(sizes >> 4 & 7)
    if flags >> 6 != 1 or largest is None:
        raise corrupt(f"{what} has an unknown header", found=data[4:6])
    if flags & 1:
        raise corrupt(f"{what} needs a dictionary, which no file holds")
    at = 7 + (8 if flags & 8 else 0)
    declared = int.from_bytes(data[6:14], "little") if flags & 8 else None
    while True:
        if at + 4 > len(data):
            raise IndexError
        size = int.from_bytes(data[at : at + 4], "little")
        at += 4
        if not size:
            break
        end = at + (size & ~_AS_IT_IS)
        if end > len(data):
            raise IndexError
        before = len(out)
        if size & _AS_IT_IS:
            out += data[at:end]
        else:
            _decode_block(data, at, end, out, before + min(largest, budget.left), what)
        budget.spend(len(out) - before, what)
        at = end + (4 if flags & 16 else 0)
    if declared is not None and declared != len(out):
        raise corrupt(f"{what} does not hold what it declares", found=f"{len(out):,} bytes")


def _decode_block(data: bytes, at: int, end: int, out: bytearray, most: int, what: str) -> None:
    """Append what the block in `data[at:end]` holds, up to `most` bytes in all."""
    while True:
        token = data[at]
        at += 1
        count = token >> 4
        if count == 15:
            extra = 255
            while extra == 255:
                extra = data[at]
                at += 1
                count += extra
        stop = at + count
        if stop > end:
            raise IndexError
        out += data[at:stop]
        at = stop
        if at == end:
            break
        back = data[at] | data[at + 1] << 8
        at += 2
        count = (token & 15) + 4
        if count == 19:
            extra = 255
            while extra == 255:
                extra = data[at]
                at += 1
                count += extra
        begin = len(out) - back
        if not back or begin < 0:
            raise corrupt(f"{what} copies from before its beginning")
        if len(out) + count > most:
            raise _too_large(what, most)
        if back >= count:
            out += out[begin : begin + count]
        else:
            out += (out[begin:] * (count // back + 1))[:count]
        if at > end:
            raise IndexError
    if len(out) > most:
        raise _too_large(what, most)


def _too_large(what: str, most: int) -> LimitExceededError:
    return LimitExceededError(
        f"{what} unfolds to more than it may",
        expected=f"at most {most:,} bytes",
        hint=allow_more("base_memory"),
    )


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


def _inflated(data: bytes, budget: Budget, what: str) -> bytearray:
    stream, plain = zlib.decompressobj(), bytearray()
    while not stream.eof:
        try:
            part = stream.decompress(data, _PORTION)
        except zlib.error as error:
            raise corrupt(f"{what} is not valid zlib data", found=str(error)) from None
        if not part and not stream.eof:
            raise corrupt(f"{what} is cut")
        budget.spend(len(part), what)
        plain += part
        data = stream.unconsumed_tail
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
