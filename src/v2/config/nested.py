"""Values of settings that hold others: dicts, lists, tuples and sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any


def leaves(value: Any) -> Iterator[Any]:
    """What a value holds that holds nothing further; a value by itself is its only leaf.

    Example:
        >>> list(leaves({"a": [1, (2,)], "b": None}))
        [1, 2, None]
    """
    if isinstance(value, Mapping):
        for part in value.values():
            yield from leaves(part)
    elif isinstance(value, (list, tuple, set)):
        for part in value:
            yield from leaves(part)
    else:
        yield value


def with_leaves(change: Callable[[Any], Any], value: Any) -> Any:
    """The same value with all leaves changed.

    Example:
        >>> with_leaves(str, {"a": [1, (2,)]})
        {'a': ['1', ('2',)]}
    """
    if isinstance(value, dict):
        return {key: with_leaves(change, part) for key, part in value.items()}
    if type(value) in (list, tuple, set):
        return type(value)(with_leaves(change, part) for part in value)
    return change(value)
