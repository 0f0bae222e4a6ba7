"""Consecutive built-in pieces of a learner pipeline as one step: one pass per column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ....core.columns import Columns
from ..common.add_observations import AddObservationsFromEpisodesToBatch
from ..common.add_states import AddStatesFromEpisodesToBatch
from ..common.add_time_dim import AddTimeDimToBatchAndZeroPad
from ..common.agent_to_module_mapping import AgentToModuleMapping
from ..common.batch_individual_items import BatchIndividualItems
from ..common.frame_stacking import FrameStackingLearner
from ..common.numpy_to_tensor import NumpyToTensor
from ..piece_plan import Call, Room, Run
from ..stateful_modules import is_multi, is_stateful
from ..table import NotColumnar
from .add_columns import (
    AddColumnsFromEpisodesToTrainBatch,
    AddInfosFromEpisodesToTrainBatch,
    AddNextObservationsFromEpisodesToTrainBatch,
    ComputeReturnsToGo,
)
from .add_one_ts import AddOneTsToEpisodesAndTruncate, add_flags, prolong
from .general_advantage_estimation import GeneralAdvantageEstimation
from .train_columns import TrainColumns

_NO_ROWS: Final = "pieces are set for other batches"

_FIRST, _ADDS, _CUTS, _STATES, _MAPS, _BATCHES, _AFTER = range(7)

# Where a piece may stand in a run; only those that add columns may stand there twice.
_PLACES: Final[dict[type, int]] = {
    AddOneTsToEpisodesAndTruncate: _FIRST,
    AddObservationsFromEpisodesToBatch: _ADDS,
    AddColumnsFromEpisodesToTrainBatch: _ADDS,
    AddInfosFromEpisodesToTrainBatch: _ADDS,
    AddNextObservationsFromEpisodesToTrainBatch: _ADDS,
    ComputeReturnsToGo: _ADDS,
    FrameStackingLearner: _ADDS,
    AddTimeDimToBatchAndZeroPad: _CUTS,
    AddStatesFromEpisodesToBatch: _STATES,
    AgentToModuleMapping: _MAPS,
    BatchIndividualItems: _BATCHES,
    NumpyToTensor: _AFTER,
    GeneralAdvantageEstimation: _AFTER,
}


class TrainRun:
    """Pieces up to `BatchIndividualItems` as one step; those behind it follow one by one.

    Args:
        pieces: In the order of a train pipeline.
    """

    refusal = ""

    def __init__(self, pieces: tuple[Any, ...]) -> None:
        places = [_PLACES[type(piece)] for piece in pieces]
        end = places.index(_BATCHES)
        self.columnar = pieces[:end]
        self.batching = pieces[end]
        self.after = pieces[end + 1 :]
        self.is_prolonging = places[0] == _FIRST
        self.is_multi_agent = _MAPS in places

    def __call__(self, batch: dict[str, Any], call: Call) -> Any:
        """Make the train batch; None where only the pieces themselves can."""
        rl_module, episodes, shared_data = call.rl_module, call.episodes, call.shared_data
        others: dict[str, Any] = {"rl_module": rl_module, "episodes": episodes}
        others |= {"explore": call.explore, "shared_data": shared_data}
        try:
            columns = self._begun(rl_module, batch, episodes)
        except NotColumnar as refusal:
            self.refusal = str(refusal)
            return None
        pieces = (*self.columnar, self.batching)
        if self.is_prolonging:
            prolong(episodes)
            pieces = pieces[1:]
            shared_data["_added_loss_mask_for_valid_episode_ts"] = True
        try:
            for piece in self.columnar:
                self._add(piece, columns, others)
        except NotColumnar as refusal:  # The step is there already; the other pieces go on from it.
            self.refusal = str(refusal)
            if self.is_prolonging:
                add_flags(batch, episodes)
            for piece in (*pieces, *self.after):
                batch = piece(batch=batch, data=batch, **others)
            return batch
        batch = self._finished(columns, batch, others)
        del columns  # What pieces turn into something else need not stay.
        for piece in self.after:
            batch = piece(batch=batch, data=batch, **others)
        return batch

    def _begun(
        self, rl_module: Any, batch: dict[str, Any], episodes: Sequence[Any]
    ) -> TrainColumns:
        pieces = (*self.columnar, self.batching)
        for piece in pieces:
            if not getattr(piece, "as_learner_connector", True):
                raise NotColumnar(_NO_ROWS)
        if self.batching.multi_agent is not self.is_multi_agent:
            raise NotColumnar(_NO_ROWS)
        if self.is_multi_agent and not is_multi(rl_module):
            raise NotColumnar(_NO_ROWS)
        if self.is_prolonging and any(column in batch for column in _FLAGS):
            raise NotColumnar(_NO_ROWS)
        columns = TrainColumns(rl_module, batch, episodes)
        columns.expect_columns(
            rl_module if is_multi(rl_module) else (),
            is_multi_agent=self.is_multi_agent,
            is_renamed=self.is_prolonging,
        )
        return columns

    def _add(self, piece: Any, columns: TrainColumns, arguments: dict[str, Any]) -> None:
        kind = type(piece)
        if kind is AddOneTsToEpisodesAndTruncate:
            columns.add_flags(is_prolonged=True)
        elif kind is AddObservationsFromEpisodesToBatch:
            columns.number_episodes()
            columns.add_observations(Columns.OBS)
        elif kind is AddNextObservationsFromEpisodesToTrainBatch:
            columns.add_observations(Columns.NEXT_OBS)
        elif kind is AddColumnsFromEpisodesToTrainBatch:
            columns.add_columns()
        elif kind is AddInfosFromEpisodesToTrainBatch:
            columns.add_infos()
        elif kind is AddTimeDimToBatchAndZeroPad:
            columns.cut_into_rows(piece, arguments["shared_data"])
        elif kind is not AgentToModuleMapping:
            self._add_alone(piece, columns, arguments)

    def _add_alone(
        self, piece: Any, train_columns: TrainColumns, arguments: dict[str, Any]
    ) -> None:
        """Let a piece make arrays for each episode in a batch of its own."""
        alone: dict[str, Any] = {}
        columns: tuple[str, ...] = (Columns.RETURNS_TO_GO,)
        if type(piece) is FrameStackingLearner:
            columns, train_columns.is_stacked = (Columns.OBS,), True
        elif type(piece) is AddStatesFromEpisodesToBatch:
            columns = (Columns.STATE_IN, Columns.NEXT_STATE_IN)
            if not is_stateful(arguments["rl_module"]) or train_columns.has(Columns.STATE_IN):
                return
            if train_columns.add_states(piece):
                return
            if train_columns.has(Columns.NEXT_OBS):
                alone[Columns.NEXT_OBS] = {}
        alone = piece(batch=alone, data=alone, **arguments)
        for column in columns:
            if column in alone:
                train_columns.add_items(column, alone)

    def _finished(
        self, columns: TrainColumns, batch: dict[str, Any], arguments: dict[str, Any]
    ) -> Any:
        """The columns made, behind those that were there, which the pieces see to."""
        if batch:
            without = {**arguments, "episodes": []}  # Masks are made already.
            for piece in (*self.columnar, self.batching):
                place = _PLACES[type(piece)]
                if place in (_CUTS, _MAPS, _BATCHES):
                    batch = piece(batch=batch, data=batch, **without)
        shared, order = arguments["shared_data"], "memorized_map_structure"
        if self.is_multi_agent:
            # The first column says it: one that was there, of which the mapping piece has told.
            shared[order] = (batch and shared.get(order)) or columns.agents_by_module()
        elif any(Columns.OBS in group.columns for group in columns.groups):
            shared[order] = columns.ids_of_rows()
        return columns.by_module(batch, is_multi_agent=self.is_multi_agent)


_FLAGS: Final = (Columns.LOSS_MASK, Columns.TERMINATEDS, Columns.TRUNCATEDS)


def _join(pieces: tuple[Any, ...]) -> Run | None:
    places = [_PLACES[type(piece)] for piece in pieces]
    if _BATCHES not in places:
        return None
    before = places[: places.index(_BATCHES) + 1]
    once = [place for place in before if place != _ADDS]
    if before != sorted(before) or len(once) != len(set(once)):
        return None
    return TrainRun(pieces)


TRAINING: Final = Room(lambda piece: type(piece) in _PLACES, _join)
"""The pieces of a train pipeline that run together, and how."""
