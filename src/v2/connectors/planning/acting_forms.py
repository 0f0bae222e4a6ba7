"""What each built-in piece on the way to a module does to rows.

The pieces' own `__call__` is the definition; a form serves the usual cases and is `NotColumnar` in
all others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from ....core import nest
from ....core.columns import Columns
from ..common.add_observations import AddObservationsFromEpisodesToBatch
from ..common.add_states import AddStatesFromEpisodesToBatch
from ..common.add_time_dim import AddTimeDimToBatchAndZeroPad
from ..common.agent_to_module_mapping import AgentToModuleMapping, done_agents
from ..common.batch_individual_items import BatchIndividualItems
from ..common.numpy_to_tensor import NumpyToTensor, tensors_of
from ..item_rows import with_time
from ..stateful_modules import is_stateful, stateful_module
from ..table import NotColumnar, Rows
from .latest import latest_observations, states_of_rows


class Call:
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
            NotColumnar: There are none, or they are batched or regrouped already.
        """
        if self.blocks is None or self.is_batched or self.is_mapped:
            raise NotColumnar
        return self.blocks


Form = Callable[[Any, Call], None]


def _add_observations(piece: AddObservationsFromEpisodesToBatch, call: Call) -> None:
    blocks = call.blocks
    if piece.as_learner_connector or call.is_batched or call.is_mapped:
        raise NotColumnar
    if blocks is None:
        call.blocks = latest_observations(call.episodes)
    elif not all(Columns.OBS in rows.columns for rows in blocks.values()):
        found = latest_observations(call.episodes)
        if [(own, rows.keys) for own, rows in blocks.items()] != [
            (own, rows.keys) for own, rows in found.items()
        ]:
            raise NotColumnar
        for module_id, rows in blocks.items():
            rows.columns[Columns.OBS] = found[module_id].columns[Columns.OBS]


def _without_states(piece: Any, call: Call) -> dict[Any, Rows] | None:
    """The rows that wait for a state; None where modules have none, or states are there."""
    if not call.has_state():
        return None
    blocks = call.items()
    if piece.as_learner_connector:
        raise NotColumnar
    if any(Columns.STATE_IN in rows.columns for rows in blocks.values()):
        return None
    return blocks


def _add_time(piece: AddTimeDimToBatchAndZeroPad, call: Call) -> None:
    blocks = _without_states(piece, call)
    if blocks is None:
        return
    call.notes["_added_single_ts_time_rank"] = True
    for module_id, rows in blocks.items():
        if stateful_module(call.rl_module, module_id) is not None:
            rows.columns = {name: nest.mapped(with_time, own) for name, own in rows.columns.items()}


def _add_states(piece: AddStatesFromEpisodesToBatch, call: Call) -> None:
    blocks = _without_states(piece, call)
    if blocks is None:
        return
    for module_id, rows in blocks.items():
        module = stateful_module(call.rl_module, module_id)
        if module is not None:
            rows.columns[Columns.STATE_IN] = states_of_rows(
                call.episodes, module_id, rows.keys, module
            )


def _map_agents(piece: AgentToModuleMapping, call: Call) -> None:
    blocks = call.items()
    modules = call.rl_module if call.is_multi else piece.rl_module_specs
    if piece.as_learner_connector or None in blocks:
        raise NotColumnar
    if any(name in modules for rows in blocks.values() for name in rows.columns):
        raise NotColumnar
    if any(module_id not in modules for module_id in blocks):
        raise NotColumnar
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


def _batch_items(piece: BatchIndividualItems, call: Call) -> None:
    blocks = call.blocks
    if blocks is None or call.is_batched:
        raise NotColumnar
    if call.is_mapped:
        if not call.is_multi or any(own not in call.rl_module for own in blocks):
            raise NotColumnar
    else:
        if piece.multi_agent or None not in blocks or call.is_multi:
            raise NotColumnar
        if Columns.OBS in blocks[None].columns:
            call.notes["memorized_map_structure"] = blocks[None].keys
    call.is_batched = True


def _turn_to_tensors(piece: NumpyToTensor, call: Call) -> None:
    blocks = call.blocks
    if blocks is None or not call.is_batched:
        raise NotColumnar
    if call.rl_module is None:
        return
    if piece.check_finite:
        raise NotColumnar
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
