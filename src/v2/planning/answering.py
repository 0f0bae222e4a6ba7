"""From a module's outputs to actions as one step.

`FORMS` holds, for each built-in piece on that way, what it does to columns of arrays. The pieces'
own `__call__` is the definition; a form serves the usual cases and is `Unserved` in all others.
Actions are drawn by `GetActions` itself, before anything else: where the rest is unserved, the
piece finds them drawn and the random numbers are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ...core import nest
from ...core.actions import ActionPlan
from ...core.batching import unbatch
from ...core.columns import Columns
from ...core.errors import RlconnectError
from ...core.types import Array, Nest
from ..common.module_to_agent_unmapping import ModuleToAgentUnmapping
from ..common.stateful_modules import is_multi, stateful_module
from ..common.tensor_to_numpy import TensorToNumpy, narrowed
from ..module_to_env.get_actions import GetActions, add_actions
from ..module_to_env.listify_data_for_vector_env import BATCHED, ListifyDataForVectorEnv
from ..module_to_env.normalize_and_clip_actions import NormalizeAndClipActions
from ..module_to_env.remove_time_rank import RemoveSingleTsTimeRankFromBatch
from ..module_to_env.unbatch_to_individual_items import UnBatchToIndividualItems, keys_of_rows
from .plan import Room, Run
from .rows import Rows, Unserved, mapped


class _Call:
    """One call of a run: what it was given, and what it has made so far."""

    __slots__ = (
        "batch",
        "blocks",
        "episodes",
        "explore",
        "is_by_agent",
        "is_multi",
        "kind",
        "new",
        "result",
        "shared",
    )

    def __init__(
        self,
        is_multi: bool,
        batch: dict[str, Any],
        episodes: Sequence[Any],
        explore: Any,
        shared: dict[str, Any],
        kind: Any = None,
    ) -> None:
        self.is_multi = is_multi
        self.batch = batch
        self.episodes = episodes
        self.explore = explore
        self.shared = shared
        # The class of the module's distribution, where somebody knows it.
        self.kind = kind
        # After they are unbatched: rows by module id, None for a single agent.
        self.blocks: dict[Any, Rows] | None = None
        # Whether the batch holds columns, not modules, at its top.
        self.is_by_agent = True
        # The column that was added to the batch as it is now, for it is the last one.
        self.new = ""
        self.result: dict[str, Any] | None = None

    def rows(self) -> dict[Any, Rows]:
        """The rows by module, while they are items of columns.

        Raises:
            Unserved: They are not.
        """
        if self.blocks is None or self.result is not None or not self.is_by_agent:
            raise Unserved
        return self.blocks


Form = Callable[[Any, _Call, Any], None]


def _get_actions(piece: GetActions, call: _Call, rl_module: Any) -> None:
    if call.blocks is not None:
        raise Unserved
    if not call.is_multi:
        add_actions(call.batch, rl_module, call.explore, call.kind)
        return
    for module_id, outputs in call.batch.items():
        if module_id in rl_module:
            add_actions(outputs, rl_module[module_id], call.explore)


def _to_numpy(piece: TensorToNumpy, call: _Call, rl_module: Any) -> None:
    if call.blocks is not None:
        raise Unserved
    call.batch = narrowed(call.batch)


def _unbatch(piece: UnBatchToIndividualItems, call: _Call, rl_module: Any) -> None:
    order = call.shared.get("memorized_map_structure")
    if call.blocks is not None or not order:
        raise Unserved
    if type(order) is list:
        call.blocks = {None: _rows(call.batch, order)}
        return
    if not isinstance(order, Mapping):
        raise Unserved
    renamed = call.shared.get("vector_env_episodes_map") or {}
    try:
        keys = keys_of_rows(order, call.episodes, renamed, [*call.batch])
    except RlconnectError as error:
        raise Unserved from error
    call.blocks = {
        module_id: _rows(columns, keys[module_id]) for module_id, columns in call.batch.items()
    }
    call.is_by_agent = False


def _rows(columns: Any, keys: list[Any]) -> Rows:
    if type(columns) is not dict or len({*keys}) != len(keys):
        raise Unserved
    count = len(keys)
    for own in columns.values():
        if type(own) is np.ndarray:
            if own.ndim == 0 or len(own) != count:
                raise Unserved
            continue
        leaves = nest.flatten(own) if type(own) in (dict, tuple) else []
        if not leaves:
            raise Unserved
        for leaf in leaves:
            if type(leaf) is not np.ndarray or leaf.ndim == 0 or len(leaf) != count:
                raise Unserved
    return Rows(keys, dict(columns))


def _unmap(piece: ModuleToAgentUnmapping, call: _Call, rl_module: Any) -> None:
    if call.blocks is None or call.is_by_agent:
        raise Unserved
    call.is_by_agent = True


def _remove_time(piece: RemoveSingleTsTimeRankFromBatch, call: _Call, rl_module: Any) -> None:
    if not call.shared.get("_added_single_ts_time_rank"):
        return
    for module_id, rows in call.rows().items():
        if module_id is not None and stateful_module(rl_module, module_id) is None:
            continue
        rows.columns = {
            name: own if name == Columns.STATE_OUT else mapped(_without_time, own)
            for name, own in rows.columns.items()
        }


def _without_time(leaf: Array) -> Array:
    if leaf.ndim < 2 or leaf.shape[1] != 1:  # rows and time
        raise Unserved
    return leaf[:, 0]


def _for_env(piece: NormalizeAndClipActions, call: _Call, rl_module: Any) -> None:
    if not (piece.normalize_actions or piece.clip_actions):
        return
    blocks = call.rows()
    acting = [rows for rows in blocks.values() if Columns.ACTIONS in rows.columns]
    if piece.input_action_space is None or not acting:
        raise Unserved
    if not any(Columns.ACTIONS_FOR_ENV in rows.columns for rows in blocks.values()):
        call.new = Columns.ACTIONS_FOR_ENV
    for rows in acting:
        rows.columns[Columns.ACTIONS_FOR_ENV] = _bounded(piece, rows, None not in blocks)


def _bounded(piece: NormalizeAndClipActions, rows: Rows, is_multi_agent: bool) -> Nest:
    actions = mapped(np.ndarray.copy, rows.columns[Columns.ACTIONS])
    agents = {key[1] for key in rows.keys} if is_multi_agent else {None}
    plans = {agent_id: piece.plan_of(agent_id) for agent_id in agents}
    is_stretched = piece.normalize_actions
    changing = [
        plan for plan in plans.values() if (plan.unsquashes if is_stretched else plan.clips)
    ]
    if not changing:
        return actions
    if any(leaf.ndim < 2 for leaf in nest.flatten(actions)):  # rows and parts
        raise Unserved  # Numbers one by one are of other types than in an array.
    if len(plans) == 1:
        return _changed(changing[0], actions, is_stretched)
    if type(actions) is not np.ndarray:
        raise Unserved
    places: dict[Any, list[int]] = {}
    for place, key in enumerate(rows.keys):
        places.setdefault(key[1], []).append(place)
    made = [(own, _changed(plans[one], actions[own], is_stretched)) for one, own in places.items()]
    bounded = np.empty_like(actions, dtype=made[0][1].dtype)
    for own, part in made:
        if part.dtype != bounded.dtype:
            raise Unserved
        bounded[own] = part
    return bounded


def _changed(plan: ActionPlan, actions: Nest, is_stretched: bool) -> Nest:
    return plan.unsquash(actions) if is_stretched else plan.clip(actions)


def _listify(piece: ListifyDataForVectorEnv, call: _Call, rl_module: Any) -> None:
    blocks = call.rows()
    if None in blocks:
        call.result = listed(blocks[None].columns)
        return
    places = {episode.id_: place for place, episode in enumerate(call.episodes)}
    result: dict[str, list[dict[Any, Any]]] = {
        name: [{} for _ in places] for name in _names(call, blocks)
    }
    for rows in blocks.values():
        targets = [(places[eps_id], agent_id) for eps_id, agent_id, _ in rows.keys]
        for name, own in rows.columns.items():
            by_env = result[name]
            for (place, agent_id), item in zip(targets, _items(own), strict=True):
                by_env[place][agent_id] = item
    call.result = result


def listed(columns: Mapping[str, Nest]) -> dict[str, Any]:
    """The columns of a single agent as a vector environment takes them: actions as arrays."""
    return {
        name: mapped(np.ndarray.copy, own) if name in BATCHED else _items(own)
        for name, own in columns.items()
    }


def _names(call: _Call, blocks: Mapping[Any, Rows]) -> list[str]:
    """The columns of all modules in the order of the batch."""
    names = dict.fromkeys(name for rows in blocks.values() for name in rows.columns)
    if call.new in names:
        del names[call.new]
        names[call.new] = None
    return [*names]


def _items(column: Nest) -> list[Any]:
    if type(column) is np.ndarray:
        return list(column)
    if type(column) is dict and len(column) == 2:  # h and c of a recurrent network: spelt out
        (one, first), (two, second) = column.items()
        if type(first) is np.ndarray and type(second) is np.ndarray:
            return [{one: own, two: other} for own, other in zip(first, second, strict=True)]
    return unbatch(column)


def _keys(module_id: Any, rows: Rows) -> list[Any]:
    return rows.keys if module_id is not None else [(eps_id,) for eps_id in rows.keys]


def _closed(call: _Call) -> dict[Any, Any]:
    """The documented batch: where the run ends before items are listed."""
    if call.result is not None:
        return call.result
    blocks = call.blocks
    if blocks is None:
        return call.batch
    by_module = {
        module_id: {
            name: {
                key: [item] for key, item in zip(_keys(module_id, rows), _items(own), strict=True)
            }
            for name, own in rows.columns.items()
        }
        for module_id, rows in blocks.items()
    }
    if not call.is_by_agent:
        return by_module
    merged: dict[Any, Any] = {name: {} for name in _names(call, blocks)}
    for columns in by_module.values():
        for name, by_key in columns.items():
            merged[name].update(by_key)
    return merged


FORMS: Final[dict[type, Form]] = {
    GetActions: _get_actions,
    TensorToNumpy: _to_numpy,
    UnBatchToIndividualItems: _unbatch,
    ModuleToAgentUnmapping: _unmap,
    RemoveSingleTsTimeRankFromBatch: _remove_time,
    NormalizeAndClipActions: _for_env,
    ListifyDataForVectorEnv: _listify,
}


class AnsweringRun:
    """Pieces on the way back from the module as one step.

    Args:
        pieces: With `UnBatchToIndividualItems` among them.
    """

    def __init__(self, pieces: tuple[Any, ...]) -> None:
        self._steps = tuple((FORMS[type(piece)], piece) for piece in pieces)
        self.is_listing: Final = type(pieces[-1]) is ListifyDataForVectorEnv
        self._last_kind: type = type(None)
        self._is_multi = False

    def __call__(
        self,
        rl_module: Any,
        batch: dict[str, Any],
        episodes: Sequence[Any],
        explore: Any,
        shared_data: dict[str, Any],
    ) -> dict[str, Any] | None:
        """See `Run`."""
        if type(rl_module) is not self._last_kind:  # A module of torch is slow to tell what it
            self._is_multi, self._last_kind = is_multi(rl_module), type(rl_module)  # lacks.
        call = _Call(self._is_multi, batch, episodes, explore, shared_data)
        try:
            for form, piece in self._steps:
                form(piece, call, rl_module)
        except Unserved:
            return None
        return _closed(call)

    def rows(
        self,
        rl_module: Any,
        batch: dict[str, Any],
        explore: Any,
        shared_data: dict[str, Any],
        kind: Any,
    ) -> dict[str, Nest] | None:
        """The columns of a single agent as arrays, before they are listed.

        Args:
            rl_module: The module.
            batch: Its outputs.
            explore: Whether it explores.
            shared_data: As in a call.
            kind: The class of its distribution, if it was asked for.

        Returns:
            What a call would list; None where it cannot serve, as in a call.
        """
        call = _Call(False, batch, (), explore, shared_data, kind)
        try:
            for form, piece in self._steps[:-1]:
                form(piece, call, rl_module)
            return call.rows()[None].columns
        except Unserved:
            return None


def _join(pieces: tuple[Any, ...]) -> Run | None:
    """A run of pieces that begins with arrays; lists of items are quickest taken one by one."""
    return AnsweringRun(pieces) if UnBatchToIndividualItems in map(type, pieces) else None


ANSWERING: Final = Room(frozenset(FORMS), _join)
"""The pieces of module-to-env pipelines."""
