"""Observations from episodes into the batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import override

from ....core.columns import Columns
from ....core.errors import PieceError
from ..batch_items import add_batch_item, add_n_batch_items, single_agent_episode_iterator
from .from_episodes import FromEpisodes


class AddObservationsFromEpisodesToBatch(FromEpisodes):
    """Add the last observation of each agent that stepped; for learners all but the last.

    A column of observations that is there already is left alone.

    Args:
        input_observation_space: Of what comes in.
        input_action_space: Of what comes in.
        as_learner_connector: Whether the batch is a train batch. Episodes then get ids of their
            own: a running number is appended to those without an underscore.

    Example:
        >>> from rlconnect.v2 import SingleAgentEpisode
        >>> episode = SingleAgentEpisode(id_="e0")
        >>> episode.add_env_reset(observation=7)
        >>> AddObservationsFromEpisodesToBatch()(rl_module=None, batch={}, episodes=[episode])
        {'obs': {('e0',): [7]}}
    """

    @override
    def __call__(
        self, *, batch: dict[str, Any], episodes: Sequence[Any], **kwargs: Any
    ) -> dict[str, Any]:
        if Columns.OBS in batch:
            return batch
        if self.as_learner_connector:
            walked = single_agent_episode_iterator(episodes, agents_that_stepped_only=False)
            for number, episode in enumerate(walked):
                if "_" not in episode.id_:
                    episode.id_ += f"_{number}"
                steps = len(episode)
                seen = episode.get_observations(slice(0, steps))
                add_n_batch_items(batch, Columns.OBS, seen, steps, episode)
            return batch
        for episode in single_agent_episode_iterator(episodes):
            if episode.is_numpy and episode.observations.finalized:
                raise PieceError(
                    f"{type(self).__name__} takes running episodes; episode {episode.id_} is "
                    "turned into arrays already",
                    hint="call it before to_numpy(), or use as_learner_connector=True.",
                )
            add_batch_item(batch, Columns.OBS, episode.get_observations(-1), episode)
        return batch
