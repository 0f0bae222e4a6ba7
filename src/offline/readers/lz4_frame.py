"""LZ4 frames, as Ray packs columns: decoded here, so that a lying header allocates nothing.

Larger ones are left to pyarrow where it is there, a portion at a time.

The format: a header, blocks of at most a declared size, an end mark. A block is a row of sequences,
each some bytes as they are and then a stretch copied from what was decoded before. Checksums,
which Ray does not write, are passed over.
"""

from __future__ import annotations

from typing import Final

from ...core.data.budget import Budget, corrupt
from ...core.errors import LimitExceededError

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
        hint="pass larger limits=Limits(...) if you trust where it came from.",
    )
