"""Pieces at the start of every pipeline from episodes to a module."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from gymnasium.spaces import Space

from ..connector import ConnectorV2
from .add_observations import AddObservationsFromEpisodesToBatch
from .add_states import AddStatesFromEpisodesToBatch
from .add_time_dim import AddTimeDimToBatchAndZeroPad
from .agent_to_module_mapping import AgentMapping, AgentToModuleMapping
from .batch_individual_items import BatchIndividualItems
from .numpy_to_tensor import NumpyToTensor

Pipeline = TypeVar("Pipeline")


def pipeline_of(
    kind: Callable[..., Pipeline],
    order: Sequence[type[ConnectorV2]],
    learns: bool,
    input_observation_space: Space[Any] | None = None,
    input_action_space: Space[Any] | None = None,
    *,
    custom: Iterable[ConnectorV2] = (),
    agents: AgentMapping | None = None,
    device: Any = None,
    add_defaults: bool = True,
) -> Pipeline:
    """Build a pipeline from episodes to a batch.

    Args:
        kind: Its class.
        order: The default pieces, which follow the user's.
        learns: Whether it is a learner's.
        input_observation_space: The environment's.
        input_action_space: The environment's.
        custom: The user's own pieces.
        agents: For several agents.
        device: Where tensors go.
        add_defaults: Whether there are default pieces at all.
    """
    defaults = default_pieces(
        order if add_defaults else (), agents=agents, device=device, learns=learns
    )
    return kind(input_observation_space, input_action_space, connectors=[*custom, *defaults])


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
