"""Rows as the lists of items that environments and users' pieces get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from ....core import nest
from ....core.arrays.batching import unbatch
from ....core.types import Nest
from ..item_rows import Rows
from ..module_to_env.listify_data_for_vector_env import BATCHED, places_of


def has_rows(column: Nest, count: int) -> bool:
    """Whether it is an array of so many rows, or dicts and tuples of such arrays."""
    kind = type(column)
    if kind is np.ndarray:
        return column.ndim > 0 and len(column) == count
    if (kind is not dict and kind is not tuple) or not column:
        return False
    parts = column.values() if kind is dict else column
    return all([has_rows(own, count) for own in parts])


def items_of(column: Nest) -> list[Any]:
    """The items of a column, as `unbatch` gives them."""
    if type(column) is np.ndarray:
        return [*islice(column, len(column))]  # Running into its end costs as much as ten items.
    if type(column) is not dict:
        return unbatch(column)
    parts = [items_of(own) for own in column.values()]
    if len(parts) != 2:
        return [dict(zip(column, row, strict=True)) for row in zip(*parts, strict=True)]
    one, two = column  # h and c of a recurrent network: spelt out
    return [{one: own, two: other} for own, other in zip(*parts, strict=True)]


def items_by_key(columns: Mapping[str, Nest], keys: Sequence[Any]) -> dict[str, dict[Any, Any]]:
    """Columns as pieces hand them on: a list of one item for each key."""
    return {
        name: {key: [item] for key, item in zip(keys, items_of(own), strict=True)}
        for name, own in columns.items()
    }


def listed(columns: Mapping[str, Nest]) -> dict[str, Any]:
    """The columns of a single agent as a vector environment takes them: actions as arrays."""
    return {
        name: nest.mapped(np.ndarray.copy, own) if name in BATCHED else items_of(own)
        for name, own in columns.items()
    }


def listed_by_agent(
    blocks: Mapping[Any, Rows],
    names: Sequence[str],
    episodes: Sequence[Any],
    renamed: Mapping[Any, Any],
) -> dict[str, list[dict[Any, Any]]]:
    """The columns of several modules as dicts by agent, one for each episode.

    Args:
        blocks: Rows by module.
        names: The columns in order.
        episodes: Those that are running.
        renamed: Old to new episode ids.
    """
    places = places_of(episodes, renamed)
    result: dict[str, list[dict[Any, Any]]] = {name: [{} for _ in episodes] for name in names}
    for rows in blocks.values():
        at = [places[key[0]] for key in rows.keys]
        agents = [key[1] for key in rows.keys]
        for name, own in rows.columns.items():
            by_env = result[name]
            for place, agent_id, item in zip(at, agents, items_of(own), strict=True):
                by_env[place][agent_id] = item
    return result
