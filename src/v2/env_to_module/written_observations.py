"""Write a changed observation back into its episode, with the space it has now."""

from __future__ import annotations

from typing import Any

from gymnasium import spaces


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
