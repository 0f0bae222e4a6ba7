"""Nested dicts as paths and values, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def as_path(key: Any) -> tuple[str, ...]:
    """The names on the way to a key; none for None."""
    if key is None:
        return ()
    return tuple(key) if isinstance(key, (tuple, list)) else (key,)


def leaves(tree: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each value of nested dicts with its path."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from leaves(value, (*path, name))
        else:
            yield (*path, name), value


def nested(items: Iterable[tuple[tuple[str, ...], Any]]) -> dict[str, Any]:
    """Values by path as nested dicts."""
    tree: dict[str, Any] = {}
    for path, value in items:
        place = tree
        for name in path[:-1]:
            place = place.setdefault(name, {})
        place[path[-1]] = value
    return tree
