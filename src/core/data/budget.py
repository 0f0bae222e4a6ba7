"""How much a reader of foreign data may spend: bytes, steps, depth; checked before spending.

A file may declare anything. Every decoder asks here before it allocates, so a few bytes of input
cannot become gigabytes of memory or an endless recursion. What is loaded together shares one
`Budget`: whatever reads inside `one_load`, be it pickles, documents, spaces or adapters, spends
from it, and it grows only with the bytes of the files that are read.
"""

from __future__ import annotations

import math
import re
import reprlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from ..errors import ConfigError, CorruptCheckpointError, LimitExceededError, UnsafeCheckpointError
from .damage import at

MIB: Final = 1024 * 1024

DEFAULT_MAX_BYTES: Final = 64 * MIB
"""Memory one call outside of a load may allocate for what it decodes, unless told otherwise."""

MAX_DEPTH: Final = 64
"""How deep spaces and the like may be nested: whoever reads them recurses."""

MAX_DIMENSIONS: Final = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32
"""The most axes an array can have in the numpy at hand."""

_NUMBER_DTYPE: Final = re.compile(r"[<>|=]?(?:b1|[iu][1248]|f(?:2|4|8|12|16)|c(?:8|16|24|32))")
_NAMED_DTYPE: Final = re.compile(
    r"bool|u?int(?:8|16|32|64)|float(?:16|32|64|96|128)|complex(?:64|128|192|256)"
)


@dataclass(frozen=True)
class Limits:
    """Bounds for one load, however many files it reads.

    Args:
        max_file_bytes: Largest file that is read at all.
        max_json_bytes: Largest JSON file; structure, not arrays.
        max_operations: Pickle opcodes or msgpack items executed; a budget in work, not in
            seconds, so that a slow machine decides as a fast one. Real checkpoints take a few
            thousand.
        bytes_per_operation: Files so large that they hold more than `max_operations` times this
            many bytes get one more operation for each such portion.
        max_depth: Deepest nesting of containers in decoded data.
        base_memory: Memory that files of any size may unfold to, all of them together.
        memory_factor: What they may unfold to beyond that, per byte of their own. Dense honest
            data (short strings, small numbers) unfolds four- to sixfold in Python.
        max_nested_files: How deep a pickle may hold another pickle as bytes.
        max_entries: Files looked at in one folder.
    """

    max_file_bytes: int = 16 * 1024 * MIB
    max_json_bytes: int = 64 * MIB
    max_operations: int = 2_500_000
    bytes_per_operation: int = 8
    max_depth: int = 200
    base_memory: int = 32 * MIB
    memory_factor: int = 6
    max_nested_files: int = 4
    max_entries: int = 20_000


DEFAULT_LIMITS: Final = Limits()

_running: Final[ContextVar[Budget | None]] = ContextVar("_running", default=None)
_asked: Final[ContextVar[Mapping[str, int]]] = ContextVar("_asked", default=MappingProxyType({}))


@contextmanager
def limits(**bounds: int) -> Iterator[Limits]:
    """Let what is read in a `with` block take more than the bounds for strangers' files, or less.

    Args:
        **bounds: Those of `Limits` that change, by name; the others stay.

    Raises:
        ConfigError: There is no such bound, or its value is no whole number from 0 up.

    Example:
        >>> import rlconnect
        >>> with rlconnect.limits(base_memory=1 << 32) as bounds:  # 4 GiB
        ...     bounds.base_memory
        4294967296
    """
    known = [bound.name for bound in fields(Limits)]
    for name, value in bounds.items():
        if name not in known:
            raise ConfigError(f"no bound {name!r}", expected=f"one of {', '.join(known)}")
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise ConfigError(f"{name}={value!r}", expected="a whole number from 0 up")
    token = _asked.set({**_asked.get(), **bounds})
    try:
        yield limits_in_force()
    finally:
        _asked.reset(token)


def limits_in_force(usual: Limits = DEFAULT_LIMITS) -> Limits:
    """The bounds of the load that runs; else the `usual` ones with those `limits` was asked for."""
    running = _running.get()
    if running is not None and usual is DEFAULT_LIMITS:
        return running.limits
    asked = _asked.get()
    return replace(usual, **asked) if asked else usual


def allow_more(bound: str) -> str:
    """The hint of an error that says a bound is too small."""
    return f"if you trust where it came from, read it in `with rlconnect.limits({bound}=...):`."


