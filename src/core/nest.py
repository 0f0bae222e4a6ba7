"""Nested dicts, tuples, named tuples and lists of leaves: flatten, rebuild, map.

A thin layer over `optree` that orders leaves as RLlib does: the keys of any dict are sorted, those
of an OrderedDict too; a rebuilt dict has its keys in the order they came. None is a leaf, and what
is no container is a nest of one leaf: it takes a fast path that builds no tree at all.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeVar, cast

import numpy as np
import optree

from .errors import LimitExceededError, SpaceError
from .types import Nest, Path

_T = TypeVar("_T")
_NAMESPACE: Final = "rlconnect"
_LEAF_TYPES: Final = frozenset(
    {np.ndarray, type(None), bool, int, float, complex, str, bytes, bytearray}
)
_CONTAINER_TYPES: Final = frozenset({dict, tuple, list, OrderedDict})
_SEQUENCES: Final = (tuple, list, deque)
_CONTAINERS: Final = (dict, *_SEQUENCES, Mapping)


class _Keys:
    """The keys of a mapping in their own order; equal to any order of the same keys."""

    __slots__ = ("ordered", "own")

    def __init__(self, mapping: Mapping[Any, Any]) -> None:
        self.own = list(mapping)
        try:
            self.ordered = sorted(self.own)
        except TypeError:
            self.ordered = self.own

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Keys) and self.ordered == other.ordered

    def __hash__(self) -> int:
        return hash(tuple(self.ordered))

    def refill(self, values: Iterable[Any]) -> dict[Any, Any]:
        """A dict in the mapping's own order from values in sorted order."""
        by_key = dict(zip(self.ordered, values, strict=True))
        return {key: by_key[key] for key in self.own}


def register_mapping(mapping: Callable[[dict[Any, Any]], Mapping[Any, Any]]) -> None:
    """Let nests hold a class of mappings besides dicts, rebuilt by a call with a dict."""

    def opened(mapping: Mapping[Any, Any]) -> tuple[list[Any], _Keys, list[Any]]:
        keys = _Keys(mapping)
        return [mapping[key] for key in keys.ordered], keys, keys.ordered

    def closed(keys: _Keys, values: Iterable[Any]) -> Mapping[Any, Any]:
        return mapping(keys.refill(values))

    optree.register_pytree_node(
        cast("type[Any]", mapping), cast("Any", opened), cast("Any", closed), namespace=_NAMESPACE
    )


# Read-only dicts are what RLlib's ImmutableActionsConnector hands out.
register_mapping(MappingProxyType)


def is_leaf(nest: Nest) -> bool:
    """True if `nest` is one leaf: an array, a number, a string, None or any other object."""
    if type(nest) in _LEAF_TYPES or isinstance(nest, (np.ndarray, np.generic)):
        return True
    if type(nest) in _CONTAINER_TYPES:
        return False
    return bool(optree.tree_is_leaf(nest, none_is_leaf=True, namespace=_NAMESPACE))


def flatten(nest: Nest) -> list[Any]:
    """The leaves of `nest`, depth first.

    Example:
        >>> flatten({"b": 1, "a": (2, None)})
        [2, None, 1]
    """
    return _guarded(lambda: _flatten(nest), "flattened")


def a_leaf(nest: Nest) -> Any:
    """Any one leaf of `nest`, to read from it what all share: rows, device, kind.

    Raises:
        IndexError: There is none.

    Example:
        >>> a_leaf({"b": (1, 2), "a": 3})
        1
    """
    part = nest
    while type(part) is not np.ndarray and isinstance(part, _CONTAINERS):
        if not part:
            return flatten(nest)[0]
        part = part[0] if isinstance(part, _SEQUENCES) else next(iter(part.values()))
    return part


def flatten_with_path(nest: Nest) -> list[tuple[Path, Any]]:
    """The leaves of `nest` with the keys and positions leading to each.

    Fields of named tuples appear by their position.

    Example:
        >>> flatten_with_path({"b": 1, "a": (2, 3)})
        [(('a', 0), 2), (('a', 1), 3), (('b',), 1)]
    """
    return _guarded(lambda: _flatten_with_path(nest), "flattened")


def named_leaves(prefix: str, nest: Nest) -> list[tuple[str, Any]]:
    """The leaves of `nest` by name: the prefix and the way to each, joined by dots.

    Example:
        >>> named_leaves("obs", {"b": 1, "a": (2, 3)})
        [('obs.a.0', 2), ('obs.a.1', 3), ('obs.b', 1)]
    """
    return [(".".join([prefix, *map(str, path)]), leaf) for path, leaf in flatten_with_path(nest)]


def unflatten_as(example: Nest, leaves: Sequence[Any]) -> Nest:
    """A nest built like `example` that holds `leaves`, given in the order of `flatten`.

    Example:
        >>> unflatten_as({"b": 0, "a": (0, 0)}, [1, 2, 3])
        {'b': 3, 'a': (1, 2)}
    """
    if is_leaf(example):
        _check_count(1, len(leaves))
        return leaves[0]

    def rebuilt() -> Nest:
        spec = optree.tree_structure(example, none_is_leaf=True, namespace=_NAMESPACE)
        _check_count(spec.num_leaves, len(leaves))
        places = _flatten(spec.unflatten(range(spec.num_leaves)))
        by_place = dict(zip(places, leaves, strict=True))
        return spec.unflatten([by_place[place] for place in range(len(leaves))])

    return _guarded(rebuilt, "rebuilt")


