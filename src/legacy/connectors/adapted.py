"""The spaces of the environment a policy acts in: its own, or those it was adapted to."""

from __future__ import annotations

from typing import Any

from gymnasium.spaces import Space


def seen_space(policy: Any) -> Space[Any]:
    """Return the observation space of the environment, before any preprocessing."""
    for connector in _named(policy, "agent_connectors", "AdaptObservationsAgentConnector")[:1]:
        seen: Space[Any] = connector.observation_space
        return seen
    space: Space[Any] = policy.observation_space
    return getattr(space, "original_space", None) or space


def acted_space(policy: Any) -> Space[Any]:
    """Return the action space of the environment."""
    for connector in _named(policy, "action_connectors", "AdaptActionsConnector")[-1:]:
        acted: Space[Any] = connector.action_space
        return acted
    space: Space[Any] = policy.action_space
    return space


def _named(policy: Any, pipeline_name: str, name: str) -> list[Any]:
    pipeline = getattr(policy, pipeline_name, None)
    return [] if pipeline is None else list(pipeline[name])