def too_many_files(most: int, where: object) -> LimitExceededError:
    """The error for a place that holds more files than may be looked at."""
    summary = f"more than {most:,} files in {where}"
    return LimitExceededError(summary, hint=allow_more("max_entries"))


class Budget:
    """The memory and work that are left for one load; all its readers share it.

    It grows with the bytes of files that were read.

    Example:
        >>> budget = Budget(Limits(base_memory=100, memory_factor=2))
        >>> budget.spend(60, "an array")
        >>> budget.admit(10)
        >>> budget.left
        60
    """

    __slots__ = (
        "depth",
        "file_bytes",
        "hint",
        "left",
        "limits",
        "operations",
        "total",
        "total_operations",
    )

    def __init__(self, limits: Limits | None = None, file_bytes: int = 0) -> None:
        self.limits = limits = limits or limits_in_force()
        self.hint = allow_more("base_memory")
        self.depth = 0
        self.file_bytes = 0
        self.total = self.left = limits.base_memory
        self.total_operations = self.operations = limits.max_operations
        self.admit(file_bytes)

    @classmethod
    def of_bytes(cls, max_bytes: int) -> Budget:
        """A budget of exactly `max_bytes`."""
        budget = cls(Limits(base_memory=max_bytes, memory_factor=0))
        budget.hint = f"pass a larger max_bytes than {max_bytes:,} if you trust the source."
        return budget

    def admit(self, file_bytes: int) -> None:
        """Grow by what a file of so many bytes may unfold to and take in steps."""
        self.file_bytes += file_bytes
        self.total += self.limits.memory_factor * file_bytes
        self.left += self.limits.memory_factor * file_bytes
        steps = self.file_bytes // self.limits.bytes_per_operation - self.total_operations
        if steps > 0:
            self.total_operations += steps
            self.operations += steps

    def spend(self, size: int, what: str) -> None:
        """Take `size` bytes from the budget, or refuse to allocate `what`."""
        if size > self.left:
            raise LimitExceededError(
                f"{what} would take {size:,} bytes",
                expected=f"at most {self.left:,} more, of {self.total:,} in all",
                hint=self.hint,
                size=size,
            )
        self.left -= size

    def work(self, operations: int, what: str) -> None:
        """Take `operations` steps of work from the budget."""
        if operations > self.operations:
            raise LimitExceededError(
                f"{what} takes more than {self.total_operations:,} steps to decode",
                hint=allow_more("max_operations"),
            )
        self.operations -= operations

    @contextmanager
    def level(self, what: str) -> Iterator[None]:
        """Enter one level of nesting for the time of the `with` block."""
        if self.depth >= MAX_DEPTH:
            raise LimitExceededError(
                f"{what} is nested too deeply", expected=f"at most {MAX_DEPTH} levels"
            )
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1


@contextmanager
def one_load(limits: Limits | None = None) -> Iterator[Budget]:
    """Let all that is read in a `with` block, or a decorated function, share one budget.

    Inside another such block it is that one's, unless other limits are asked for. What stumbles in
    it is told as damage, see `damage.at`.

    Example:
        >>> with one_load() as outer, one_load() as inner:
        ...     inner is outer
        True
    """
    running = _running.get()
    if running is not None and limits in (None, running.limits):
        with at():
            yield running
        return
    budget = Budget(limits)
    token = _running.set(budget)
    try:
        with at():
            yield budget
    finally:
        _running.reset(token)


def allowance(max_bytes: int | None = None) -> Budget:
    """The budget of the load that runs; else one of `max_bytes` for a call by itself.

    A caller who names `max_bytes` gets just that.
    """
    running = _running.get()
    if running is not None and max_bytes is None:
        return running
    return Budget.of_bytes(DEFAULT_MAX_BYTES if max_bytes is None else max_bytes)


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
    if math.prod(max(size, 1) for size in shape) > sys.maxsize // 64:
        raise LimitExceededError(
            f"{what} is larger than memory can address",
            expected="sizes whose product fits an address",
            found=reprlib.repr(shape),
        )
    return shape


def checked_dtype(value: Any, what: str, kinds: str = "biufc") -> np.dtype[Any]:
    """A plain number dtype from its name ('float32'), code ('<f4') or a numpy dtype."""
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
    """Return the bytes of an array; refuse elements that the bytes do not account for."""
    elements = math.prod(shape)
    if elements and not dtype.itemsize:
        raise corrupt(f"an array of shape {shape} has elements of no size", found=dtype.str)
    return elements * dtype.itemsize
