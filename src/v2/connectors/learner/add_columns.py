"""What happened in episodes into the train batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from typing_extensions import override

from ....core.columns import Columns
from ..batch_items import add_n_batch_items, single_agent_episode_iterator
from ..connector import ConnectorV2

_STATES: Final = (Columns.STATE_IN, Columns.STATE_OUT)


class AddColumnsFromEpisodesToTrainBatch(ConnectorV2):
    """Add actions, rewards, done flags and all outputs of the module but its states.

    Columns that are there already are left alone.
    """

    @override
    def __call__(
        self, *, batch: dict[str, Any], episodes: Sequence[Any], **kwargs: Any
    ) -> dict[str, Any]:
        present = {*batch, *_STATES}
        missing = [(name, give) for name, give in _GIVERS if name not in present]
        for episode in single_agent_episode_iterator(episodes, agents_that_stepped_only=False):
            steps = len(episode)
            for name, give in missing:
                add_n_batch_items(batch, name, give(episode), steps, episode)
            for name in episode.extra_model_outputs:
                if name not in present:
                    outputs = episode.get_extra_model_outputs(name)
                    add_n_batch_items(batch, name, outputs, steps, episode)
        return batch


def last_flag(is_ended: bool, steps: int) -> list[bool]:
    """A flag for each step: False but for the last one."""
    return [False] * (steps - 1) + [bool(is_ended)] * (steps > 0)


_GIVERS: Final[tuple[tuple[str, Callable[[Any], Any]], ...]] = (
    (Columns.ACTIONS, lambda episode: episode.get_actions()),
    (Columns.REWARDS, lambda episode: episode.get_rewards()),
    (Columns.TERMINATEDS, lambda episode: last_flag(episode.is_terminated, len(episode))),
    (Columns.TRUNCATEDS, lambda episode: last_flag(episode.is_truncated, len(episode))),
)
