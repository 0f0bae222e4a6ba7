"""Bounds on what a file may ask for, unless its caller says more in code.

A setting of a few bytes can ask for ten million environments. Whatever a file asks for is held to
the table below when it is loaded, and a caller who wants more says it in code: settings that are
passed to a loader, or to a constructor, are never held to anything.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from ..errors import ConfigError, LimitExceededError

MIB: Final = 2**20

TIMES_THE_WEIGHTS: Final = 4
"""What networks may take, in bytes and in tensors, per byte and tensor of the weights there are:
networks for sampling, learning and evaluating, and targets."""

BYTES_BESIDE_WEIGHTS: Final = 64 * MIB
"""And beside that: what a file without weights may ask for."""

TENSORS_BESIDE_WEIGHTS: Final = 4_096
"""The same in tensors."""


@dataclass(frozen=True)
class Bound:
    """How much of something a file may ask for: at most how many, of what, and what it costs."""

    most: int
    unit: str
    reason: str


BOUNDS: Final[Mapping[str, Bound]] = {
    "environments": Bound(1_024, "environments per runner", "each is constructed and reset"),
    "processes": Bound(32, "processes", "each takes about 100 MB and CPU time"),
    "steps": Bound(10_000, "steps", "arrays of this length are allocated for every episode"),
    "layers": Bound(1_000, "layers", "each has its own weights"),
    "atoms": Bound(10_000, "atoms", "each action has this many scores"),
    "batch": Bound(10_000_000, "steps per batch", "the whole batch is in memory"),
    "rounds": Bound(1_000_000, "rounds", "one call runs until they are complete"),
    "numbers": Bound(2**22, "numbers in one value", "the value and both bounds have this size"),
}
"""Every bound on what a file asks for, beside that on weights."""


class AskedTooMuchError(LimitExceededError, ConfigError):
    """A file asks for more of something than it may without its caller's word."""


def check_count(name: str, value: Any, bound: str, call: str) -> None:
    """Hold a number from a file to its bound.

    What is no number is somebody else's to check. `call` is what the caller would write to have it
    nonetheless.

    Example:
        >>> check_count("num_envs_per_env_runner", 8, "environments", "config=...")
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        return
    limit = BOUNDS[bound]
    if value > limit.most:
        raise AskedTooMuchError(
            f"the file asks for {name}={_shown(value)}",
            expected=f"at most {limit.most:,} {limit.unit} ({limit.reason})",
            found=_shown(value),
            hint=f"if you want that many, say so: {call}.",
            setting=name,
            bound=limit.most,
        )


def check_space(space: Any, what: str, call: str) -> None:
    """Hold the values of a space from a file to how many numbers one may have.

    Anything else than a space passes. `call` is what the caller would write to have it nonetheless.

    Example:
        >>> check_space(spaces.Discrete(5), "actions", "action_space=...")
    """
    if isinstance(space, spaces.Space):
        check_count(f"{what} of {type(space).__name__}", numbers_in(space), "numbers", call)


def numbers_in(space: Any) -> int:
    """How many numbers a network sees of one value of a space: choices count one by one.

    Example:
        >>> numbers_in(spaces.Tuple((spaces.Discrete(5), spaces.Box(0, 1, (2, 3)))))
        11
    """
    total = 0
    for leaf, times in _leaves(space):
        if hasattr(leaf, "nvec"):
            size = int(np.asarray(leaf.nvec, object).sum())
        elif isinstance(leaf, spaces.Discrete):
            size = int(leaf.n)
        else:
            size = math.prod(map(int, leaf.shape or ()))
        total += times * size
    return total


def _leaves(space: Any) -> Iterator[tuple[Any, int]]:
    waiting = [(space, 1)]
    while waiting:
        each, times = waiting.pop()
        length = getattr(each, "max_len", None)
        if length is not None and hasattr(each, "child_space"):
            waiting.append((each.child_space, times * int(length)))
            continue
        inside = getattr(each, "spaces", None)
        if inside is None:
            yield each, times
        else:
            parts = inside.values() if isinstance(inside, Mapping) else inside
            waiting.extend((part, times) for part in parts)


def _shown(value: Any) -> str:
    try:
        return f"{value:,}" if abs(value) < 10**18 else f"{float(value):.1e}"
    except OverflowError:
        return "a number of more than 300 digits"


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
