"""From episodes to a forward batch as one step."""

from __future__ import annotations

from typing import Any, Final

from ....core import nest
from ....core.columns import Columns
from ....core.types import Nest
from ..common.add_observations import AddObservationsFromEpisodesToBatch
from ..common.add_states import AddStatesFromEpisodesToBatch
from ..common.add_time_dim import AddTimeDimToBatchAndZeroPad
from ..common.batch_individual_items import BatchIndividualItems
from ..common.numpy_to_tensor import NumpyToTensor, tensors_of
from ..item_rows import DistinctIds, opened, with_time
from ..piece_plan import Call as Given
from ..piece_plan import Room, Run
from ..stateful_modules import is_multi
from ..table import NotColumnar, Rows
from .acting_forms import FORMS, Call
from .latest import latest_of_singles, latest_states

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
        self._distinct = DistinctIds()

    def __call__(self, batch: dict[str, Any], given: Given) -> dict[str, Any] | None:
        """See `Run`."""
        rl_module, episodes, shared_data = given.rl_module, given.episodes, given.shared_data
        if type(rl_module) is not self._last_kind:  # A module of torch is slow to tell what it
            self._is_multi, self._last_kind = is_multi(rl_module), type(rl_module)  # lacks.
        try:
            if self.is_usual and not batch and not self._is_multi:
                ids, seen = latest_of_singles(episodes)
                if not self._distinct.hold(ids):
                    raise NotColumnar
                has_state = rl_module is not None and rl_module.is_stateful()
                states = latest_states(episodes, rl_module) if has_state else None
                return self._all_at_once(rl_module, batch, ids, seen, states, shared_data)
            call = Call(rl_module, self._is_multi, episodes, opened(batch) if batch else None)
            return self._made(call, batch, shared_data)
        except NotColumnar:
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
        except NotColumnar:
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
            raise NotColumnar
        device, pin_memory = to_tensors.device, to_tensors.pin_memory
        if has_state:
            seen = nest.mapped(with_time, seen)
            shared_data["_added_single_ts_time_rank"] = True
        if rl_module is not None:
            seen = tensors_of(Columns.OBS, seen, device, pin_memory)
        batch[Columns.OBS] = seen
        if has_state:
            batch[Columns.STATE_IN] = tensors_of(Columns.STATE_IN, states, device, pin_memory)
        shared_data["memorized_map_structure"] = ids
        return batch

    def _made(
        self, call: Call, batch: dict[str, Any], shared_data: dict[str, Any]
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


ACTING: Final = Room(lambda piece: type(piece) in FORMS, _join)
"""The pieces of env-to-module pipelines."""
