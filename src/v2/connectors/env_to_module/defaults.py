"""The default order of an env-to-module pipeline."""

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


def env_to_module_pipeline(
    input_observation_space: Space[Any] | None = None,
    input_action_space: Space[Any] | None = None,
    *,
    custom: Iterable[ConnectorV2] = (),
    agents: AgentMapping | None = None,
    device: Any = None,
    add_defaults: bool = True,
) -> EnvToModulePipeline:
    """Build the pipeline from episodes to a forward batch.

    Args:
        input_observation_space: The environment's.
        input_action_space: The environment's.
        custom: The user's own pieces.
        agents: For several agents.
        device: Where tensors go.
        add_defaults: Whether the default pieces follow the user's.
    """
    defaults = default_pieces(
        ORDER if add_defaults else (), agents=agents, device=device, learns=False
    )
    return EnvToModulePipeline(
        input_observation_space, input_action_space, connectors=[*custom, *defaults]
    )
