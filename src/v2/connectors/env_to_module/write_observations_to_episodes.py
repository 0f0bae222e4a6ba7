"""Observations from the batch back into episodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import override

from ....core.columns import Columns
from ....core.errors import PieceError
from ..batch_items import single_agent_episode_iterator
from ..common.written_observations import own_space, write_last
from ..connector import ConnectorV2


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
