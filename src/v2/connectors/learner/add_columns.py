"""Add the data of episodes to the train batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from gymnasium.spaces import Space
from typing_extensions import override

from ....core.arrays.returns import discount_cumsum
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


class ComputeReturnsToGo(ConnectorV2):
    """Add `returns_to_go`: what is earned from each step to the end of its episode.

    Args:
        gamma: Discount per step.
    """

    def __init__(
        self,
        input_observation_space: Space[Any] | None = None,
        input_action_space: Space[Any] | None = None,
        *,
        gamma: float,
    ) -> None:
        super().__init__(input_observation_space, input_action_space)
        self.gamma = gamma

    @override
    def __call__(
        self, *, batch: dict[str, Any], episodes: Sequence[Any], **kwargs: Any
    ) -> dict[str, Any]:
        for episode in single_agent_episode_iterator(episodes, agents_that_stepped_only=False):
            returns = discount_cumsum(np.asarray(episode.get_rewards()), self.gamma)
            add_n_batch_items(batch, Columns.RETURNS_TO_GO, returns, len(episode), episode)
        return batch
