"""How much work and memory reading one checkpoint may take.

Every size a file declares is held against a `Budget` before anything is allocated. The
defaults let honest checkpoints through with room to spare; a caller who knows better passes
other `Limits`.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..errors import LimitExceededError

MIB = 1024 * 1024


@dataclass(frozen=True)
class Limits:
    """Bounds for reading one file.

    Args:
        max_file_bytes: Largest file that is read at all.
        max_json_bytes: Largest JSON file; structure, not arrays.
        max_operations: Pickle opcodes or msgpack items executed per file; a budget in work, not
            in seconds, so that a slow machine decides as a fast one. Real checkpoints take a few
            thousand.
        bytes_per_operation: Files so large that they hold more than `max_operations` times this
            many bytes get one more operation for each such portion.
        max_depth: Deepest nesting of containers in decoded data.
        base_memory: Memory a file of any size may unfold to.
        memory_factor: What a file may unfold to beyond that, per byte of its own. Dense honest
            data (short strings, small numbers) unfolds four- to sixfold in Python.
        max_nested_files: How deep a pickle may hold another pickle as bytes.
        max_entries: Files looked at in one folder.
    """

    max_file_bytes: int = 8 * 1024 * MIB
    max_json_bytes: int = 64 * MIB
    max_operations: int = 2_500_000
    bytes_per_operation: int = 8
    max_depth: int = 200
    base_memory: int = 32 * MIB
    memory_factor: int = 6
    max_nested_files: int = 4
    max_entries: int = 20_000


DEFAULT_LIMITS = Limits()


class Budget:
    """What is left of the memory and work one file may take; nested decoders share it.

    Example:
        >>> budget = Budget(Limits(base_memory=100, memory_factor=0), file_bytes=10)
        >>> budget.spend(60, "an array")
        >>> budget.left
        40
    """

    __slots__ = ("left", "limits", "operations", "total", "total_operations")

    def __init__(self, limits: Limits, file_bytes: int) -> None:
        self.limits = limits
        self.total = self.left = limits.base_memory + limits.memory_factor * file_bytes
        self.total_operations = self.operations = max(
            limits.max_operations, file_bytes // limits.bytes_per_operation
        )

    def spend(self, size: int, what: str) -> None:
        """Take `size` bytes from the budget, or refuse to allocate `what`."""
        if size > self.left:
            raise LimitExceededError(
                f"{what} would take {size:,} bytes",
                expected=f"at most {self.left:,} more, of {self.total:,} for the whole file",
                hint="pass larger limits=Limits(...) if you trust where the file came from.",
                size=size,
            )
        self.left -= size

    def work(self, operations: int, what: str) -> None:
        """Take `operations` steps of work from the budget."""
        if operations > self.operations:
            raise LimitExceededError(
                f"{what} takes more than {self.total_operations:,} steps to decode",
                hint="pass larger limits=Limits(max_operations=...) if you trust the file.",
            )
        self.operations -= operations


@contextmanager
def no_collection() -> Iterator[None]:
    """Pause Python's search for cycles: among millions of new objects it takes half the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
