"""Walk decoded data without recursion: how deep it is, and where in it a class is named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from ..errors import LimitExceededError
from .limits import Budget
from .standins import GlobalRef, Opaque, PersistentRef, shown

MAX_STEP: Final = 60
MAX_PATH: Final = 300
SHORT: Final = 8
NODE_BYTES: Final = 140
_LEAVES: Final = frozenset({str, bytes, int, float, bool, type(None), complex, memoryview})
_Path = tuple[Any, str] | None


def children(value: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a container or stand-in, each with a readable step towards it."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield _step(key), part
            if type(key) not in _LEAVES:
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
            yield _step(key), part
            if type(key) not in _LEAVES:
                yield "(key)", key
    elif isinstance(value, PersistentRef):
        yield "(id)", value.id
    elif isinstance(value, np.ndarray) and value.dtype.hasobject:
        for index, part in enumerate(value.flat):
            yield str(index), part


def _is_leaf(value: Any) -> bool:
    """Whether `value` is a scalar or a short row of them: not worth remembering."""
    kind = type(value)
    if kind is tuple or kind is list:
        return len(value) <= SHORT and all(type(part) in _LEAVES for part in value)
    return kind in _LEAVES


def check_depth(value: Any, deepest: int, budget: Budget | None = None) -> None:
    """Refuse data nested deeper than `deepest`, by its longest path; shared parts are seen once.

    Args:
        value: Decoded data, which may refer to itself.
        deepest: The longest chain of containers allowed.
        budget: What remembering the parts costs is taken from here and given back.

    Raises:
        LimitExceededError: A chain of containers is longer than that.
    """
    heights = {id(value): 0}
    # The way to the current part: what is left of each part on it, the height found so far.
    way, pending, tallest = [value], [children(value)], [0]
    while pending:
        for _, part in pending[-1]:
            if _is_leaf(part):
                continue
            height = heights.get(id(part))
            if len(way) + (height or 0) > deepest:
                raise LimitExceededError(
                    "data nested too deep",
                    expected=f"at most {deepest} levels",
                    hint="no checkpoint nests like this; it was built to break readers.",
                )
            if height is None:
                if budget is not None:
                    budget.spend(NODE_BYTES, "its structure")
                heights[id(part)] = 0
                way.append(part)
                pending.append(children(part))
                tallest.append(0)
                break
            tallest[-1] = max(tallest[-1], height + 1)
        else:
            pending.pop()
            height = heights[id(way.pop())] = tallest.pop()
            if tallest:
                tallest[-1] = max(tallest[-1], height + 1)
    if budget is not None:
        budget.left += NODE_BYTES * (len(heights) - 1)


def named_places(value: Any) -> Iterator[tuple[str, Any]]:
    """Every stand-in in the data with the path to where it is first met."""
    seen: set[int] = set()
    pending: list[tuple[Any, _Path]] = [(value, None)]
    while pending:
        part, path = pending.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, (GlobalRef, Opaque)):
            yield _written(path), part
        found = [
            (child, path if step.startswith("(") else (path, step))
            for step, child in children(part)
            if not _is_leaf(child)
        ]
        pending.extend(reversed(found))


def _step(key: Any) -> str:
    return key[:MAX_STEP] if isinstance(key, str) else shown(key)[:MAX_STEP]


def _written(path: _Path) -> str:
    """The steps of a path as text; of a long one the end."""
    steps: list[str] = []
    length = 0
    while path is not None and length < MAX_PATH:
        path, step = path
        steps.append(step)
        length += len(step) + 1
    if path is not None:
        steps.append("...")
    return "/".join(reversed(steps))
