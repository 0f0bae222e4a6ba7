"""Items by episode into lists, one entry per environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from typing_extensions import override

from ....core.arrays.batching import batch as batched
from ....core.columns import Columns
from ....core.errors import EpisodeError
from ..connector import ConnectorV2

BATCHED: Final = (Columns.ACTIONS, Columns.ACTIONS_FOR_ENV)
"""The columns of a single agent that are batched again."""


class ListifyDataForVectorEnv(ConnectorV2):
    """Give each column as a list; of several agents as a list of dicts, one for each episode.

    Actions of a single agent are batched, as a vector environment takes them.
    """

    @override
    def __call__(
        self,
        *,
        batch: dict[str, Any],
        episodes: Sequence[Any],
        shared_data: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        places = places_of(episodes, (shared_data or {}).get("vector_env_episodes_map") or {})
        listed: dict[str, Any] = {}
        for column, items in batch.items():
            if not isinstance(items, Mapping):
                flat = items
            elif any(len(key) == 3 for key in items):
                listed[column] = _by_episode(column, items, places, len(episodes))
                continue
            else:
                flat = [item for own in items.values() for item in own]
            listed[column] = batched(flat) if column in BATCHED and len(flat) else flat
        return listed


def places_of(episodes: Sequence[Any], renamed: Mapping[Any, Any]) -> dict[Any, int]:
    """Which environment runs which episode.

    Args:
        episodes: One of each environment.
        renamed: Old to new episode ids; an old one is found as well.
    """
    places = {episode.id_: place for place, episode in enumerate(episodes)}
    found = {old: places[new] for old, new in renamed.items() if new in places}
    return {**found, **places}


def _by_episode(
    column: str, items: Mapping[Any, Sequence[Any]], places: Mapping[Any, int], num_envs: int
) -> list[dict[Any, Any]]:
    rows: list[dict[Any, Any]] = [{} for _ in range(num_envs)]
    for (eps_id, agent_id, _), own in items.items():
        if eps_id not in places:
            raise EpisodeError(
                f"column {column!r} has an item of episode {eps_id!r}, which no environment runs",
                found=f"episodes {list(places)[:4]}",
            )
        for item in own:
            rows[places[eps_id]][agent_id] = item
    return rows
