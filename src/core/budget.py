"""How much a reader of foreign data may spend: bytes, depth, dimensions; checked before spending.

A file may declare anything. Every decoder in `core` asks here before it allocates, so a few
bytes of input cannot become gigabytes of memory or an endless recursion.
"""

from __future__ import annotations

import re
import reprlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from .errors import CorruptCheckpointError, LimitExceededError, UnsafeCheckpointError

DEFAULT_MAX_BYTES: Final = 64 * 2**20
"""Memory one call may allocate for what it decodes, unless told otherwise."""

MAX_DEPTH: Final = 64
"""How deep structures may be nested."""

MAX_DIMENSIONS: Final = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32
"""The most axes an array can have in the numpy at hand."""

_NUMBER_DTYPE: Final = re.compile(r"[<>|=]?(?:b1|[iu][1248]|f(?:2|4|8|12|16)|c(?:8|16|24|32))")
_NAMED_DTYPE: Final = re.compile(
    r"bool|u?int(?:8|16|32|64)|float(?:16|32|64|96|128)|complex(?:64|128|192|256)"
)


class Budget:
    """What one decoding call may still allocate, and how deep it is.

    Args:
        max_bytes: Bytes that may be allocated in total.
        max_depth: Levels of nesting that may be entered.

    Example:
        >>> budget = Budget(max_bytes=100)
        >>> budget.take(60, "weights")
        >>> budget.left
        40
    """

    def __init__(self, max_bytes: int = DEFAULT_MAX_BYTES, max_depth: int = MAX_DEPTH) -> None:
        self.max_bytes: Final = max_bytes
        self.max_depth: Final = max_depth
        self.left = max_bytes
        self.depth = 0

    def take(self, count: int, what: str) -> None:
        """Spend `count` bytes on `what`, or raise LimitExceededError before they are allocated."""
        if count > self.left:
            raise LimitExceededError(
                f"{what} is larger than allowed",
                expected=f"at most {self.left:,} bytes more",
                found=f"{count:,} bytes",
                hint=f"pass a larger max_bytes than {self.max_bytes:,} if you trust the source.",
            )
        self.left -= count

    @contextmanager
    def level(self, what: str) -> Iterator[None]:
        """Enter one level of nesting for the time of the `with` block."""
        if self.depth >= self.max_depth:
            raise LimitExceededError(
                f"{what} is nested too deeply", expected=f"at most {self.max_depth} levels"
            )
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1


def corrupt(message: str, *, expected: str = "", found: object = None) -> CorruptCheckpointError:
    """An error for data that contradicts itself; `found` is shortened to fit a line."""
    shown = "" if found is None else reprlib.repr(found)
    return CorruptCheckpointError(message, expected=expected, found=shown)


def checked_int(value: Any, what: str) -> int:
    """A Python int from an int or numpy integer; anything else, bools included, is corrupt."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise corrupt(f"{what} is not an integer", expected="an integer", found=value)
    return int(value)


def checked_shape(value: Any, what: str) -> tuple[int, ...]:
    """A shape from a list or tuple of sizes, none negative, not more axes than numpy can hold."""
    if not isinstance(value, (list, tuple)):
        raise corrupt(f"{what} has no valid shape", expected="a list of sizes", found=value)
    if len(value) > MAX_DIMENSIONS:
        raise LimitExceededError(
            f"{what} has too many axes",
            expected=f"at most {MAX_DIMENSIONS}",
            found=str(len(value)),
        )
    shape = tuple(checked_int(size, f"a size of {what}") for size in value)
    if any(size < 0 for size in shape):
        raise corrupt(f"{what} has a negative size", expected="sizes >= 0", found=shape)
    extent = 1
    for size in shape:
        extent *= max(size, 1)
        if extent > sys.maxsize // 64:
            raise LimitExceededError(
                f"{what} is larger than memory can address",
                expected="sizes whose product fits an address",
                found=reprlib.repr(shape),
            )
    return shape


def checked_dtype(value: Any, what: str, kinds: str = "biufc") -> np.dtype[Any]:
    """A plain number dtype from its name ('float32'), code ('<f4') or a numpy dtype.

    Raises:
        UnsafeCheckpointError: It holds Python objects.
        CorruptCheckpointError: It is no number dtype, or its kind is not among `kinds`.
    """
    if isinstance(value, np.dtype):
        value = "|O" if value.hasobject else value.str
    if isinstance(value, str) and value.lstrip("<>|=") in ("O", "O4", "O8", "object"):
        raise UnsafeCheckpointError(
            f"{what} holds Python objects",
            expected="numbers",
            found=f"dtype {value!r}",
            hint="object arrays are pickles inside; rlconnect does not run them.",
        )
    if isinstance(value, str) and (_NUMBER_DTYPE.fullmatch(value) or _NAMED_DTYPE.fullmatch(value)):
        try:
            dtype = np.dtype(value)
        except TypeError:
            raise corrupt(
                f"{what} has a dtype this machine lacks", expected="a number dtype", found=value
            ) from None
        if dtype.kind in kinds:
            return dtype
    raise corrupt(f"{what} has no valid dtype", expected="a number dtype", found=value)


def checked_bytes(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    """Bytes an array of `shape` and `dtype` takes."""
    count = dtype.itemsize
    for size in shape:
        count *= size
    return count
