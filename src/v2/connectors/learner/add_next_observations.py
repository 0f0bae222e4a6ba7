"""Next observations from episodes into the train batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import override

from ....core.columns import Columns
from ..batch_items import add_n_batch_items, single_agent_episode_iterator
from ..connector import ConnectorV2


class AddNextObservationsFromEpisodesToTrainBatch(ConnectorV2):
    """Add the observation after each step as `new_obs`."""

    @override
    def __call__(
        self, *, batch: dict[str, Any], episodes: Sequence[Any], **kwargs: Any
    ) -> dict[str, Any]:
        if Columns.NEXT_OBS in batch:
            return batch
        for episode in single_agent_episode_iterator(episodes, agents_that_stepped_only=False):
            steps = len(episode)
            observations = episode.get_observations(slice(1, steps + 1))
            add_n_batch_items(batch, Columns.NEXT_OBS, observations, steps, episode)
        return batch
