"""The pieces that every pipeline from episodes to a module begins with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..connector import ConnectorV2
from .add_observations import AddObservationsFromEpisodesToBatch
from .add_states import AddStatesFromEpisodesToBatch
from .add_time_dim import AddTimeDimToBatchAndZeroPad
from .agent_to_module_mapping import AgentMapping, AgentToModuleMapping
from .batch_individual_items import BatchIndividualItems
from .numpy_to_tensor import NumpyToTensor


def default_pieces(
    order: Sequence[type[ConnectorV2]], *, agents: AgentMapping | None, device: Any, learns: bool
) -> list[ConnectorV2]:
    """Build pieces with the settings their pipeline needs.

    Args:
        order: Their classes; `AgentToModuleMapping` is left out for a single agent.
        agents: For several agents.
        device: Where tensors go.
        learns: Whether it is a learner's pipeline.
    """
    kind = {"as_learner_connector": True} if learns else {}
    settings: dict[type[ConnectorV2], dict[str, Any]] = {
        AddObservationsFromEpisodesToBatch: kind,
        AddTimeDimToBatchAndZeroPad: kind,
        AddStatesFromEpisodesToBatch: kind,
        BatchIndividualItems: {"multi_agent": agents is not None},
        NumpyToTensor: {**kind, "device": device},
    }
    if agents is not None:
        settings[AgentToModuleMapping] = {**vars(agents), **kind}
    return [
        cls(**settings.get(cls, {}))
        for cls in order
        if cls is not AgentToModuleMapping or agents is not None
    ]
