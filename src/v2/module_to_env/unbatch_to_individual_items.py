"""Arrays into lists of items by episode and agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import override

from ...core import nest
from ...core.batching import unbatch
from ...core.columns import DEFAULT_MODULE_ID
from ...core.errors import EpisodeError, PieceError
from ..batch_items import is_multi_agent
from ..common.stateful_modules import is_multi
from ..connector import ConnectorV2
from ..modules.multi_rl_module import UnknownModuleError


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
    ) -> Any:
        shared_data = shared_data or {}
        order = shared_data.get("memorized_map_structure")
        if isinstance(order, Mapping):
            keys = _Keys(order, episodes, shared_data.get("vector_env_episodes_map") or {})
            return {
                module_id: _by_key(columns, keys.of(module_id))
                for module_id, columns in batch.items()
            }
        if is_multi(rl_module) and batch.keys() == {DEFAULT_MODULE_ID}:
            batch = batch[DEFAULT_MODULE_ID]
        if order is None:
            return nest.map_structure(list, batch)
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


class _Keys:
    """The keys of each module's rows."""

    def __init__(
        self,
        order: Mapping[Any, Sequence[tuple[Any, Any]]],
        episodes: Sequence[Any],
        renamed: Mapping[Any, Any],
    ) -> None:
        self.order = order
        self.renamed = renamed
        self.episodes = {episode.id_: episode for episode in episodes if is_multi_agent(episode)}

    def of(self, module_id: Any) -> list[tuple[Any, Any, Any]]:
        if module_id not in self.order:
            raise UnknownModuleError(
                f"the batch has outputs of module {module_id!r}, which is not in "
                "shared_data['memorized_map_structure']",
                expected=f"one of {list(self.order)}",
                hint="call both pipelines with one shared_data.",
            )
        return [self._key(eps_id, agent, module_id) for eps_id, agent in self.order[module_id]]

    def _key(self, eps_id: Any, agent_id: Any, module_id: Any) -> tuple[Any, Any, Any]:
        eps_id = self.renamed.get(eps_id, eps_id)
        if eps_id not in self.episodes:
            raise EpisodeError(
                f"episode {eps_id!r} of agent {agent_id!r} is not among the episodes",
                found=f"{list(self.episodes)[:4]}",
                hint="call both pipelines with the same episodes.",
            )
        single = self.episodes[eps_id].agent_episodes.get(agent_id)
        if single is not None and single.is_done:
            raise EpisodeError(
                f"agent {agent_id!r} of episode {eps_id!r} is done: it cannot act",
                hint="make the forward batch anew after the step that ended it.",
            )
        return eps_id, agent_id, module_id
