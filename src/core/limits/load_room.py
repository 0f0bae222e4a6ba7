"""How large the networks may be that are built while a file is loaded.

The one who loads says from where; the one who builds a network asks. Nothing here needs torch
until a network is built.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cached_property
from pathlib import Path
from typing import Any, Final

_SMALLEST: Final = 64
"""Bytes that a saved weight takes at least, its name included."""


class _Load:
    def __init__(self, path: str | os.PathLike[str], hint: str) -> None:
        self.path = Path(path)
        self.hint = hint

    @cached_property
    def room(self) -> Any:
        from .weight_room import WeightRoom

        size = sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())
        return WeightRoom(size, size // _SMALLEST, f"what {self.path.name} holds", self.hint)


_LOAD: ContextVar[_Load | None] = ContextVar("_LOAD", default=None)


@contextmanager
def loading_from(path: str | os.PathLike[str], hint: str = "") -> Iterator[None]:
    """Let networks that are built in a `with` block take about as much as a folder's files hold.

    `hint` is what a caller does who wants more.
    """
    token = _LOAD.set(_Load(path, hint))
    try:
        yield
    finally:
        _LOAD.reset(token)


@contextmanager
def as_the_caller_says() -> Iterator[None]:
    """Let networks that are built in a `with` block take all the memory they need."""
    token = _LOAD.set(None)
    try:
        yield
    finally:
        _LOAD.reset(token)


def room_of_the_load() -> AbstractContextManager[Any]:
    """The bound on networks that are built in the running load; no bound outside of one."""
    load = _LOAD.get()
    return nullcontext() if load is None else load.room
