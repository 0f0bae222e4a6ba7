"""From a module's outputs to actions as one step.

The pieces' own `__call__` is the definition; a run of them, in their usual order, does the same to
columns of arrays. What it does not know is `Unserved`: the pieces do it one by one. Actions are
drawn by `GetActions` itself, so that the pieces find them drawn and the random numbers are the
same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

import numpy as np

from ...core import nest
from ...core.actions import ActionPlan
from ...core.columns import Columns
from ...core.errors import RlconnectError
from ...core.types import Array, Nest
from ..common.module_to_agent_unmapping import ModuleToAgentUnmapping
from ..common.stateful_modules import is_multi, stateful_module
from ..common.tensor_to_numpy import TensorToNumpy, narrowed
from ..module_to_env.defaults import AFTER, BEFORE
from ..module_to_env.get_actions import GetActions, add_actions
from ..module_to_env.listify_data_for_vector_env import ListifyDataForVectorEnv
from ..module_to_env.normalize_and_clip_actions import NormalizeAndClipActions
from ..module_to_env.remove_time_rank import RemoveSingleTsTimeRankFromBatch
from ..module_to_env.unbatch_to_individual_items import UnBatchToIndividualItems, keys_of_rows
from .listing import has_rows, items_by_key, listed, listed_by_agent
from .plan import Room, Run
from .rows import Rows, Unserved, mapped

ORDER: Final[tuple[type[Any], ...]] = (*BEFORE, *AFTER)
"""The pieces that run together, in the order in which they do."""


class AnsweringRun:
    """Pieces on the way back from the module as one step.

    Args:
        pieces: Some of `ORDER`, `UnBatchToIndividualItems` among them.

    Attributes:
        is_listing: Whether lists for a vector environment come out.
    """

    def __init__(self, pieces: Sequence[Any]) -> None:
        by_type = {type(piece): piece for piece in pieces}
        self._is_drawing = GetActions in by_type
        self._is_turning = TensorToNumpy in by_type
        self._is_unmapping = ModuleToAgentUnmapping in by_type
        self._is_taking_time = RemoveSingleTsTimeRankFromBatch in by_type
        self._for_env: NormalizeAndClipActions | None = by_type.get(NormalizeAndClipActions)
        self.is_listing: Final = ListifyDataForVectorEnv in by_type
        # Items by module are of no use to the pieces that take items of columns.
        self._ends_by_module = type(pieces[-1]) is UnBatchToIndividualItems
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
        try:
            if self._is_multi:
                return self._of_agents(rl_module, batch, episodes, explore, shared_data)
            columns = self._of_one(rl_module, batch, explore, shared_data)
        except Unserved:
            return None
        if self.is_listing:
            return listed(columns)
        return items_by_key(columns, [(own,) for own in shared_data["memorized_map_structure"]])

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
        try:
            return self._of_one(rl_module, batch, explore, shared_data, kind)
        except Unserved:
            return None

    def rows_of_agents(
        self,
        rl_module: Any,
        batch: dict[str, Any],
        explore: Any,
        shared_data: dict[str, Any],
        keys: Mapping[Any, list[Any]],
        kinds: Mapping[Any, Any],
    ) -> dict[Any, dict[str, Nest]] | None:
        """The columns of several modules as arrays, before they are listed.

        Args:
            rl_module: The modules.
            batch: Their outputs.
            explore: Whether they explore.
            shared_data: As in a call.
            keys: Of each module's rows: the ids of episode, agent and module.
            kinds: The classes of their distributions, as far as modules were asked for them.

        Returns:
            What a call would list, by module id; None where it cannot serve, as in a call.
        """
        try:
            blocks = self._blocks(rl_module, batch, explore, shared_data, keys, kinds)
        except Unserved:
            return None
        return {module_id: rows.columns for module_id, rows in blocks.items()}

    def _of_one(
        self,
        rl_module: Any,
        batch: dict[str, Any],
        explore: Any,
        shared_data: dict[str, Any],
        kind: Any = None,
    ) -> dict[str, Nest]:
        """The columns of a single agent."""
        if self._is_drawing:
            add_actions(batch, rl_module, explore, kind, may_be_arrays=self._is_turning)
        ids = shared_data.get("memorized_map_structure")
        if type(ids) is not list or not ids or self._is_unmapping:
            raise Unserved
        has_time = self._is_taking_time and shared_data.get("_added_single_ts_time_rank")
        columns = self._columns(batch, ids, has_time)
        piece = self._for_env
        if piece is not None and (piece.normalize_actions or piece.clip_actions):
            if piece.input_action_space is None or Columns.ACTIONS not in columns:
                raise Unserved
            actions = columns[Columns.ACTIONS]
            columns[Columns.ACTIONS_FOR_ENV] = _bounded(piece, piece.plan_of(None), actions)
        return columns

    def _of_agents(
        self,
        modules: Any,
        batch: dict[str, Any],
        episodes: Sequence[Any],
        explore: Any,
        shared_data: dict[str, Any],
    ) -> dict[Any, Any]:
        """The batch of several agents."""
        order = shared_data.get("memorized_map_structure")
        if not order or not isinstance(order, Mapping):
            raise Unserved
        renamed = shared_data.get("vector_env_episodes_map") or {}
        try:
            keys = keys_of_rows(order, episodes, renamed, batch)
        except RlconnectError as error:
            raise Unserved from error
        blocks = self._blocks(modules, batch, explore, shared_data, keys)
        if not self._is_unmapping:
            return {own: items_by_key(rows.columns, rows.keys) for own, rows in blocks.items()}
        names = dict.fromkeys(name for rows in blocks.values() for name in rows.columns)
        if self._adds(batch):  # It comes last, not with the columns of the first module.
            names[Columns.ACTIONS_FOR_ENV] = names.pop(Columns.ACTIONS_FOR_ENV)
        if self.is_listing:
            return listed_by_agent(blocks, [*names], episodes, renamed)
        merged: dict[Any, Any] = {name: {} for name in names}
        for rows in blocks.values():
            for name, by_key in items_by_key(rows.columns, rows.keys).items():
                merged[name].update(by_key)
        return merged

    def _blocks(
        self,
        modules: Any,
        batch: dict[str, Any],
        explore: Any,
        shared_data: dict[str, Any],
        keys: Mapping[Any, list[Any]],
        kinds: Mapping[Any, Any] | None = None,
    ) -> dict[Any, Rows]:
        """The columns of each module."""
        if batch.keys() != keys.keys() or not (self._is_unmapping or self._ends_by_module):
            raise Unserved
        has_time = self._is_taking_time and shared_data.get("_added_single_ts_time_rank")
        blocks = {}
        for module_id, outputs in batch.items():
            if self._is_drawing and module_id in modules:
                module, kind = modules[module_id], kinds and kinds.get(module_id)
                add_actions(outputs, module, explore, kind, may_be_arrays=self._is_turning)
            is_longer = has_time and stateful_module(modules, module_id) is not None
            own = keys[module_id]
            blocks[module_id] = Rows(own, self._columns(outputs, own, is_longer))
        piece = self._for_env
        if piece is not None and (piece.normalize_actions or piece.clip_actions):
            acting = [rows for rows in blocks.values() if Columns.ACTIONS in rows.columns]
            if piece.input_action_space is None or not acting:
                raise Unserved
            for rows in acting:
                rows.columns[Columns.ACTIONS_FOR_ENV] = _bounded_by_agent(piece, rows)
        return blocks

    def _columns(self, outputs: Any, keys: list[Any], has_time: Any) -> dict[str, Nest]:
        """The outputs of a module as arrays with a row for each key."""
        count, is_turning = len(keys), self._is_turning
        if type(outputs) is not dict or len({*keys}) != count:
            raise Unserved
        columns = {}
        for name, own in outputs.items():
            rows = narrowed(own) if is_turning else own
            if not has_rows(rows, count):
                raise Unserved
            if has_time and name != Columns.STATE_OUT:
                rows = mapped(_without_time, rows)
            columns[name] = rows
        return columns

    def _adds(self, batch: Mapping[Any, Any]) -> bool:
        """Whether actions for the environment are a column that no module gave."""
        piece = self._for_env
        if piece is None or not (piece.normalize_actions or piece.clip_actions):
            return False
        return not any(Columns.ACTIONS_FOR_ENV in outputs for outputs in batch.values())


def _without_time(leaf: Array) -> Array:
    if leaf.ndim < 2 or leaf.shape[1] != 1:  # rows and time
        raise Unserved
    return leaf[:, 0]


def _bounded(piece: NormalizeAndClipActions, plan: ActionPlan, actions: Nest) -> Nest:
    """Actions in their bounds; the environment gets arrays of its own."""
    own = mapped(np.ndarray.copy, actions)
    if not _changes(piece, plan):
        return own
    if any(leaf.ndim < 2 for leaf in nest.flatten(own)):  # rows and parts
        raise Unserved  # Numbers one by one are of other types than in an array.
    return plan.unsquash(own) if piece.normalize_actions else plan.clip(own)


def _changes(piece: NormalizeAndClipActions, plan: ActionPlan) -> bool:
    return plan.unsquashes if piece.normalize_actions else plan.clips


def _bounded_by_agent(piece: NormalizeAndClipActions, rows: Rows) -> Nest:
    """Actions of several agents in the bounds of each."""
    actions = rows.columns[Columns.ACTIONS]
    agents = {*map(itemgetter(1), rows.keys)}
    plans = {agent_id: piece.plan_of(agent_id) for agent_id in agents}
    changing = [plan for plan in plans.values() if _changes(piece, plan)]
    if len(plans) == 1 or not changing:
        return _bounded(piece, next(iter(plans.values())), actions)
    if type(actions) is not np.ndarray:
        raise Unserved
    places: dict[Any, list[int]] = {}
    for place, key in enumerate(rows.keys):
        places.setdefault(key[1], []).append(place)
    made = [(own, _bounded(piece, plans[agent], actions[own])) for agent, own in places.items()]
    bounded = np.empty_like(actions, dtype=made[0][1].dtype)
    for own, part in made:
        if part.dtype != bounded.dtype:
            raise Unserved
        bounded[own] = part
    return bounded


def _join(pieces: tuple[Any, ...]) -> Run | None:
    """A run of pieces in order that begins with arrays; lists are quickest taken one by one."""
    kinds = [*map(type, pieces)]
    is_usual = kinds == [kind for kind in ORDER if kind in kinds]
    return AnsweringRun(pieces) if is_usual and UnBatchToIndividualItems in kinds else None


ANSWERING: Final = Room(frozenset(ORDER), _join)
"""The pieces of module-to-env pipelines."""
