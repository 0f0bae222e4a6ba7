"""Arrays into lists of items by episode and agent."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from typing_extensions import override

from ....core import nest
from ....core.arrays.batching import unbatch
from ....core.columns import DEFAULT_MODULE_ID
from ....core.errors import EpisodeError, PieceError
from ...modules.multi_rl_module import UnknownModuleError
from ..batch_items import is_multi_agent
from ..common.agent_to_module_mapping import done_agents
from ..common.stateful_modules import is_multi
from ..connector import ConnectorV2


class UnBatchToIndividualItems(ConnectorV2):
    """Take columns apart again, as `shared_data["memorized_map_structure"]` says.

    Where it says nothing, columns become plain lists; where it lists episode ids, lists by
    `(episode id,)`; where it lists episode and agent by module, lists by all three ids.

    Example:
        >>> import numpy as np
        >>> shared = {"memorized_map_structure": ["e0", "e1"]}
        >>> batch = {"terminal": np.array([True, False])}
        >>> UnBatchToIndividualItems()(
        ...     rl_module=None, batch=batch, episodes=[], shared_data=shared
        ... )["terminal"].keys()
        dict_keys([('e0',), ('e1',)])
    """

    @override
    def __call__(
        self,
        *,
        rl_module: Any,
        batch: dict[str, Any],
        episodes: Sequence[Any],
        shared_data: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        shared_data = shared_data or {}
        order = shared_data.get("memorized_map_structure")
        if isinstance(order, Mapping):
            renamed = shared_data.get("vector_env_episodes_map") or {}
            keys = keys_of_rows(order, episodes, renamed, batch)
            return {
                module_id: _by_key(columns, keys[module_id]) for module_id, columns in batch.items()
            }
        if is_multi(rl_module) and batch.keys() == {DEFAULT_MODULE_ID}:
            batch = batch[DEFAULT_MODULE_ID]
        if order is None:
            listed: dict[str, Any] = nest.map_structure(list, batch)
            return listed
        return _by_key(batch, [(eps_id,) for eps_id in order])


def _by_key(columns: Mapping[str, Any], keys: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for column, rows in columns.items():
        items = unbatch(rows)
        if len(items) != len(keys):
            raise PieceError(
                f"column {column!r} has another number of rows than there are items to act for",
                expected=f"{len(keys)} rows, as in shared_data['memorized_map_structure']",
                found=f"{len(items)}",
            )
        by_key: dict[tuple[Any, ...], list[Any]] = {}
        for key, item in zip(keys, items, strict=True):
            by_key.setdefault(key, []).append(item)
        found[column] = by_key
    return found


def keys_of_rows(
    order: Mapping[Any, Sequence[tuple[Any, Any]]],
    episodes: Sequence[Any],
    renamed: Mapping[Any, Any],
    module_ids: Iterable[Any],
) -> dict[Any, list[tuple[Any, Any, Any]]]:
    """The keys of the rows of modules.

    Args:
        order: Ids of episode and agent by module id.
        episodes: Those that are running.
        renamed: Old to new episode ids; keys keep the old one.
        module_ids: The modules that gave something.

    Raises:
        UnknownModuleError: A module is not in `order`.
        EpisodeError: A row is of an episode that does not run, or of an agent that is done.
    """
    running = {episode.id_: episode for episode in episodes if is_multi_agent(episode)}
    done = done_agents(running.values())
    keys: dict[Any, list[tuple[Any, Any, Any]]] = {}
    for module_id in module_ids:
        if module_id not in order:
            raise UnknownModuleError(
                f"the batch has outputs of module {module_id!r}, which is not in "
                "shared_data['memorized_map_structure']",
                expected=f"one of {list(order)}",
                hint="call both pipelines with one shared_data.",
            )
        owners = order[module_id]
        now = owners
        if renamed:
            now = [(renamed.get(eps_id, eps_id), agent_id) for eps_id, agent_id in owners]
        if done or not {*map(itemgetter(0), now)} <= running.keys():
            _check(now, running, done)
        keys[module_id] = [(eps_id, agent_id, module_id) for eps_id, agent_id in owners]
    return keys


def _check(
    owners: Iterable[tuple[Any, Any]], running: Mapping[Any, Any], done: Collection[Any]
) -> None:
    """Find rows of nobody.

    Raises:
        EpisodeError: An episode does not run, or its agent is done.
    """
    for eps_id, agent_id in owners:
        if eps_id not in running:
            raise EpisodeError(
                f"episode {eps_id!r} of agent {agent_id!r} is not among the episodes",
                found=f"{list(running)[:4]}",
                hint="call both pipelines with the same episodes.",
            )
        if (eps_id, agent_id) in done:
            raise EpisodeError(
                f"agent {agent_id!r} of episode {eps_id!r} is done: it cannot act",
                hint="make the forward batch anew after the step that ended it.",
            )
