"""Observations from episodes into the batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from typing_extensions import override

from ....core.columns import Columns
from ....core.errors import PieceError
from ....core.step.part import moves_numbers
from ....core.types import Nest
from ...episodes.gather import last_rows, last_rows_by_module
from ...episodes.multi_agent import MultiAgentEpisode
from ...episodes.single_agent import SingleAgentEpisode
from ..batch_items import add_batch_item, add_n_batch_items, single_agent_episode_iterator
from ..columnar import FromEpisodes, Work
from ..item_rows import by_module, joined
from ..piece_plan import Call
from ..table import NotColumnar, Rows, Table
from .batch_individual_items import BatchIndividualItems

_NO_ROWS: Final = "episodes are of several kinds, there twice, or arrays already"


class AddObservationsFromEpisodesToBatch(FromEpisodes):
    """Add the last observation of each agent that stepped; for learners, all but the last.

    An existing column of observations is not changed.

    Args:
        as_learner_connector: Whether the batch is a train batch. Episodes then get ids of their
            own: a running number is appended to those without an underscore.

    Example:
        >>> from rlconnect.v2 import SingleAgentEpisode
        >>> episode = SingleAgentEpisode(id_="e0")
        >>> episode.add_env_reset(observation=7)
        >>> AddObservationsFromEpisodesToBatch()(rl_module=None, batch={}, episodes=[episode])
        {'obs': {('e0',): [7]}}
    """

    MAKES_ROWS = TAKES_ROWS = True
    part = moves_numbers

    @override
    def columns(self, batch: dict[str, Any], call: Call) -> dict[str, Any]:
        if Columns.OBS in batch:
            return batch
        if self.as_learner_connector:
            walked = single_agent_episode_iterator(call.episodes, agents_that_stepped_only=False)
            for number, episode in enumerate(walked):
                if "_" not in episode.id_:
                    episode.id_ += f"_{number}"
                steps = len(episode)
                observations = episode.get_observations(slice(0, steps))
                add_n_batch_items(batch, Columns.OBS, observations, steps, episode)
            return batch
        for episode in single_agent_episode_iterator(call.episodes):
            if episode.is_numpy and episode.observations.finalized:
                raise PieceError(
                    f"{type(self).__name__} takes running episodes; episode {episode.id_} is "
                    "turned into arrays already",
                    hint="call it before to_numpy(), or use as_learner_connector=True.",
                )
            add_batch_item(batch, Columns.OBS, episode.get_observations(-1), episode)
        return batch

    @override
    def planned(self, following: Sequence[type]) -> Work:
        return self._in_rows if BatchIndividualItems in following else self.columns

    def _in_rows(self, batch: Any, call: Call) -> Table:
        if self.as_learner_connector:
            raise NotColumnar(_NO_ROWS)
        if type(batch) is not Table:
            if batch:
                raise NotColumnar(_NO_ROWS)
            return Table(latest_observations(call.episodes), given=batch)
        if batch.is_by_module:
            raise NotColumnar(_NO_ROWS)
        blocks = batch.blocks
        if not all(Columns.OBS in rows.columns for rows in blocks.values()):
            latest = latest_observations(call.episodes)
            if [(module_of, rows.keys) for module_of, rows in blocks.items()] != [
                (module_of, rows.keys) for module_of, rows in latest.items()
            ]:
                raise NotColumnar(_NO_ROWS)
            for module_id, rows in blocks.items():
                rows.columns[Columns.OBS] = latest[module_id].columns[Columns.OBS]
        return batch


def latest_observations(episodes: Sequence[Any]) -> dict[Any, Rows]:
    """The latest observations of all episodes, by module id; under None for a single agent.

    Raises:
        NotColumnar: There are no episodes, or not all of one kind.
    """
    if {*map(type, episodes)} != {MultiAgentEpisode}:
        ids, observations = latest_of_singles(episodes)
        if len({*ids}) < len(ids):
            raise NotColumnar(_NO_ROWS)
        return {None: Rows(ids, {Columns.OBS: observations})}
    grouped = last_rows_by_module(episodes)
    if grouped is not None:
        return {
            module_id: Rows(keys, {Columns.OBS: joined(items)})
            for module_id, (keys, items) in grouped.items()
        }
    last = last_rows(episodes)
    if last is None or len({*last[0]}) < len(last[0]):
        raise NotColumnar(_NO_ROWS)
    return by_module(last[0], {Columns.OBS: last[1]})


def latest_of_singles(episodes: Sequence[Any]) -> tuple[list[str], Nest]:
    """The ids of episodes of a single agent, and their latest observations.

    Raises:
        NotColumnar: There are none, or others among them.
    """
    ids: list[str] = []
    items: list[Any] = []
    for episode in episodes:
        if type(episode) is not SingleAgentEpisode or episode.agent_id is not None:
            raise NotColumnar(_NO_ROWS)
        column = episode.observations.raw
        if type(column) is not list or not column:
            raise NotColumnar(_NO_ROWS)
        ids.append(episode.id_)
        items.append(column[-1])
    if not ids:
        raise NotColumnar(_NO_ROWS)
    return ids, joined(items)
