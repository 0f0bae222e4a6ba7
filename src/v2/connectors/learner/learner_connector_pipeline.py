"""The pipeline from sampled episodes to a train batch, and its default order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from typing_extensions import override

from ....core.columns import ALL_MODULES
from ..common.add_observations import AddObservationsFromEpisodesToBatch
from ..common.add_states import AddStatesFromEpisodesToBatch
from ..common.add_time_dim import AddTimeDimToBatchAndZeroPad
from ..common.agent_to_module_mapping import AgentToModuleMapping
from ..common.batch_individual_items import BatchIndividualItems
from ..common.default_pieces import pipeline_of
from ..common.numpy_to_tensor import NumpyToTensor
from ..connector import ConnectorV2
from ..piece_plan import Room
from ..pipeline import ConnectorPipelineV2
from .add_columns import AddColumnsFromEpisodesToTrainBatch
from .train_columns import RowIds
from .train_run import TRAINING


class LearnerConnectorPipeline(ConnectorPipelineV2):
    """Leads from sampled episodes to the batch a learner's losses are computed from.

    Example:
        >>> LearnerConnectorPipeline()(rl_module=None, episodes=[])
        {}
    """

    @override
    def __call__(
        self,
        *,
        explore: bool | None = False,
        shared_data: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        batch = super().__call__(explore=explore, shared_data=shared_data, **kwargs)
        owners = (shared_data or {}).get("memorized_map_structure")
        if shared_data and isinstance(owners, RowIds):
            shared_data["memorized_map_structure"] = owners.listed()
        return batch

    @override
    def _log_lengths(self, metrics: Any, episodes: Sequence[Any], end: str) -> None:
        key = (ALL_MODULES, f"learner_connector_sum_episodes_length_{end}")
        metrics.log_value(key, sum(map(len, episodes)))

    @override
    def _metrics_prefix(self) -> tuple[str, ...]:
        return (ALL_MODULES, "learner_connector")

    @override
    def _room(self) -> Room:
        return TRAINING


ORDER: Final[tuple[type[ConnectorV2], ...]] = (
    AddObservationsFromEpisodesToBatch,
    AddColumnsFromEpisodesToTrainBatch,
    AddTimeDimToBatchAndZeroPad,
    AddStatesFromEpisodesToBatch,
    AgentToModuleMapping,  # only for several agents
    BatchIndividualItems,
    NumpyToTensor,
)
"""The default pieces; the user's own come before them.

An algorithm adds its own around: PPO puts `AddOneTsToEpisodesAndTruncate` in front of all and
`GeneralAdvantageEstimation` at the end.
"""

learner_pipeline = partial(pipeline_of, LearnerConnectorPipeline, ORDER, True)
"""Builds the pipeline from sampled episodes to a train batch."""
