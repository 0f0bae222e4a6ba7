"""The pipeline from episodes to a forward batch, and its default order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from typing_extensions import override

from ....core.spaces.text import short_space
from ..columnar import is_columnar
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
from .acting_run import acting_run


class EnvToModulePipeline(ConnectorPipelineV2):
    """Leads from the running episodes of an environment to a module's forward batch.

    Example:
        >>> EnvToModulePipeline()(rl_module=None, episodes=[], explore=False)
        {}
    """

    @override
    def _log_lengths(self, metrics: Any, episodes: Sequence[Any], end: str) -> None:
        metrics.log_value(f"env_to_module_sum_episodes_length_{end}", sum(map(len, episodes)))

    @override
    def _room(self) -> Room:
        return Room(is_columnar, acting_run)

    @override
    def _left_by(self, piece: Any) -> str:
        return short_space(getattr(piece, "observation_space", None) or "")


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
