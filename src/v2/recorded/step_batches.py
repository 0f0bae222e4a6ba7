"""Steps that stand each by itself as a train batch, in whole columns.

The learner pipeline is the definition: it is given one-step episodes. Where it consists of the
usual pieces and the module has no state, what it makes of these is their columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ...core import nest
from ...core.columns import Columns
from ...core.types import Array, Nest
from ..connectors.common.add_observations import AddObservationsFromEpisodesToBatch
from ..connectors.common.add_states import AddStatesFromEpisodesToBatch
from ..connectors.common.add_time_dim import AddTimeDimToBatchAndZeroPad
from ..connectors.common.batch_individual_items import BatchIndividualItems
from ..connectors.common.numpy_to_tensor import NumpyToTensor
from ..connectors.learner.add_columns import AddColumnsFromEpisodesToTrainBatch
from ..connectors.learner.add_next_observations import AddNextObservationsFromEpisodesToTrainBatch
from ..connectors.learner.add_one_ts import AddOneTsToEpisodesAndTruncate
from ..connectors.learner.general_advantage_estimation import GeneralAdvantageEstimation
from ..episodes.single_agent import SingleAgentEpisode

_ADDING: Final = (
    AddObservationsFromEpisodesToBatch,
    AddNextObservationsFromEpisodesToTrainBatch,
    AddColumnsFromEpisodesToTrainBatch,
    AddTimeDimToBatchAndZeroPad,
    AddStatesFromEpisodesToBatch,
    BatchIndividualItems,
)
_AFTER: Final = frozenset({NumpyToTensor, GeneralAdvantageEstimation})
_OWN: Final = frozenset(
    {
        *(Columns.OBS, Columns.NEXT_OBS, Columns.ACTIONS, Columns.REWARDS),
        *(Columns.TERMINATEDS, Columns.TRUNCATEDS, Columns.INFOS),
    }
)
_STATES: Final = frozenset({Columns.STATE_IN, Columns.STATE_OUT})


@dataclass(frozen=True)
class Steps:
    """Steps, each by itself: columns with a row for each.

    Args:
        columns: obs, new_obs, actions, rewards, terminateds, truncateds and outputs of modules, as
            arrays or nests of arrays.
        ids: Of the episodes the steps are from; none where they are not told.
    """

    columns: Mapping[str, Nest]
    ids: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(nest.flatten(self.columns[Columns.REWARDS])[0])

    def episodes(self) -> list[SingleAgentEpisode]:
        """Each step as an episode of its own."""
        columns = self.columns
        outputs = {name: own for name, own in columns.items() if name not in _OWN}

        def row(column: Nest, i: int) -> Any:
            return nest.map_structure(lambda array: array[i], column)

        infos: Any = columns.get(Columns.INFOS)
        return [
            SingleAgentEpisode(
                self.ids[i] if self.ids else None,
                observations=[row(columns[Columns.OBS], i), row(columns[Columns.NEXT_OBS], i)],
                infos=[{}, {} if infos is None else infos[i]],
                actions=[row(columns[Columns.ACTIONS], i)],
                rewards=[row(columns[Columns.REWARDS], i)],
                terminated=bool(row(columns[Columns.TERMINATEDS], i)),
                truncated=bool(row(columns[Columns.TRUNCATEDS], i)),
                extra_model_outputs={name: [row(own, i)] for name, own in outputs.items()},
                len_lookback_buffer=0,
            )
            for i in range(len(self))
        ]


def train_batch(steps: Steps, pipeline: Any, rl_module: Any) -> dict[str, Any]:
    """What a learner pipeline makes of steps, by module.

    Args:
        steps: Each by itself.
        pipeline: The learner's.
        rl_module: The modules by id.
    """
    pieces = list(pipeline.connectors)
    if not _is_usual(pieces, rl_module):
        made: dict[str, Any] = pipeline(
            rl_module=rl_module, batch={}, episodes=steps.episodes(), shared_data={}
        )
        return made
    is_prolonging = type(pieces[0]) is AddOneTsToEpisodesAndTruncate
    columns = {
        name: own
        for name, own in steps.columns.items()
        if name not in _STATES and name != Columns.INFOS
    }
    if is_prolonging:
        columns = _prolonged(columns)
    (module_id,) = rl_module.keys()
    batch: dict[str, Any] = {module_id: columns}
    for piece in pieces[len(_ADDING) + is_prolonging :]:
        batch = piece(rl_module=rl_module, batch=batch, episodes=[], shared_data={})
    return batch


def _is_usual(pieces: list[Any], rl_module: Any) -> bool:
    kinds = [type(piece) for piece in pieces]
    if kinds[:1] == [AddOneTsToEpisodesAndTruncate]:
        del kinds[0]
    first, rest = tuple(kinds[: len(_ADDING)]), kinds[len(_ADDING) :]
    return (
        first == _ADDING
        and _AFTER.issuperset(rest)
        and not rl_module.is_stateful()
        and len(rl_module.keys()) == 1
    )


def _prolonged(columns: Mapping[str, Nest]) -> dict[str, Nest]:
    """Each step followed by one that repeats where it ended, earns nothing and does not count."""
    ended, cut = (
        np.asarray(columns[name], bool) for name in (Columns.TERMINATEDS, Columns.TRUNCATEDS)
    )
    none = np.zeros_like(ended)
    seen, after = columns[Columns.OBS], columns[Columns.NEXT_OBS]
    made = {
        Columns.LOSS_MASK: _by_turns(~none, none),
        Columns.TERMINATEDS: _by_turns(ended, none),
        Columns.TRUNCATEDS: _by_turns(cut | ~ended, none),
        Columns.OBS: nest.map_structure(_by_turns, seen, after),
        Columns.NEXT_OBS: nest.map_structure(lambda array: np.repeat(array, 2, axis=0), after),
        Columns.REWARDS: nest.map_structure(
            lambda array: _by_turns(array, np.zeros_like(array)), columns[Columns.REWARDS]
        ),
    }
    for name, own in columns.items():
        if name not in made:
            made[name] = nest.map_structure(lambda array: np.repeat(array, 2, axis=0), own)
    return made


def _by_turns(one: Array, other: Array) -> Array:
    made = np.empty((2 * len(one), *one.shape[1:]), one.dtype)
    made[::2], made[1::2] = one, other
    return made