def map_structure(function: Callable[..., Any], *nests: Nest) -> Nest:
    """Apply `function` to the leaves of equally built nests; the result is built like the first.

    Raises:
        SpaceError: The nests are not built alike.

    Example:
        >>> map_structure(lambda x, y: x + y, {"a": 1, "b": (2,)}, {"a": 10, "b": (20,)})
        {'a': 11, 'b': (22,)}
    """
    if len(nests) == 1:
        nest = nests[0]
        if is_leaf(nest):
            return function(nest)
        return _guarded(
            lambda: optree.tree_map(function, nest, none_is_leaf=True, namespace=_NAMESPACE),
            "mapped",
        )
    return map_structure_up_to(nests[0], _only_leaves(function), *nests)


def mapped(function: Callable[..., Any], *columns: Nest) -> Nest:
    """As `map_structure`, in any order; arrays and plain dicts of them take a shorter way.

    Example:
        >>> mapped(len, {"b": np.ones(3), "a": (np.ones(2),)})
        {'b': 3, 'a': (2,)}
    """
    first = columns[0]
    if type(first) is np.ndarray:
        return function(*columns)
    if type(first) is dict:
        if len(columns) == 1:
            return {
                key: function(leaf) if type(leaf) is np.ndarray else mapped(function, leaf)
                for key, leaf in first.items()
            }
        if all(type(column) is dict and column.keys() == first.keys() for column in columns):
            return {key: mapped(function, *[column[key] for column in columns]) for key in first}
    return map_structure(function, *columns)


def taken(column: Nest, at: Any) -> Nest:
    """The rows of a column at an int, a slice (views) or an array of positions (copies).

    Example:
        >>> taken({"a": np.arange(6).reshape(3, 2), "b": (np.ones((3, 1)),)}, 2)
        {'a': array([4, 5]), 'b': (array([1.]),)}
    """
    if type(column) is np.ndarray:
        return column[at]
    return mapped(lambda leaf: leaf[at], column)


def joined(parts: Sequence[Nest]) -> Nest:
    """Columns one after the other; one alone as it is.

    Example:
        >>> joined([{"a": np.zeros(1)}, {"a": np.ones(2)}])
        {'a': array([0., 1., 1.])}
    """
    if len(parts) == 1:
        return parts[0]
    return mapped(lambda *leaves: np.concatenate(leaves), *parts)


def map_structure_up_to(shallow: Nest, function: Callable[..., Any], *nests: Nest) -> Nest:
    """Apply `function` where `shallow` has leaves; deeper parts of the nests are handed over whole.

    Example:
        >>> map_structure_up_to({"a": 0, "b": 0}, len, {"a": (1, 2), "b": [3]})
        {'a': 2, 'b': 1}
    """
    if is_leaf(shallow):
        return function(*nests)

    def mapped() -> Nest:
        spec = optree.tree_structure(shallow, none_is_leaf=True, namespace=_NAMESPACE)
        columns = [_flatten_up_to(spec, nest) for nest in nests]
        return spec.unflatten([function(*row) for row in zip(*columns, strict=True)])

    return _guarded(mapped, "mapped")


def path_text(path: Iterable[object], root: str = "value") -> str:
    """A path as people write it: `value['camera'][0]`."""
    return root + "".join(f"[{key!r}]" for key in path)


def _is_ordered(nest: object) -> bool:
    return type(nest) is OrderedDict


def _flatten(nest: Nest) -> list[Any]:
    if is_leaf(nest):
        return [nest]
    # RLlib sorts the keys of an OrderedDict too; optree would not, so it stops at them.
    leaves = optree.tree_leaves(nest, is_leaf=_is_ordered, none_is_leaf=True, namespace=_NAMESPACE)
    if not any(map(_is_ordered, leaves)):
        return leaves
    flat: list[Any] = []
    for leaf in leaves:
        flat.extend(_flatten(dict(leaf)) if _is_ordered(leaf) else (leaf,))
    return flat


def _flatten_with_path(nest: Nest) -> list[tuple[Path, Any]]:
    if is_leaf(nest):
        return [((), nest)]
    paths, leaves, _ = optree.tree_flatten_with_path(
        nest, is_leaf=_is_ordered, none_is_leaf=True, namespace=_NAMESPACE
    )
    flat: list[tuple[Path, Any]] = []
    for path, leaf in zip(paths, leaves, strict=True):
        if _is_ordered(leaf):
            flat.extend((path + rest, item) for rest, item in _flatten_with_path(dict(leaf)))
        else:
            flat.append((path, leaf))
    return flat


def _flatten_up_to(spec: optree.PyTreeSpec, nest: Nest) -> list[Any]:
    try:
        return spec.flatten_up_to(nest)
    except (ValueError, TypeError) as error:
        reason = str(error)
        shown = reason if len(reason) <= 300 else f"{reason[:300]}..."
        raise SpaceError(f"the structures differ: {shown}") from None


def _only_leaves(function: Callable[..., Any]) -> Callable[..., Any]:
    def checked(*leaves: Any) -> Any:
        for leaf in leaves[1:]:
            if not is_leaf(leaf):
                raise SpaceError(
                    "the structures differ",
                    expected="a leaf",
                    found=f"a {type(leaf).__name__} of more leaves",
                )
        return function(*leaves)

    return checked


def _check_count(expected: int, found: int) -> None:
    if expected != found:
        raise SpaceError(
            "the leaves do not fill the structure",
            expected=f"{expected} leaves",
            found=f"{found}",
        )


def _guarded(work: Callable[[], _T], verb: str) -> _T:
    try:
        return work()
    except RecursionError:
        raise LimitExceededError(f"the structure is nested too deeply to be {verb}") from None
