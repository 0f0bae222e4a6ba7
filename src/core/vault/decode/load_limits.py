"""The bounds of `core.data.budget`, as the vault names them, and a way to decode in less time."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Final

from ...data.budget import (
    DEFAULT_LIMITS,
    MIB,
    Budget,
    Limits,
    allow_more,
    limits_in_force,
    one_load,
    too_many_files,
)

__all__ = [
    "DEFAULT_LIMITS",
    "MIB",
    "Budget",
    "Limits",
    "allow_more",
    "limits_in_force",
    "no_collection",
    "one_load",
    "too_many_files",
]


@contextmanager
def no_collection() -> Iterator[None]:
    """Pause Python's search for cycles: among millions of new objects it takes half the time.

    It is paused for the whole process: loads that overlap in threads are counted, and the last
    one to end leaves it as the first one found it.
    """
    _PAUSES.begin()
    try:
        yield
    finally:
        _PAUSES.end()


class _Pauses:
    """How many blocks want no collection now, and whether it was on before them."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._running = 0
        self._was_on = False

    def begin(self) -> None:
        with self._lock:
            if not self._running:
                self._was_on = gc.isenabled()
                gc.disable()
            self._running += 1

    def end(self) -> None:
        with self._lock:
            self._running -= 1
            if not self._running and self._was_on:
                gc.enable()

    def forget(self) -> None:
        """End all: a forked process has none of the threads that would."""
        self._lock = RLock()
        if self._running and self._was_on:
            gc.enable()
        self._running = 0


_PAUSES: Final = _Pauses()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_PAUSES.forget)
