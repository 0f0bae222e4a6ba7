"""Walk decoded data without recursion: how deep it is, and where in it a class is named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from ...errors import LimitExceededError
from .load_limits import Budget, limits_in_force
from .standins import GlobalRef, Opaque, PersistentRef, shown

MAX_STEP: Final = 60
MAX_PATH: Final = 300
SHORT: Final = 8
NODE_BYTES: Final = 170
TEXT_STEP: Final = 64
_PACK: Final = 1 << 16
_TEXTS: Final = frozenset({str, bytes, memoryview})
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


def _parts(value: Any) -> Iterator[Any]:
    """The parts of `value` alone, which is quicker."""
    if isinstance(value, (list, tuple, set, frozenset)):
        return iter(value)
    return (part for _, part in children(value))


def _leaf_size(value: Any) -> int:
    """How much writing out a scalar or a short row takes; 0 for a value with parts to visit."""
    kind = type(value)
    if kind in _TEXTS:
        return 1 + len(value) // TEXT_STEP
    if kind in _LEAVES:
        return 1
    if (kind is tuple or kind is list) and len(value) <= SHORT:
        size = 1
        for part in value:
            if type(part) in _TEXTS:
                size += len(part) // TEXT_STEP
            elif type(part) not in _LEAVES:
                return 0
        return size
    return 0


def check_depth(value: Any, deepest: int, budget: Budget | None = None) -> None:
    """Refuse data too deep, too circular or too large to be walked or printed.

    That is: nested deeper than `deepest`, by its longest path; a list, dict or tuple that contains
    itself; parts shared so often that writing them out takes many times the file. Objects may refer
    to each other in circles, as honest ones do. What remembering the parts costs is taken from
    `budget` and given back.
    """
    largest = 2 * (budget.total_operations if budget else limits_in_force().max_operations)
    # By id: 0 while on the way to the current part, then size of all below and height, packed.
    depths = {id(value): 0}
    way, pending, tallest, sizes = [value], [_parts(value)], [0], [1]
    while pending:
        for part in pending[-1]:
            leaf = _leaf_size(part)
            if leaf:
                sizes[-1] += leaf
                continue
            packed = depths.get(id(part))
            size, height = divmod(packed or 0, _PACK)
            if len(way) + height > deepest:
                raise _refused("data nested too deep", f"at most {deepest} levels")
            if packed is None:
                if budget is not None:
                    budget.spend(NODE_BYTES, "its structure")
                depths[id(part)] = 0
                way.append(part)
                pending.append(_parts(part))
                tallest.append(0)
                sizes.append(1)
                break
            if packed == 0 and not _is_through_object(way, part):
                raise _refused("data that contains itself", "a tree")
            tallest[-1] = max(tallest[-1], height + 1)
            sizes[-1] += size + 1
        else:
            pending.pop()
            height, size = tallest.pop(), sizes.pop()
            if size > largest:
                raise _refused(
                    "data that is small in the file and endless when written out",
                    f"at most {largest:,} parts",
                )
            depths[id(way.pop())] = size * _PACK + height
            if tallest:
                tallest[-1] = max(tallest[-1], height + 1)
                sizes[-1] += size
    if budget is not None:
        budget.left += NODE_BYTES * (len(depths) - 1)


def _is_through_object(way: list[Any], part: Any) -> bool:
    """True if the circle from `part` along the way back to it leads through a stand-in."""
    start = next(index for index, passed in enumerate(way) if passed is part)
    return any(isinstance(passed, Opaque) for passed in way[start:])


def _refused(what: str, expected: str) -> LimitExceededError:
    return LimitExceededError(
        what,
        expected=expected,
        hint="no checkpoint looks like this; it was built to break readers.",
    )


def named_places(value: Any) -> Iterator[tuple[str, Any]]:
    """Every stand-in in the data with the path to where it is first met."""
    visited: set[int] = set()
    pending: list[tuple[Any, _Path]] = [(value, None)]
    while pending:
        part, path = pending.pop()
        if id(part) in visited:
            continue
        visited.add(id(part))
        if isinstance(part, (GlobalRef, Opaque)):
            yield _written(path), part
        parts = [
            (child, path if step.startswith("(") else (path, step))
            for step, child in children(part)
            if not _leaf_size(child)
        ]
        pending.extend(reversed(parts))


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
