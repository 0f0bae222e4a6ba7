"""A batch in rows: what built-in pieces hand each other in place of lists of items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from ...core import nest
from ...core.arrays.batching import unbatch
from ...core.types import Nest


class NotColumnar(Exception):  # no error: a signal inside of pipelines
    """These rows cannot be taken together: the pieces run one by one, on items."""


class Rows:
    """Rows of one module.

    Attributes:
        keys: Whose row it is, each once: an episode id, or ids of episode and agent.
        columns: Nests of arrays by name, one row for each key.
        places: Where the rows stand among those of all modules; left empty for one module.
    """

    __slots__ = ("columns", "keys", "places")

    def __init__(
        self, keys: list[Any], columns: dict[str, Nest], places: Sequence[int] = ()
    ) -> None:
        self.keys = keys
        self.columns = columns
        self.places = places

    def take(self, places: Sequence[int]) -> Rows:
        """Some of the rows."""
        at = np.asarray(places, np.intp)
        columns = {name: nest.taken(column, at) for name, column in self.columns.items()}
        keys = [self.keys[place] for place in places]
        return Rows(keys, columns, [self.places[place] for place in places])


class Table:
    """The rows of all modules, in place of a batch of lists of items.

    Args:
        blocks: Rows by module id; of a single agent all of them under None.
        is_by_module: Whether the batch it stands for has module ids on top.
        given: The very dict that is to hold the arrays, on the way to a module.

    Attributes:
        added: Columns that were added when all modules' were together: they come last, and nobody
            else holds their arrays.
    """

    __slots__ = ("added", "blocks", "given", "is_by_module")

    def __init__(
        self,
        blocks: dict[Any, Rows],
        is_by_module: bool = False,
        given: dict[str, Any] | None = None,
    ) -> None:
        self.blocks = blocks
        self.is_by_module = is_by_module
        self.given = given
        self.added: tuple[str, ...] = ()

    def __contains__(self, name: object) -> bool:
        return any([name in rows.columns for rows in self.blocks.values()])

    @property
    def names(self) -> list[str]:
        """The columns in order."""
        blocks = self.blocks.values()
        ordered = dict.fromkeys(name for rows in blocks for name in rows.columns)
        for name in self.added:
            ordered[name] = ordered.pop(name)
        return [*ordered]

    def add(self, name: str, columns: Mapping[Any, Nest]) -> None:
        """Add a column behind all others, or replace it.

        Args:
            name: Its name.
            columns: Its rows by module; other modules have none.
        """
        if name not in self:
            self.added += (name,)
        for module_id, rows in self.blocks.items():
            if module_id in columns:
                rows.columns[name] = columns[module_id]
            else:
                rows.columns.pop(name, None)

    def closed(self) -> dict[Any, Any]:
        """The batch it stands for: lists of items by the ids of episode, agent and module."""
        by_module = {
            module_id: items_by_key(rows.columns, full_keys(module_id, rows.keys))
            for module_id, rows in self.blocks.items()
        }
        if self.is_by_module:
            return by_module
        merged: dict[Any, Any] = {name: {} for name in self.names}
        for columns in by_module.values():
            for name, by_key in columns.items():
                merged[name].update(by_key)
        return merged


def full_keys(module_id: Any, keys: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The keys of rows as batches have them, of one module, or of a single agent's (None)."""
    if module_id is None:
        return [(eps_id,) for eps_id in keys]
    return [(eps_id, agent_id, module_id) for eps_id, agent_id in keys]


def have_rows(columns: Any, count: int) -> bool:
    """Whether all columns of a dict or tuple are arrays of so many rows, or nests of these."""
    for part in columns.values() if type(columns) is dict else columns:
        kind = type(part)
        if kind is np.ndarray:
            if not part.ndim or len(part) != count:
                return False
        elif (kind is not dict and kind is not tuple) or not part or not have_rows(part, count):
            return False
    return True


def items_of(column: Nest) -> list[Any]:
    """The items of a column, as `unbatch` gives them."""
    if type(column) is np.ndarray:
        return [*islice(column, len(column))]  # Running into its end costs as much as ten items.
    if type(column) is not dict:
        return unbatch(column)
    parts = []
    for part in column.values():
        is_array = type(part) is np.ndarray
        parts.append([*islice(part, len(part))] if is_array else items_of(part))
    if len(parts) != 2:
        return [dict(zip(column, row, strict=True)) for row in zip(*parts, strict=True)]
    one, two = column  # h and c of a recurrent network: spelt out
    return [{one: part, two: other} for part, other in zip(*parts, strict=True)]


def items_by_key(columns: Mapping[str, Nest], keys: Sequence[Any]) -> dict[str, dict[Any, Any]]:
    """Columns as pieces hand them on: a list of one item for each key."""
    return {
        name: {key: [item] for key, item in zip(keys, items_of(column), strict=True)}
        for name, column in columns.items()
    }


def copied(column: Nest) -> Nest:
    """A column that shares no memory with another."""
    return column.copy() if type(column) is np.ndarray else nest.mapped(np.ndarray.copy, column)
