"""Items by episode into lists, one entry per environment."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from numpy import ndarray
from typing_extensions import override

from ....core.arrays.batching import batch as batched
from ....core.columns import Columns
from ....core.errors import EpisodeError
from ....core.step.part import moves_numbers
from ....core.types import Nest
from ..columnar import ColumnarPiece
from ..piece_plan import Call
from ..table import NotColumnar, Table, copied, items_of

BATCHED: Final = (Columns.ACTIONS, Columns.ACTIONS_FOR_ENV)
"""The columns of a single agent that are batched again."""


class ListifyDataForVectorEnv(ColumnarPiece):
    """Give each column as a list; of several agents as a list of dicts, one for each episode.

    Actions of a single agent are batched, as a vector environment takes them.
    """

    TAKES_ROWS = True
    part = moves_numbers

    @override
    def columns(self, batch: Any, call: Call) -> dict[str, Any]:
        if type(batch) is Table:
            if batch.is_by_module:
                raise NotColumnar("the batch is by module")
            if None in batch.blocks:
                return listed(batch.blocks[None].columns, batch.added)
        places = places_of(call.episodes, call.shared_data.get("vector_env_episodes_map") or {})
        count = len(call.episodes)
        if type(batch) is Table:
            return _rows_by_episode(batch, places, count)
        lists: dict[str, Any] = {}
        for column, items in batch.items():
            if not isinstance(items, Mapping):
                flat = items
            elif any(len(key) == 3 for key in items):
                lists[column] = _by_episode(column, items, places, count)
                continue
            else:
                flat = [item for of_key in items.values() for item in of_key]
            lists[column] = batched(flat) if column in BATCHED and len(flat) else flat
        return lists


def listed(columns: Mapping[str, Nest], writable: Collection[str] = ()) -> dict[str, Any]:
    """The rows of a single agent as a vector environment takes them: actions as arrays.

    Args:
        columns: The rows.
        writable: Columns whose arrays nobody else holds.
    """
    lists: dict[str, Any] = {}
    for name, rows in columns.items():
        is_array = type(rows) is ndarray
        if name in BATCHED:
            is_own = name in writable
            lists[name] = rows if is_own else rows.copy() if is_array else copied(rows)
        else:
            lists[name] = [*islice(rows, len(rows))] if is_array else items_of(rows)
    return lists


def places_of(episodes: Sequence[Any], renamed: Mapping[Any, Any]) -> dict[Any, int]:
    """Which environment runs which episode.

    Args:
        episodes: One of each environment.
        renamed: Old to new episode ids; an old one is found as well.
    """
    places = {episode.id_: place for place, episode in enumerate(episodes)}
    old_places = {old: places[new] for old, new in renamed.items() if new in places}
    return {**old_places, **places}


def _by_episode(
    column: str, items: Mapping[Any, Sequence[Any]], places: Mapping[Any, int], num_envs: int
) -> list[dict[Any, Any]]:
    rows: list[dict[Any, Any]] = [{} for _ in range(num_envs)]
    for (eps_id, agent_id, _), of_key in items.items():
        if eps_id not in places:
            raise EpisodeError(
                f"column {column!r} has an item of episode {eps_id!r}, which no environment runs",
                found=f"episodes {list(places)[:4]}",
            )
        for item in of_key:
            rows[places[eps_id]][agent_id] = item
    return rows


def _rows_by_episode(
    table: Table, places: Mapping[Any, int], num_envs: int
) -> dict[str, list[dict[Any, Any]]]:
    by_name: dict[str, list[dict[Any, Any]]] = {
        name: [{} for _ in range(num_envs)] for name in table.names
    }
    for rows in table.blocks.values():
        at = [places[eps_id] for eps_id, _ in rows.keys]
        agents = [agent_id for _, agent_id in rows.keys]
        for name, column in rows.columns.items():
            by_env = by_name[name]
            for place, agent_id, item in zip(at, agents, items_of(column), strict=True):
                by_env[place][agent_id] = item
    return by_name
