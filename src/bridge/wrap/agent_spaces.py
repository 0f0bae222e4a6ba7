"""The space of observations behind connectors of the old stack."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from ...core.adapters import AdapterChain
from ...legacy.connectors.agent.adapt_observations import AdaptObservationsAgentConnector
from ...legacy.connectors.agent.mean_std_filter import MeanStdObservationFilterAgentConnector
from ...legacy.connectors.agent.obs_preproc import ObsPreprocessorConnector
from ...legacy.connectors.agent.view_requirement import ViewRequirementAgentConnector
from ...legacy.connectors.connector import AgentConnector
from ...legacy.connectors.context import ConnectorContext
from ...legacy.connectors.pipeline import AgentConnectorPipeline
from ...legacy.observations.preprocessors import get_preprocessor_for_space


def space_behind(connector: AgentConnector, ctx: ConnectorContext, space: Any) -> Any:
    """What becomes of a space of observations.

    A user's own connectors are taken to leave it as it is; behind the piece that builds the
    policy's batch, it is what the policy takes.
    """
    if isinstance(connector, AgentConnectorPipeline):
        if any(isinstance(each, ViewRequirementAgentConnector) for each in connector.connectors):
            return ctx.observation_space if ctx.observation_space is not None else space
        for each in connector.connectors:
            space = space_behind(each, ctx, space)
        return space
    if isinstance(connector, AdaptObservationsAgentConnector):
        chain = AdapterChain(obs=connector.chain.obs)
        return chain.bind(
            connector.observation_space, connector.observation_space
        ).observation_space
    if isinstance(connector, ObsPreprocessorConnector):
        return get_preprocessor_for_space(space, ctx.setting("model")).observation_space
    if isinstance(connector, MeanStdObservationFilterAgentConnector):
        return _unbounded(space)
    return space


def first_space(connector: AgentConnector, ctx: ConnectorContext) -> Any:
    """What a whole pipeline expects from the environment."""
    pieces = getattr(connector, "connectors", [connector])
    if pieces and isinstance(pieces[0], AdaptObservationsAgentConnector):
        return pieces[0].observation_space
    return ctx.raw_observation_space


def _unbounded(space: Any) -> Any:
    if isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.floating):
        return spaces.Box(-np.inf, np.inf, space.shape, space.dtype)
    if isinstance(space, spaces.Dict):
        return spaces.Dict({name: _unbounded(part) for name, part in space.spaces.items()})
    if isinstance(space, spaces.Tuple):
        return spaces.Tuple([_unbounded(part) for part in space.spaces])
    return space
