"""One step more for every episode, whose value is the one to bootstrap from."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from typing_extensions import override

from ....core.columns import Columns
from ...episodes.extra_step import add_extra_step
from ..batch_items import add_n_batch_items, is_multi_agent, single_agent_episode_iterator
from ..connector import ConnectorV2
from .add_columns import last_flag


class AddOneTsToEpisodesAndTruncate(ConnectorV2):
    """Append a step to each episode, and columns that tell it from the others.

    The step repeats the last observation, action and outputs, with zero reward. `loss_mask` is
    False for it. Running episodes become truncated, and all get a new id with a running number as
    suffix.
    """

    @override
    def __call__(
        self,
        *,
        batch: dict[str, Any],
        episodes: Sequence[Any],
        shared_data: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        prolong(episodes)
        add_flags(batch, episodes)
        if shared_data is not None:
            shared_data["_added_loss_mask_for_valid_episode_ts"] = True
        return batch


def prolong(episodes: Sequence[Any]) -> None:
    """Assign a new id to every episode, and add one step to those that have steps."""
    agents = count()  # As in RLlib: through all episodes.
    for number, episode in enumerate(episodes):
        episode.id_ += f"_{number}"
        if is_multi_agent(episode):
            for single in episode.agent_episodes.values():
                single.id_ += f"_{next(agents)}"
                single.multi_agent_episode_id = episode.id_
    add_one_ts_to_episodes_and_truncate(episodes)


def add_flags(batch: dict[str, Any], episodes: Sequence[Any]) -> None:
    """Add the columns that mark the appended step."""
    for episode in single_agent_episode_iterator(episodes, agents_that_stepped_only=False):
        steps = len(episode) - 1
        if steps < 0:
            continue
        flags = {
            Columns.LOSS_MASK: [True] * steps,
            Columns.TERMINATEDS: last_flag(episode.is_terminated, steps),
            Columns.TRUNCATEDS: last_flag(episode.is_truncated, steps),
        }
        for column, items in flags.items():
            add_n_batch_items(batch, column, [*items, False], steps + 1, episode)


def add_one_ts_to_episodes_and_truncate(episodes: Sequence[Any]) -> list[bool]:
    """Append a copy of the last step to each episode, and truncate those that are not done.

    Args:
        episodes: Changed in place; those without a step are left alone.

    Returns:
        Whether each was truncated before.
    """
    singles = list(single_agent_episode_iterator(episodes, agents_that_stepped_only=False))
    was_truncated = [bool(single.is_truncated) for single in singles]
    stepped = [single for single in singles if len(single)]
    add_extra_step(stepped)
    for single in stepped:
        if not single.is_done:
            single.is_truncated = True
    return was_truncated


def remove_last_ts_from_episodes_and_restore_truncateds(
    episodes: Sequence[Any], orig_truncateds: Sequence[bool]
) -> None:
    """Take back what `add_one_ts_to_episodes_and_truncate` did.

    Args:
        episodes: Changed in place.
        orig_truncateds: What it returned.
    """
    walked = single_agent_episode_iterator(episodes, agents_that_stepped_only=False)
    for episode, is_truncated in zip(walked, orig_truncateds, strict=True):
        if not len(episode):
            continue
        columns = (episode.observations, episode.infos, episode.actions, episode.rewards)
        for column in (*columns, *episode.extra_model_outputs.values()):
            column.pop()
        episode.t -= 1
        episode.is_truncated = is_truncated
