"""Infos from episodes into the train batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import override

from ....core.columns import Columns
from ..batch_items import add_n_batch_items, single_agent_episode_iterator
from ..connector import ConnectorV2


class AddInfosFromEpisodesToTrainBatch(ConnectorV2):
    """Add the infos that came with each observation but the last."""

    @override
    def __call__(
        self, *, batch: dict[str, Any], episodes: Sequence[Any], **kwargs: Any
    ) -> dict[str, Any]:
        if Columns.INFOS in batch:
            return batch
        for episode in single_agent_episode_iterator(episodes, agents_that_stepped_only=False):
            steps = len(episode)
            infos = list(episode.get_infos(slice(0, steps)))
            add_n_batch_items(batch, Columns.INFOS, infos, steps, episode)
        return batch
