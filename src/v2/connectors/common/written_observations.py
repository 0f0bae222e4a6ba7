"""Write a changed observation back into its episode, with the space it has now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from gymnasium import spaces
from typing_extensions import override

from ....core.columns import Columns
from ....core.errors import PieceError
from ...episodes.single_agent import SingleAgentEpisode
from ..batch_items import single_agent_episode_iterator
from ..connector import ConnectorV2

_ALONE: Final = frozenset({SingleAgentEpisode})
_LISTS: Final = frozenset({list})


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
    listed = [*episodes]
    ids = [episode.agent_id for episode in listed]
    if ids.count(None) == len(ids):
        return {None: listed} if listed else {}
    grouped: dict[Any, list[Any]] = {}
    for agent_id, episode in zip(ids, listed, strict=True):
        grouped.setdefault(agent_id, []).append(episode)
    return grouped


class LastObservations:
    """The last observations of episodes of one agent, to be replaced together.

    Args:
        episodes: Of single agents.

    Attributes:
        seen: The last observation of each.

    Example:
        >>> episode = SingleAgentEpisode()
        >>> episode.add_env_reset(observation=1)
        >>> last = LastObservations([episode])
        >>> last.replace([observation + 1 for observation in last.seen], space=None)
        >>> episode.get_observations()
        [2]
    """

    __slots__ = ("_episodes", "_lists", "seen")

    def __init__(self, episodes: Sequence[Any]) -> None:
        self._episodes = episodes
        self._lists = running_lists(episodes)
        if self._lists is None:
            self.seen = [episode.get_observations(-1) for episode in episodes]
        else:
            self.seen = [raw[-1] for raw in self._lists]

    def replace(self, observations: Iterable[Any], space: Any) -> None:
        """Write new ones, as `write_last` does for each.

        Args:
            observations: One for each episode.
            space: Their space, or None to keep what the episodes have.
        """
        if self._lists is None:
            for episode, observation in zip(self._episodes, observations, strict=True):
                write_last(episode, observation, space)
            return
        for raw, observation in zip(self._lists, observations, strict=True):
            raw[-1] = observation
        if space is None:
            return
        for episode in self._episodes:
            if episode.spaces[0] is not space or episode.observations.space is not space:
                episode.observation_space = space


def running_lists(episodes: Sequence[Any]) -> list[list[Any]] | None:
    """The very lists in which running episodes of one agent each keep their observations.

    Returns:
        None where an episode is of another class, or keeps them in arrays.
    """
    if not _ALONE.issuperset(map(type, episodes)):
        return None
    lists = [episode.observations.raw for episode in episodes]
    return lists if _LISTS.issuperset(map(type, lists)) else None


class WriteObservationsToEpisodes(ConnectorV2):
    """Write the observations of the batch into the episodes they came from, as the last ones."""

    @override
    def __call__(
        self, *, batch: dict[str, Any], episodes: Sequence[Any], **kwargs: Any
    ) -> dict[str, Any]:
        column = batch.get(Columns.OBS)
        if column is None:
            raise PieceError(
                f"{type(self).__name__} needs a column 'obs'",
                found=f"columns {sorted(map(str, batch))}",
                hint="put AddObservationsFromEpisodesToBatch before it.",
            )
        pairs = single_agent_episode_iterator(episodes, zip_with_batch_column=column)
        for episode, observation in pairs:
            write_last(episode, observation, own_space(self.observation_space, episode))
        return batch
