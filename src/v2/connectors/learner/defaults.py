"""The default order of a learner pipeline."""

from __future__ import annotations

from functools import partial
from typing import Final

from ..common.add_observations import AddObservationsFromEpisodesToBatch
from ..common.add_states import AddStatesFromEpisodesToBatch
from ..common.add_time_dim import AddTimeDimToBatchAndZeroPad
from ..common.agent_to_module_mapping import AgentToModuleMapping
from ..common.batch_individual_items import BatchIndividualItems
from ..common.default_pieces import pipeline_of
from ..common.numpy_to_tensor import NumpyToTensor
from ..connector import ConnectorV2
from .add_columns import AddColumnsFromEpisodesToTrainBatch
from .learner_connector_pipeline import LearnerConnectorPipeline

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
