"""Steps that stand each by itself as a train batch, in whole columns.

The learner pipeline is the definition: it is given one-step episodes. Where it consists of the
usual pieces and the module has no state, what it makes of these is their columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, overload

import numpy as np
from typing_extensions import override

from ...core import nest
from ...core.columns import ALL_MODULES, Columns
from ...core.types import Array, Nest
from ..connectors.common.add_observations import AddObservationsFromEpisodesToBatch
from ..connectors.common.add_states import AddStatesFromEpisodesToBatch
from ..connectors.common.add_time_dim import AddTimeDimToBatchAndZeroPad
from ..connectors.common.batch_individual_items import BatchIndividualItems
from ..connectors.common.numpy_to_tensor import NumpyToTensor
from ..connectors.learner.add_columns import (
    AddColumnsFromEpisodesToTrainBatch,
    AddNextObservationsFromEpisodesToTrainBatch,
)
from ..connectors.learner.add_one_ts import AddOneTsToEpisodesAndTruncate
from ..connectors.learner.general_advantage_estimation import GeneralAdvantageEstimation
from ..episodes.single_agent import SingleAgentEpisode
from ..metrics import names

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


class Steps(Sequence[SingleAgentEpisode]):
    """Steps, each by itself: columns with a row for each, and read as episodes of one step each.

    Args:
        columns: obs, new_obs, actions, rewards, terminateds, truncateds and outputs of modules, as
            arrays or nests of arrays; infos with each observation but the first.
        ids: Of the episodes the steps are from; none where they are not told.
        started: At which step of its episode each is; 0 where it is not told.
        first_infos: Those that came with the observation before each step.
        settings: Of the episode of each: spaces, and ids of agent and module.

    Example:
        >>> one = np.ones(1, np.float32)
        >>> steps = Steps({"obs": one, "new_obs": 2 * one, "actions": one, "rewards": one,
        ...     "terminateds": one > 2, "truncateds": one > 2}, ids=("a",))
        >>> len(steps), steps[0].id_, len(steps[0])
        (1, 'a', 1)
    """

    __slots__ = ("columns", "first_infos", "ids", "settings", "started")

    def __init__(
        self,
        columns: Mapping[str, Nest],
        ids: Sequence[str] = (),
        *,
        started: Sequence[int] = (),
        first_infos: Sequence[Any] = (),
        settings: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.columns = columns
        self.ids = ids
        self.started = started
        self.first_infos = first_infos
        self.settings = settings

    @override
    def __len__(self) -> int:
        return len(nest.flatten(self.columns[Columns.REWARDS])[0])

    @overload
    def __getitem__(self, index: int) -> SingleAgentEpisode: ...

    @overload
    def __getitem__(self, index: slice) -> list[SingleAgentEpisode]: ...

    @override
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self._episode(i) for i in range(*index.indices(len(self)))]
        return self._episode(range(len(self))[index])

    def episodes(self) -> list[SingleAgentEpisode]:
        """Each step as an episode of its own."""
        return [*self]

    def _episode(self, i: int) -> SingleAgentEpisode:
        def row(column: Nest) -> Any:
            return nest.map_structure(lambda array: array[i], column)

        columns = self.columns
        infos: Any = columns.get(Columns.INFOS)
        return SingleAgentEpisode(
            self.ids[i] if self.ids else None,
            observations=[row(columns[Columns.OBS]), row(columns[Columns.NEXT_OBS])],
            infos=[
                self.first_infos[i] if self.first_infos else {},
                {} if infos is None else infos[i],
            ],
            actions=[row(columns[Columns.ACTIONS])],
            rewards=[row(columns[Columns.REWARDS])],
            terminated=bool(row(columns[Columns.TERMINATEDS])),
            truncated=bool(row(columns[Columns.TRUNCATEDS])),
            extra_model_outputs={
                name: [row(own)] for name, own in columns.items() if name not in _OWN
            },
            t_started=int(self.started[i]) if len(self.started) else 0,
            len_lookback_buffer=0,
            **(self.settings[i] if self.settings else {}),
        )


def train_batch(steps: Steps, pipeline: Any, rl_module: Any, metrics: Any = None) -> dict[str, Any]:
    """What a learner pipeline makes of steps, by module.

    Args:
        steps: Each by itself.
        pipeline: The learner's.
        rl_module: The modules by id.
        metrics: Where the pipeline's timers go.
    """
    pieces = list(pipeline.connectors)
    if not _is_usual(pieces, rl_module):
        train_columns: dict[str, Any] = pipeline(
            rl_module=rl_module,
            batch={},
            episodes=steps.episodes(),
            shared_data={},
            metrics=metrics,
        )
        return train_columns
    if metrics is None:
        return _joined(steps, pieces, rl_module)
    prefix = (ALL_MODULES, names.LEARNER_CONNECTOR)
    metrics.log_value((ALL_MODULES, names.LEARNER_CONNECTOR_SUM_EPISODES_LENGTH_IN), len(steps))
    with metrics.log_time((*prefix, names.CONNECTOR_PIPELINE_TIMER)):
        train_columns = _joined(steps, pieces, rl_module)
    metrics.log_value((ALL_MODULES, names.LEARNER_CONNECTOR_SUM_EPISODES_LENGTH_OUT), len(steps))
    return train_columns


def _joined(steps: Steps, pieces: Sequence[Any], rl_module: Any) -> dict[str, Any]:
    """What the usual pieces make: the columns, and what those behind them do with these."""
    is_prolonging = type(pieces[0]) is AddOneTsToEpisodesAndTruncate
    columns = {
        name: column
        for name, column in steps.columns.items()
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
    obs, after = columns[Columns.OBS], columns[Columns.NEXT_OBS]
    prolonged = {
        Columns.LOSS_MASK: _by_turns(~none, none),
        Columns.TERMINATEDS: _by_turns(ended, none),
        Columns.TRUNCATEDS: _by_turns(cut | ~ended, none),
        Columns.OBS: nest.map_structure(_by_turns, obs, after),
        Columns.NEXT_OBS: nest.map_structure(lambda array: np.repeat(array, 2, axis=0), after),
        Columns.REWARDS: nest.map_structure(
            lambda array: _by_turns(array, np.zeros_like(array)), columns[Columns.REWARDS]
        ),
    }
    for name, column in columns.items():
        if name not in prolonged:
            prolonged[name] = nest.map_structure(lambda array: np.repeat(array, 2, axis=0), column)
    return prolonged


def _by_turns(one: Array, other: Array) -> Array:
    by_turns = np.empty((2 * len(one), *one.shape[1:]), one.dtype)
    by_turns[::2], by_turns[1::2] = one, other
    return by_turns
