"""Items by episode into lists, one entry per environment."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final

from numpy import ndarray
from typing_extensions import override

from ....core.arrays.batching import batch as batched
from ....core.columns import Columns
from ....core.errors import EpisodeError
from ....core.step.part import moves_numbers
from ....core.types import Nest
from ..columnar import ColumnarPiece, Work
from ..piece_plan import Call
from ..table import NotColumnar, Table, copied, items_of

BATCHED: Final = (Columns.ACTIONS, Columns.ACTIONS_FOR_ENV)
"""The columns of a single agent that are batched again."""


class ListifyDataForVectorEnv(ColumnarPiece):
    """Return each column as a list; of several agents as a list of dicts, one for each episode.

    Actions of a single agent are batched, as a vector environment takes them.
    """

    TAKES_ROWS = True
    part = moves_numbers

    @override
    def columns(self, batch: Any, call: Call) -> dict[str, Any]:
        return self._listed(Seats(), batch, call)

    @override
    def planned(self, following: Sequence[type]) -> Work:
        return partial(self._listed, Seats())

    def _listed(self, seats: Seats, batch: Any, call: Call) -> dict[str, Any]:
        renamed = call.shared_data.get("vector_env_episodes_map") or {}
        if type(batch) is Table:
            if batch.is_by_module:
                raise NotColumnar("the batch is by module")
            if None in batch.blocks:
                return listed(batch.blocks[None].columns, batch.added)
            seats.take(batch, call.episodes, renamed)
            return seats.filled(batch)
        places, count = places_of(call.episodes, renamed), len(call.episodes)
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


class Seats:
    """Which environment and agent each row of a table is for, kept while the same agents act."""

    __slots__ = ("_agents", "_ids", "_keys", "_seats")

    def __init__(self) -> None:
        self._ids: list[Any] = []
        self._keys: dict[Any, list[Any]] = {}
        # By module and row the number of an environment and the id of an agent.
        self._seats: dict[Any, tuple[list[int], list[Any]]] = {}
        # Of each environment all agents, as the keys of a dict.
        self._agents: list[dict[Any, Any]] = []

    def take(self, table: Table, episodes: Sequence[Any], renamed: Mapping[Any, Any]) -> None:
        """See whose rows there are.

        Args:
            table: The rows.
            episodes: One of each environment.
            renamed: Old to new episode ids; rows may have either.
        """
        ids = [episode.id_ for episode in episodes]
        keys = {module_id: rows.keys for module_id, rows in table.blocks.items()}
        if keys == self._keys and ids == self._ids and not renamed:
            return
        places = places_of(episodes, renamed)
        self._ids, self._keys = [] if renamed else ids, keys
        self._seats = {
            module_id: ([places[eps_id] for eps_id, _ in owners], [agent for _, agent in owners])
            for module_id, owners in keys.items()
        }
        self._agents = [{} for _ in ids]
        for envs, agents in self._seats.values():
            for env, agent in zip(envs, agents, strict=True):
                self._agents[env][agent] = None

    def filled(self, table: Table) -> dict[str, list[dict[Any, Any]]]:
        """The columns of a table, each with a dict by agent for each environment."""
        blocks = table.blocks
        columns = {}
        for name in table.names:
            is_whole = all([name in rows.columns for rows in blocks.values()])
            # A dict that has its keys need not grow.
            by_env = [agents.copy() if is_whole else {} for agents in self._agents]
            for module_id, rows in blocks.items():
                if name in rows.columns:
                    seats = zip(*self._seats[module_id], items_of(rows.columns[name]), strict=True)
                    for env, agent, item in seats:
                        by_env[env][agent] = item
            columns[name] = by_env
        return columns


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
