"""The default order of a learner pipeline."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from gymnasium.spaces import Space

from ..common.add_observations import AddObservationsFromEpisodesToBatch
from ..common.add_states import AddStatesFromEpisodesToBatch
from ..common.add_time_dim import AddTimeDimToBatchAndZeroPad
from ..common.agent_to_module_mapping import AgentMapping, AgentToModuleMapping
from ..common.batch_individual_items import BatchIndividualItems
from ..common.default_pieces import default_pieces
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


def learner_pipeline(
    input_observation_space: Space[Any] | None = None,
    input_action_space: Space[Any] | None = None,
    *,
    custom: Iterable[ConnectorV2] = (),
    agents: AgentMapping | None = None,
    device: Any = None,
    add_defaults: bool = True,
) -> LearnerConnectorPipeline:
    """Build the pipeline from sampled episodes to a train batch.

    Args:
        input_observation_space: The environment's.
        input_action_space: The environment's.
        custom: The user's own pieces.
        agents: For several agents.
        device: Where tensors go.
        add_defaults: Whether the default pieces follow the user's.
    """
    defaults = default_pieces(
        ORDER if add_defaults else (), agents=agents, device=device, learns=True
    )
    return LearnerConnectorPipeline(
        input_observation_space, input_action_space, connectors=[*custom, *defaults]
    )
