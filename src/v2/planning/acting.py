"""From episodes to a forward batch as one step.

`FORMS` holds, for each built-in piece on that way, what it does to rows. The pieces' own `__call__`
is the definition; a form serves the usual cases and is `Unserved` in all others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from ...core.columns import Columns
from ...core.types import Nest
from ..common.add_observations import AddObservationsFromEpisodesToBatch
from ..common.add_states import AddStatesFromEpisodesToBatch
from ..common.add_time_dim import AddTimeDimToBatchAndZeroPad
from ..common.agent_to_module_mapping import AgentToModuleMapping, done_agents
from ..common.batch_individual_items import BatchIndividualItems
from ..common.numpy_to_tensor import NumpyToTensor, tensors_of
from ..common.stateful_modules import is_multi, is_stateful, stateful_module
from .latest import agents_of_rows, latest_observations, latest_of_singles, latest_states
from .plan import Room, Run
from .rows import Rows, Unserved, mapped, opened, with_time


class _Call:
    """One call of a run: what it was given, and what it has made so far."""

    __slots__ = (
        "blocks",
        "episodes",
        "is_batched",
        "is_mapped",
        "is_multi",
        "is_stateful",
        "notes",
        "rl_module",
    )

    def __init__(
        self,
        rl_module: Any,
        is_multi: bool,
        episodes: Sequence[Any],
        blocks: dict[Any, Rows] | None,
    ) -> None:
        self.rl_module = rl_module
        self.is_multi = is_multi
        self.is_stateful: bool | None = None
        self.episodes = episodes
        # By module id, None for a single agent; None altogether as long as nothing is added.
        self.blocks = blocks
        self.is_mapped = self.is_batched = False
        self.notes: dict[str, Any] = {}

    def has_state(self) -> bool:
        """Whether the module carries a state; asked once."""
        if self.is_stateful is None:
            self.is_stateful = is_stateful(self.rl_module)
        return self.is_stateful

    def items(self) -> dict[Any, Rows]:
        """The rows before they are batched.

        Raises:
            Unserved: There are none, or they are batched or regrouped already.
        """
        if self.blocks is None or self.is_batched or self.is_mapped:
            raise Unserved
        return self.blocks


Form = Callable[[Any, _Call], None]


def _add_observations(piece: AddObservationsFromEpisodesToBatch, call: _Call) -> None:
    blocks = call.blocks
    if piece.as_learner_connector or call.is_batched or call.is_mapped:
        raise Unserved
    if blocks is None:
        call.blocks = latest_observations(call.episodes)
    elif not all(Columns.OBS in rows.columns for rows in blocks.values()):
        found = latest_observations(call.episodes)
        if [(own, rows.keys) for own, rows in blocks.items()] != [
            (own, rows.keys) for own, rows in found.items()
        ]:
            raise Unserved
        for module_id, rows in blocks.items():
            rows.columns[Columns.OBS] = found[module_id].columns[Columns.OBS]


def _add_time(piece: AddTimeDimToBatchAndZeroPad, call: _Call) -> None:
    if not call.has_state():
        return
    blocks = call.items()
    if piece.as_learner_connector:
        raise Unserved
    if any(Columns.STATE_IN in rows.columns for rows in blocks.values()):
        return
    call.notes["_added_single_ts_time_rank"] = True
    for module_id, rows in blocks.items():
        if stateful_module(call.rl_module, module_id) is not None:
            rows.columns = {name: mapped(with_time, own) for name, own in rows.columns.items()}


def _add_states(piece: AddStatesFromEpisodesToBatch, call: _Call) -> None:
    if not call.has_state():
        return
    blocks = call.items()
    if piece.as_learner_connector:
        raise Unserved
    if any(Columns.STATE_IN in rows.columns for rows in blocks.values()):
        return
    for module_id, rows in blocks.items():
        module = stateful_module(call.rl_module, module_id)
        if module is not None:
            singles = agents_of_rows(call.episodes, module_id, rows.keys)
            rows.columns[Columns.STATE_IN] = latest_states(singles, module)


def _map_agents(piece: AgentToModuleMapping, call: _Call) -> None:
    blocks = call.items()
    modules = call.rl_module if call.is_multi else piece.rl_module_specs
    if piece.as_learner_connector or None in blocks:
        raise Unserved
    if any(name in modules for rows in blocks.values() for name in rows.columns):
        raise Unserved
    if any(module_id not in modules for module_id in blocks):
        raise Unserved
    done = done_agents(call.episodes)
    if done and any(key in done for rows in blocks.values() for key in rows.keys):
        acting = {}
        for module_id, rows in blocks.items():
            places = [place for place, key in enumerate(rows.keys) if key not in done]
            if places:
                is_all = len(places) == len(rows.keys)
                acting[module_id] = rows if is_all else rows.take(places)
        in_order = sorted(acting.items(), key=lambda pair: pair[1].places[0])
        call.blocks = blocks = dict(in_order)
    call.is_mapped = True
    call.notes["memorized_map_structure"] = {
        module_id: rows.keys for module_id, rows in blocks.items()
    }


def _batch_items(piece: BatchIndividualItems, call: _Call) -> None:
    blocks = call.blocks
    if blocks is None or call.is_batched:
        raise Unserved
    if call.is_mapped:
        if not call.is_multi or any(own not in call.rl_module for own in blocks):
            raise Unserved
    else:
        if piece.multi_agent or None not in blocks or call.is_multi:
            raise Unserved
        if Columns.OBS in blocks[None].columns:
            call.notes["memorized_map_structure"] = blocks[None].keys
    call.is_batched = True


def _turn_to_tensors(piece: NumpyToTensor, call: _Call) -> None:
    blocks = call.blocks
    if blocks is None or not call.is_batched:
        raise Unserved
    if call.rl_module is None:
        return
    if piece.check_finite:
        raise Unserved
    device, pin_memory = piece.device, piece.pin_memory
    for rows in blocks.values():
        for name, own in rows.columns.items():
            rows.columns[name] = tensors_of(name, own, device, pin_memory)


FORMS: Final[dict[type, Form]] = {
    AddObservationsFromEpisodesToBatch: _add_observations,
    AddTimeDimToBatchAndZeroPad: _add_time,
    AddStatesFromEpisodesToBatch: _add_states,
    AgentToModuleMapping: _map_agents,
    BatchIndividualItems: _batch_items,
    NumpyToTensor: _turn_to_tensors,
}


_USUAL: Final = (
    AddObservationsFromEpisodesToBatch,
    AddTimeDimToBatchAndZeroPad,
    AddStatesFromEpisodesToBatch,
    BatchIndividualItems,
    NumpyToTensor,
)


class ActingRun:
    """Pieces on the way to the module as one step.

    Args:
        pieces: With `BatchIndividualItems` among them.
    """

    def __init__(self, pieces: tuple[Any, ...]) -> None:
        self._pieces = pieces
        self._steps = tuple((FORMS[type(piece)], piece) for piece in pieces)
        self.is_usual: Final = tuple(map(type, pieces)) == _USUAL
        self._last_kind: type = type(None)
        self._is_multi = False
        self._distinct: list[str] = []  # The ids of the last episodes.

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
            if self.is_usual and not batch and not self._is_multi:
                ids, seen = latest_of_singles(episodes)
                if ids != self._distinct:  # They are the same ones for many steps.
                    if len({*ids}) < len(ids):
                        raise Unserved
                    self._distinct = ids.copy()
                has_state = rl_module is not None and rl_module.is_stateful()
                states = latest_states(episodes, rl_module) if has_state else None
                return self._all_at_once(rl_module, batch, ids, seen, states, shared_data)
            call = _Call(rl_module, self._is_multi, episodes, opened(batch) if batch else None)
            return self._made(call, batch, shared_data)
        except Unserved:
            return None

    def of_rows(
        self, rl_module: Any, rows: Rows, states: Nest | None, shared_data: dict[str, Any]
    ) -> dict[str, Any] | None:
        """The batch of a single agent's observations that somebody has at hand as rows.

        Args:
            rl_module: The module.
            rows: Its observations, with the ids of their episodes.
            states: What a module with a state goes on with.
            shared_data: As in a call.

        Returns:
            What a call with the episodes gives, or None where this is not the usual run.
        """
        if not self.is_usual:
            return None
        try:
            seen = rows.columns[Columns.OBS]
            return self._all_at_once(rl_module, {}, rows.keys, seen, states, shared_data)
        except Unserved:
            return None

    def _all_at_once(
        self,
        rl_module: Any,
        batch: dict[str, Any],
        ids: list[Any],
        seen: Nest,
        states: Nest | None,
        shared_data: dict[str, Any],
    ) -> dict[str, Any]:
        """All forms in one for the module of a single agent: the call that is made most often."""
        add_observations, add_time, add_states, batch_items, to_tensors = self._pieces
        has_state = states is not None
        if (
            add_observations.as_learner_connector
            or (has_state and (add_time.as_learner_connector or add_states.as_learner_connector))
            or batch_items.multi_agent
            or to_tensors.check_finite
        ):
            raise Unserved
        device, pin_memory = to_tensors.device, to_tensors.pin_memory
        if has_state:
            seen = mapped(with_time, seen)
            shared_data["_added_single_ts_time_rank"] = True
        if rl_module is not None:
            seen = tensors_of(Columns.OBS, seen, device, pin_memory)
        batch[Columns.OBS] = seen
        if has_state:
            batch[Columns.STATE_IN] = tensors_of(Columns.STATE_IN, states, device, pin_memory)
        shared_data["memorized_map_structure"] = ids
        return batch

    def _made(
        self, call: _Call, batch: dict[str, Any], shared_data: dict[str, Any]
    ) -> dict[str, Any] | None:
        for form, piece in self._steps:
            form(piece, call)
        blocks = call.blocks
        if blocks is None or not call.is_batched:
            return None
        shared_data.update(call.notes)
        if call.is_mapped:
            return {module_id: rows.columns for module_id, rows in blocks.items()}
        batch.update(blocks[None].columns)
        return batch


def _join(pieces: tuple[Any, ...]) -> Run | None:
    """A run of pieces that makes arrays of rows; lists of items are quickest made one by one."""
    return ActingRun(pieces) if BatchIndividualItems in map(type, pieces) else None


ACTING: Final = Room(frozenset(FORMS), _join)
"""The pieces of env-to-module pipelines."""
