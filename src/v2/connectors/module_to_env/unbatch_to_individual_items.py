"""Arrays into lists of items by episode and agent."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, Final

from typing_extensions import override

from ....core import nest
from ....core.arrays.batching import unbatch
from ....core.columns import DEFAULT_MODULE_ID
from ....core.errors import EpisodeError, PieceError
from ....core.step.part import moves_numbers
from ...episodes.multi_agent import MultiAgentEpisode
from ...modules.multi_rl_module import UnknownModuleError
from ..batch_items import is_multi_agent
from ..columnar import ColumnarPiece, Work
from ..common.agent_to_module_mapping import done_agents
from ..item_rows import DistinctIds
from ..piece_plan import Call
from ..table import NotColumnar, Rows, Table, full_keys, have_rows

_NO_ROWS: Final = "an output has other rows than there are items, or one is there twice"

_OF_SEVERAL: Final = {MultiAgentEpisode}


class UnBatchToIndividualItems(ColumnarPiece):
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

    MAKES_ROWS = TURNS_FORM = True
    part = moves_numbers

    @override
    def columns(self, batch: dict[str, Any], call: Call) -> dict[str, Any]:
        order = call.shared_data.get("memorized_map_structure")
        if isinstance(order, Mapping):
            check_owners(order, call, batch)
            return {
                module_id: _by_key(columns, full_keys(module_id, order[module_id]))
                for module_id, columns in batch.items()
            }
        if call.is_multi:
            batch = _outputs_of_one(batch)
        if order is None:
            listed: dict[str, Any] = nest.map_structure(list, batch)
            return listed
        return _by_key(batch, full_keys(None, order))

    @override
    def planned(self, following: Sequence[type]) -> Work:
        return partial(self._in_rows, DistinctIds(), CheckedOwners())

    def _in_rows(
        self, distinct: DistinctIds, checked: CheckedOwners, batch: dict[str, Any], call: Call
    ) -> Table:
        """The rows of all modules, each once, without an item for each."""
        owners = call.owners
        order = owners or call.shared_data.get("memorized_map_structure")
        if type(order) is list and order and (owners or distinct.hold(order)):
            outputs = _outputs_of_one(batch) if call.is_multi else batch
            return Table({None: _rows(order, outputs)})
        if not order or not isinstance(order, Mapping):
            raise NotColumnar(_NO_ROWS)
        if owners is None:
            order = checked.of(order, call, batch)
        return Table(
            {module_of: _rows(order[module_of], outputs) for module_of, outputs in batch.items()},
            True,
        )


class CheckedOwners:
    """Checks whose rows it are, sooner where the same agents act in the same episodes again."""

    __slots__ = ("_ids", "_module_ids", "_order")

    def __init__(self) -> None:
        self._ids: list[Any] = []
        self._module_ids: set[Any] = set()
        self._order: dict[Any, list[Any]] = {}

    def of(
        self, order: Mapping[Any, Sequence[tuple[Any, Any]]], call: Call, batch: Mapping[Any, Any]
    ) -> Mapping[Any, Any]:
        """The same ids, in lists that are the same ones from call to call.

        Raises:
            UnknownModuleError: As `check_owners` does.
            EpisodeError: As `check_owners` does.
            NotColumnar: An agent is there twice.
        """
        episodes = call.episodes
        ids = [episode.id_ for episode in episodes]
        is_usual = {*map(type, episodes)} == _OF_SEVERAL
        if is_usual and not call.shared_data.get("vector_env_episodes_map"):
            is_known = order == self._order and ids == self._ids
            if is_known and batch.keys() == self._module_ids and not done_agents(episodes):
                return self._order
        check_owners(order, call, batch)
        if any(len({*order[module_id]}) != len(order[module_id]) for module_id in batch):
            raise NotColumnar(_NO_ROWS)
        if is_usual:
            self._order = {module_id: [*owners] for module_id, owners in order.items()}
            self._ids, self._module_ids = ids, {*batch}
        return self._order if is_usual else order


def _outputs_of_one(batch: dict[str, Any]) -> dict[str, Any]:
    """The outputs of a single agent's module among several by id, which lie under its own."""
    outputs: dict[str, Any] = batch.get(DEFAULT_MODULE_ID, batch) if len(batch) == 1 else batch
    return outputs


def _rows(keys: list[Any], outputs: dict[str, Any]) -> Rows:
    """Outputs of a module as rows, one for each key."""
    if type(outputs) is not dict or not have_rows(outputs, len(keys)):
        raise NotColumnar(_NO_ROWS)
    return Rows(keys, {**outputs})


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


def check_owners(
    order: Mapping[Any, Sequence[tuple[Any, Any]]], call: Call, module_ids: Iterable[Any]
) -> None:
    """Check that the rows of modules are of agents that act in running episodes.

    Args:
        order: Ids of episode and agent by module id.
        call: The episodes; keys may hold the old ids of those that were renamed.
        module_ids: The modules that gave something.

    Raises:
        UnknownModuleError: A module is not in `order`.
        EpisodeError: A row is of an episode that does not run, or of an agent that is done.
    """
    renamed = call.shared_data.get("vector_env_episodes_map") or {}
    running = {episode.id_: episode for episode in call.episodes if is_multi_agent(episode)}
    done = done_agents(running.values())
    for module_id in module_ids:
        if module_id not in order:
            raise UnknownModuleError(
                f"the batch has outputs of module {module_id!r}, which is not in "
                "shared_data['memorized_map_structure']",
                expected=f"one of {list(order)}",
                hint="call both pipelines with one shared_data.",
            )
        now = order[module_id]
        if renamed:
            now = [(renamed.get(eps_id, eps_id), agent_id) for eps_id, agent_id in now]
        if done or not {*map(itemgetter(0), now)} <= running.keys():
            _check(now, running, done)


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
