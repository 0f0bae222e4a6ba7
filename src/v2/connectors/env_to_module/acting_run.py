"""From episodes to a forward batch as one step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from typing_extensions import override

from ....core import nest
from ....core.columns import Columns
from ....core.types import Nest
from ..columnar import ColumnarRun
from ..common.add_observations import AddObservationsFromEpisodesToBatch, latest_of_singles
from ..common.add_states import AddStatesFromEpisodesToBatch, latest_states
from ..common.add_time_dim import AddTimeDimToBatchAndZeroPad
from ..common.batch_individual_items import BatchIndividualItems
from ..common.numpy_to_tensor import NumpyToTensor, tensors_of
from ..item_rows import DistinctIds, opened, with_time
from ..piece_plan import Call
from ..stateful_modules import is_multi
from ..table import NotColumnar, Rows, Table

_NO_ROWS: Final = "a piece is set for learners, for several agents or to look at numbers"

_USUAL: Final = (
    AddObservationsFromEpisodesToBatch,
    AddTimeDimToBatchAndZeroPad,
    AddStatesFromEpisodesToBatch,
    BatchIndividualItems,
    NumpyToTensor,
)


class ActingRun(ColumnarRun):
    """Pieces on the way to the module as one step.

    The usual five of a single agent are done at once: a call of theirs takes three microseconds,
    which is less than five pieces need to be called.

    Args:
        pieces: With `BatchIndividualItems` among them.
    """

    def __init__(self, pieces: Sequence[Any]) -> None:
        super().__init__(pieces)
        self.is_usual: Final = tuple(map(type, pieces)) == _USUAL
        self._distinct = DistinctIds()

        self._works.insert(0, _opened)

    @override
    def __call__(self, batch: dict[str, Any], call: Call) -> dict[str, Any]:
        """See `Run`."""
        rl_module = call.rl_module
        if self.is_usual and not batch:
            if type(rl_module) is not self._last_kind:
                self._is_multi, self._last_kind = is_multi(rl_module), type(rl_module)
            try:
                if not self._is_multi:
                    ids, rows = latest_of_singles(call.episodes)
                    if self._distinct.hold(ids):
                        has_state = rl_module is not None and rl_module.is_stateful()
                        states = latest_states(call.episodes, rl_module) if has_state else None
                        shared = call.shared_data
                        return self._all_at_once(rl_module, batch, ids, rows, states, shared)
            except NotColumnar:
                pass
        return super().__call__(batch, call)

    def of_rows(
        self, rl_module: Any, rows: Rows, states: Nest | None, shared_data: dict[str, Any]
    ) -> dict[str, Any] | None:
        """Return the batch for the observations of a single agent that are given as rows.

        Args:
            rl_module: The module.
            rows: The observations, with the ids of their episodes.
            states: Input states of a stateful module.
            shared_data: As in a call.

        Returns:
            The result of a call with the episodes, or None if this run is not supported.
        """
        if not self.is_usual:
            return None
        try:
            observations = rows.columns[Columns.OBS]
            return self._all_at_once(rl_module, {}, rows.keys, observations, states, shared_data)
        except NotColumnar:
            return None

    def _all_at_once(
        self,
        rl_module: Any,
        batch: dict[str, Any],
        ids: list[Any],
        observations: Nest,
        states: Nest | None,
        shared_data: dict[str, Any],
    ) -> dict[str, Any]:
        """All forms in one for the module of a single agent: the call that is made most often."""
        add_observations, add_time, add_states, batch_items, to_tensors = self.pieces
        if add_observations.as_learner_connector or batch_items.multi_agent:
            raise NotColumnar(_NO_ROWS)
        if to_tensors.check_finite:
            raise NotColumnar(_NO_ROWS)
        device, pin_memory = to_tensors.device, to_tensors.pin_memory
        has_state = states is not None
        if has_state:
            if add_time.as_learner_connector or add_states.as_learner_connector:
                raise NotColumnar(_NO_ROWS)
            observations = nest.mapped(with_time, observations)
            shared_data["_added_single_ts_time_rank"] = True
        if rl_module is not None:
            observations = tensors_of(Columns.OBS, observations, device, pin_memory)
        batch[Columns.OBS] = observations
        if has_state:
            batch[Columns.STATE_IN] = tensors_of(Columns.STATE_IN, states, device, pin_memory)
        shared_data["memorized_map_structure"] = ids
        return batch


def _opened(batch: dict[str, Any], call: Call) -> Any:
    """Return the rows of a batch that custom pieces have started."""
    return Table(opened(batch), given=batch) if batch else batch


def acting_run(pieces: Sequence[Any]) -> ActingRun | None:
    """A run of pieces that makes arrays of rows; lists of items are quickest made one by one."""
    return ActingRun(pieces) if BatchIndividualItems in map(type, pieces) else None
