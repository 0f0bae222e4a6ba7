"""The default order of an env-to-module pipeline."""

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
from .env_to_module_pipeline import EnvToModulePipeline

ORDER: Final[tuple[type[ConnectorV2], ...]] = (
    AddObservationsFromEpisodesToBatch,
    AddTimeDimToBatchAndZeroPad,
    AddStatesFromEpisodesToBatch,
    AgentToModuleMapping,  # only for several agents
    BatchIndividualItems,
    NumpyToTensor,
)
"""The default pieces; the user's own come before them."""

env_to_module_pipeline = partial(pipeline_of, EnvToModulePipeline, ORDER, False)
"""Builds the pipeline from episodes to a forward batch."""
