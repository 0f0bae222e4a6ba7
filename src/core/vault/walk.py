"""Walk decoded data without recursion: how deep it is, and where in it a class is named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import LimitExceededError
from .standins import GlobalRef, Opaque, PersistentRef


def children(value: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a container or stand-in, each with a readable step towards it."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield (key if isinstance(key, str) else repr(key)[:60]), part
            if isinstance(key, (tuple, frozenset, GlobalRef, Opaque)):
                yield "(key)", key
    elif isinstance(value, (list, tuple, set, frozenset)):
        for index, part in enumerate(value):
            yield str(index), part
    elif isinstance(value, Opaque):
        yield "(class)", value.ref
        yield "(arguments)", value.args
        yield "(arguments)", value.kwargs
        if isinstance(value.state, dict):
            yield from children(value.state)
        elif value.state is not None:
            yield "(state)", value.state
        yield "(items)", value.items
        for key, part in value.entries:
            yield str(key)[:60], part
    elif isinstance(value, PersistentRef):
        yield "(id)", value.id
    elif isinstance(value, np.ndarray) and value.dtype.hasobject:
        for index, part in enumerate(value.flat):
            yield str(index), part


def check_depth(value: Any, deepest: int) -> None:
    """Refuse data nested deeper than `deepest`; each object is visited once.

    Raises:
        LimitExceededError: A chain of containers is longer than that.
    """
    seen: set[int] = set()
    pending: list[tuple[Any, int]] = [(value, 0)]
    while pending:
        part, depth = pending.pop()
        if isinstance(part, (str, bytes, int, float, type(None))) or id(part) in seen:
            continue
        seen.add(id(part))
        if depth > deepest:
            raise LimitExceededError(
                "data nested too deep",
                expected=f"at most {deepest} levels",
                hint="no checkpoint nests like this; it was built to break readers.",
            )
        pending.extend((child, depth + 1) for _, child in children(part))


def named_places(value: Any) -> Iterator[tuple[str, Any]]:
    """Every stand-in in the data with the path to where it is first met."""
    seen: set[int] = set()
    pending: list[tuple[Any, str]] = [(value, "")]
    while pending:
        part, path = pending.pop()
        if isinstance(part, (str, bytes, int, float, type(None))) or id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, (GlobalRef, Opaque)):
            yield path, part
        steps = list(children(part))
        pending.extend((child, _join(path, step)) for step, child in reversed(steps))


def _join(path: str, step: str) -> str:
    if step.startswith("("):
        return path
    return f"{path}/{step}" if path else step
