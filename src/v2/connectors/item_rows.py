"""Rows of a half-built batch: columns as arrays, and whose row is whose.

Between the documented forms of a batch (lists under column and episode id; arrays) a run of pieces
keeps one `Rows` for each module. Whatever makes no clean rows is `NotColumnar`: then the pieces run
one by one, and find the words for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...core.arrays.batching import rows_of_alike
from ...core.columns import Columns
from ...core.errors import EpisodeError
from ...core.types import Array, Nest
from ..episodes.column_items import stacked
from .table import NotColumnar, Rows

_NO_ROWS: Final = "items differ in structure, or columns contain items of other agents"

_NUMBERS: Final = frozenset({float, int, bool, *(np.dtype(code).type for code in "?bBhHiIlLqQefd")})

_KINDS: Final = "biuf"

_FEW: Final = 16


class DistinctIds:
    """Knows whether ids are there once each, sooner where they are the same ones for many steps."""

    __slots__ = ("last",)

    def __init__(self) -> None:
        self.last: list[Any] = []

    def hold(self, ids: list[Any]) -> bool:
        """Return True if no id occurs twice."""
        if ids != self.last:
            if len({*ids}) < len(ids):
                return False
            self.last = ids.copy()
        return True


def opened(batch: dict[str, Any]) -> dict[Any, Rows]:
    """Return the rows of a batch of lists keyed by `(episode id,)` or by episode, agent and module.

    Returns:
        Rows by module id; of a single agent under None.

    Raises:
        NotColumnar: The batch has another form, columns have different rows, or an id occurs twice.
    """
    keys: list[Any] | None = None
    columns: dict[str, Sequence[Any]] = {}
    for name, by_key in batch.items():
        if type(by_key) is not dict or name == Columns.INFOS:
            raise NotColumnar(_NO_ROWS)
        if keys is None:
            keys = [*by_key]
        elif keys != [*by_key]:
            raise NotColumnar(_NO_ROWS)
        lists = [*by_key.values()]
        if not all(type(rows) is list and len(rows) == 1 for rows in lists):
            raise NotColumnar(_NO_ROWS)
        columns[name] = [rows[0] for rows in lists]
    if not keys or not all(type(key) is tuple for key in keys):
        raise NotColumnar(_NO_ROWS)
    lengths = {len(key) for key in keys}
    if lengths == {1}:
        rows = {name: joined(items) for name, items in columns.items()}
        return {None: Rows([key[0] for key in keys], rows)}
    if lengths != {3}:
        raise NotColumnar(_NO_ROWS)
    return by_module(keys, columns)


def by_module(keys: Sequence[Any], columns: dict[str, Sequence[Any]]) -> dict[Any, Rows]:
    """Items as rows of the module that each key names, in the order in which modules appear.

    Args:
        keys: Ids of episode, agent and module.
        columns: Items by column, one for each key.
    """
    places: dict[Any, list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key[2], []).append(place)
    return {
        module_id: Rows(
            [keys[place][:2] for place in of_module],
            {
                name: joined([items[place] for place in of_module])
                for name, items in columns.items()
            },
            of_module,
        )
        for module_id, of_module in places.items()
    }


def joined(items: Sequence[Any]) -> Nest:
    """Stack items to one nest of arrays, like `BatchIndividualItems` but faster.

    Raises:
        NotColumnar: They are not arrays, numbers, or dicts and tuples of these, of the same
            structure.
    """
    first = items[0]
    try:
        if len(items) == 1:
            if type(first) is np.ndarray and first.dtype.kind in _KINDS:
                return first[None].copy()
            if type(first) is dict and first:
                return {key: joined([part]) for key, part in first.items()}
        return _joined(items)
    except (EpisodeError, KeyError, ValueError) as error:
        raise NotColumnar(_NO_ROWS) from error


def _joined(items: Sequence[Any]) -> Nest:
    first = items[0]
    kind = type(first)
    if kind is np.ndarray:
        rows = _joined_arrays(items, first)
        if rows is not None:
            return rows
    if kind is dict or kind is tuple:
        size = len(first)
        for item in items:
            if type(item) is not kind or len(item) != size:
                raise NotColumnar(_NO_ROWS)
        if not size:
            raise NotColumnar(_NO_ROWS)
        if kind is tuple:
            return tuple(_joined(parts) for parts in zip(*items, strict=True))
        return {key: _joined([item[key] for item in items]) for key in first}
    if (kind is not np.ndarray and kind not in _NUMBERS) or {*map(type, items)} != {kind}:
        raise NotColumnar(_NO_ROWS)
    return stacked(items)


def _joined_arrays(items: Sequence[Any], first: Array) -> Array | None:
    """Arrays of numbers; None where that takes a closer look."""
    if len(items) > _FEW:
        return rows_of_alike(items)
    if first.dtype.kind not in _KINDS:
        return None
    plain = np.ndarray
    for item in items:
        if type(item) is not plain:
            return None
    return np.array(items)


def with_time(leaf: Array) -> Array:
    """Rows that are one step long each: a view."""
    return leaf[:, None]
