"""What legacy policies look at beside observations, into the batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gymnasium.spaces import Space
from typing_extensions import override

from ...core import nest
from ...core.columns import Columns
from ...core.trust import trust
from ...legacy.connectors.types import AgentConnectorsOutput
from ...v2.connectors.batch_items import key_of, single_agent_episode_iterator
from ...v2.connectors.connector import ConnectorV2
from .step_records import carried


@trust
class LegacyColumnsV2(ConnectorV2):
    """Adds the columns of several wrapped policies, behind the piece that adds observations.

    The batch of several modules goes by its first column, so that one must hold all agents. For
    each module id, `columns` has the batch's names of columns by the policy's views. The
    observations of `stacked` modules are more than the last one.
    """

    def __init__(
        self,
        input_observation_space: Space[Any] | None = None,
        input_action_space: Space[Any] | None = None,
        *,
        columns: Mapping[str, Mapping[str, str]],
        stacked: Sequence[str] = (),
    ) -> None:
        super().__init__(input_observation_space, input_action_space)
        self.columns = columns
        self.stacked = stacked

    @override
    def __call__(
        self,
        *,
        batch: dict[str, Any],
        episodes: Sequence[Any],
        shared_data: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        for episode in single_agent_episode_iterator(episodes):
            output = carried(shared_data, episode)
            view_columns = self.columns.get(episode.module_id, {})
            add_view_columns(
                batch, episode, output, view_columns, episode.module_id in self.stacked
            )
        return batch


def add_view_columns(
    batch: dict[str, Any],
    episode: Any,
    output: Any,
    columns: Mapping[str, str],
    is_stacked: bool,
) -> None:
    """Add what a policy looks at beside the last observation of an episode.

    `columns` has the batch's names by the policy's views. Before the policy's agent connectors are
    at their end, there is nothing to do. With `is_stacked` what it takes as observation is another
    one, too.
    """
    if not isinstance(output, AgentConnectorsOutput):
        return
    key, built = key_of(episode), output.sample_batch
    for view, column in columns.items():
        if view in built:
            batch.setdefault(column, {})[key] = [nest.taken(built[view], 0)]
    if is_stacked:
        batch.setdefault(Columns.OBS, {})[key] = [nest.taken(built[Columns.OBS], 0)]
