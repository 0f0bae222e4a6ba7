"""From a module's outputs to actions as one step.

The pieces' own `__call__` is the definition; a run of them, in their usual order, does the same to
columns of arrays. What it does not know is `Unserved`: the pieces do it one by one. Actions are
drawn by `GetActions` itself, so that the pieces find them drawn and the random numbers are the
same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

from ....core import nest
from ....core.columns import Columns
from ....core.errors import RlconnectError
from ....core.types import Array, Nest
from ..common.module_to_agent_unmapping import ModuleToAgentUnmapping
from ..common.stateful_modules import is_multi, is_stateful
from ..common.tensor_to_numpy import TensorToNumpy, narrowed
from ..item_rows import DistinctIds, Rows, Unserved
from ..module_to_env.defaults import AFTER, BEFORE
from ..module_to_env.get_actions import GetActions, add_actions
from ..module_to_env.listify_data_for_vector_env import ListifyDataForVectorEnv
from ..module_to_env.normalize_and_clip_actions import NormalizeAndClipActions
from ..module_to_env.remove_time_rank import RemoveSingleTsTimeRankFromBatch
from ..module_to_env.unbatch_to_individual_items import UnBatchToIndividualItems, keys_of_rows
from ..piece_plan import Given, Room, Run
from .bounding import Bounds, bounded, bounded_by, bounds_of
from .listing import has_rows, items_by_key, listed, listed_by_agent

_AGENT: Final = itemgetter(1)

ORDER: Final[tuple[type[Any], ...]] = (*BEFORE, *AFTER)
"""The pieces that run together, in the order in which they do."""


@dataclass(slots=True)
class Part:
    """What becomes of the rows of one module: the same as long as the same agents act.

    Attributes:
        count: How many rows.
        module: None where there is none of that id.
        bounds: None where actions are not bounded.
        kind: The class of the module's distribution, once it was asked for.
    """

    count: int
    module: Any
    bounds: Bounds | None
    kind: Any = None


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
        self._distinct = DistinctIds()

    def __call__(self, given: Given) -> dict[str, Any] | None:
        """See `Run`."""
        rl_module, batch, episodes, explore, shared_data = given
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

    def parts(self, modules: Any, agents: Mapping[Any, Sequence[Any]]) -> dict[Any, Part]:
        """What becomes of the rows of each module.

        Args:
            modules: By id.
            agents: Whose row it is, by module id.

        Raises:
            Unserved: It is not known how their actions are bounded.
        """
        piece = self._bounding()
        return {
            module_id: Part(
                len(own),
                modules.get(module_id, None),
                None if piece is None else bounds_of(piece, own),
            )
            for module_id, own in agents.items()
        }

    def columns_of_agents(
        self,
        parts: Mapping[Any, Part],
        batch: dict[str, Any],
        explore: Any,
        shared_data: dict[str, Any],
    ) -> dict[Any, dict[str, Nest]]:
        """The columns of each module as arrays, before they are listed.

        Args:
            parts: See `parts`.
            batch: The outputs of modules.
            explore: Whether they explore.
            shared_data: As in a call.

        Raises:
            Unserved: As where a call gives None.
        """
        if batch.keys() != parts.keys() or not (self._is_unmapping or self._ends_by_module):
            raise Unserved
        has_time = self._is_taking_time and shared_data.get("_added_single_ts_time_rank")
        piece = self._bounding()
        found = {}
        for module_id, outputs in batch.items():
            part = parts[module_id]
            if self._is_drawing and part.module is not None:
                part.kind = add_actions(
                    outputs, part.module, explore, part.kind, may_be_arrays=self._is_turning
                )
            is_longer = has_time and is_stateful(part.module)
            found[module_id] = columns = self._columns(outputs, part.count, is_longer)
            if piece is not None and part.bounds and Columns.ACTIONS in columns:
                actions = columns[Columns.ACTIONS]
                columns[Columns.ACTIONS_FOR_ENV] = bounded_by(piece, part.bounds, actions)
        if piece is not None and not any(Columns.ACTIONS in own for own in found.values()):
            raise Unserved
        return found

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
        if type(ids) is not list or not ids or self._is_unmapping or not self._distinct.hold(ids):
            raise Unserved
        has_time = self._is_taking_time and shared_data.get("_added_single_ts_time_rank")
        columns = self._columns(batch, len(ids), has_time)
        piece = self._bounding()
        if piece is not None:
            if Columns.ACTIONS not in columns:
                raise Unserved
            actions = columns[Columns.ACTIONS]
            columns[Columns.ACTIONS_FOR_ENV] = bounded(piece, piece.plan_of(None), actions)
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
        if any(len({*own}) != len(own) for own in keys.values()):
            raise Unserved
        parts = self.parts(modules, {own: [*map(_AGENT, keys[own])] for own in keys})
        found = self.columns_of_agents(parts, batch, explore, shared_data)
        if not self._is_unmapping:
            return {own: items_by_key(columns, keys[own]) for own, columns in found.items()}
        blocks = {own: Rows(keys[own], columns) for own, columns in found.items()}
        names = dict.fromkeys(name for columns in found.values() for name in columns)
        if self._adds(batch):  # It comes last, not with the columns of the first module.
            names[Columns.ACTIONS_FOR_ENV] = names.pop(Columns.ACTIONS_FOR_ENV)
        if self.is_listing:
            return listed_by_agent(blocks, [*names], episodes, renamed)
        merged: dict[Any, Any] = {name: {} for name in names}
        for rows in blocks.values():
            for name, by_key in items_by_key(rows.columns, rows.keys).items():
                merged[name].update(by_key)
        return merged

    def _bounding(self) -> NormalizeAndClipActions | None:
        """The piece that bounds actions, if they are to be bounded.

        Raises:
            Unserved: It does not know the action space.
        """
        piece = self._for_env
        if piece is None or not (piece.normalize_actions or piece.clip_actions):
            return None
        if piece.input_action_space is None:
            raise Unserved
        return piece

    def _columns(self, outputs: Any, count: int, has_time: Any) -> dict[str, Nest]:
        """The outputs of a module as arrays with so many rows."""
        if type(outputs) is not dict:
            raise Unserved
        is_turning = self._is_turning
        columns = {}
        for name, own in outputs.items():
            rows = narrowed(own) if is_turning else own
            if not has_rows(rows, count):
                raise Unserved
            if has_time and name != Columns.STATE_OUT:
                rows = nest.mapped(_without_time, rows)
            columns[name] = rows
        return columns

    def _adds(self, batch: Mapping[Any, Any]) -> bool:
        """Whether actions for the environment are a column that no module gave."""
        if self._bounding() is None:
            return False
        return not any(Columns.ACTIONS_FOR_ENV in outputs for outputs in batch.values())


def _without_time(leaf: Array) -> Array:
    if leaf.ndim < 2 or leaf.shape[1] != 1:  # rows and time
        raise Unserved
    return leaf[:, 0]


def _join(pieces: tuple[Any, ...]) -> Run | None:
    """A run of pieces in order that begins with arrays; lists are quickest taken one by one."""
    kinds = [*map(type, pieces)]
    is_usual = kinds == [kind for kind in ORDER if kind in kinds]
    return AnsweringRun(pieces) if is_usual and UnBatchToIndividualItems in kinds else None


ANSWERING: Final = Room(frozenset(ORDER), _join)
"""The pieces of module-to-env pipelines."""
