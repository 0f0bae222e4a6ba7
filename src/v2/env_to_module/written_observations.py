"""Write a changed observation back into its episode, with the space it has now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gymnasium import spaces

from ..episodes.single_agent import SingleAgentEpisode


def own_space(space: Any, episode: Any) -> Any:
    """The part of a piece's space that is an agent's own; None where it is not known."""
    agent_id = episode.agent_id
    if agent_id is None or not isinstance(space, (spaces.Dict, dict)):
        return space
    by_agent = space.spaces if isinstance(space, spaces.Dict) else space
    return by_agent.get(agent_id)


def write_last(episode: Any, observation: Any, space: Any) -> None:
    """Replace the last observation of a single agent's episode.

    Args:
        episode: Changed in place.
        observation: The new one.
        space: Its space, or None to keep what the episode has.
    """
    if space is not None:
        episode.observation_space = space
    episode.set_observations(new_data=observation, at_indices=-1)


def by_agent(episodes: Iterable[Any]) -> dict[Any, list[Any]]:
    """Agents' episodes by agent id, in the order in which agents appear."""
    found = [*episodes]
    ids = [episode.agent_id for episode in found]
    if ids.count(None) == len(ids):
        return {None: found} if found else {}
    own: dict[Any, list[Any]] = {}
    for agent_id, episode in zip(ids, found, strict=True):
        own.setdefault(agent_id, []).append(episode)
    return own


def last_seen(episodes: Iterable[Any]) -> list[Any]:
    """The last observation of each agent's episode."""
    return [
        data[-1]
        if type(episode) is SingleAgentEpisode and type(data := episode.observations._data) is list
        else episode.get_observations(-1)
        for episode in episodes
    ]


def write_all_last(episodes: Sequence[Any], observations: Iterable[Any], space: Any) -> None:
    """Replace the last observations of episodes of one agent, as `write_last` does for each.

    Args:
        episodes: Changed in place.
        observations: One for each.
        space: Their space, or None to keep what the episodes have.
    """
    for episode, observation in zip(episodes, observations, strict=True):
        if type(episode) is SingleAgentEpisode:
            buffer = episode.observations
            if type(buffer._data) is list:
                if space is not None and (
                    buffer._space is not space or episode._observation_space is not space
                ):
                    episode.observation_space = space
                buffer._data[-1] = observation
                continue
        write_last(episode, observation, space)
