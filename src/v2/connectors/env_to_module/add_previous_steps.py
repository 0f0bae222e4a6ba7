"""Columns of what was done and earned one step before, for modules that look at them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from typing_extensions import override

from ....core import nest
from ....core.errors import PieceError
from ....core.formulas.actions import get_base_struct_from_space
from ....core.spaces.walk import zeros_like
from ....core.step.part import Contribution
from ....core.step.recall import Column, Look
from ....core.types import Nest
from ..batch_items import add_batch_item, single_agent_episode_iterator
from ..common.written_observations import own_space
from ..connector import ConnectorV2


class AddPreviousSteps(ConnectorV2):
    """Add each agent's last action and reward as columns; zeros before its first step.

    `PrevActionsPrevRewards` puts them into observations instead, one-hot; here they stay as they
    are, for modules that take them by themselves.

    Args:
        input_action_space: Of actions; by agent id for several agents.
        actions: The column of actions; None leaves it out.
        rewards: The column of rewards; None leaves it out.

    Example:
        >>> from rlconnect.v2 import SingleAgentEpisode
        >>> episode = SingleAgentEpisode(id_="e0")
        >>> episode.add_env_reset(observation=7)
        >>> piece = AddPreviousSteps(input_action_space=spaces.Discrete(2), rewards=None)
        >>> piece(rl_module=None, batch={}, episodes=[episode])
        {'prev_actions': {('e0',): [array(0)]}}
    """

    def __init__(
        self,
        input_observation_space: spaces.Space[Any] | None = None,
        input_action_space: spaces.Space[Any] | None = None,
        *,
        actions: str | None = "prev_actions",
        rewards: str | None = "prev_rewards",
    ) -> None:
        super().__init__(input_observation_space, input_action_space)
        self.actions = actions
        self.rewards = rewards

    @override
    def __call__(
        self, *, batch: dict[str, Any], episodes: Sequence[Any], **kwargs: Any
    ) -> dict[str, Any]:
        for episode in single_agent_episode_iterator(episodes):
            has_stepped = episode.rewards.len_incl_lookback() > 0
            if self.actions is not None:
                last = episode.get_actions(-1) if has_stepped else self._zeros(episode)
                add_batch_item(batch, self.actions, last, episode)
            if self.rewards is not None:
                earned = episode.get_rewards(-1) if has_stepped else 0.0
                add_batch_item(batch, self.rewards, np.float32(earned), episode)
        return batch

    def part(self) -> Contribution:
        """Return the added columns of a single agent as data."""
        columns, looks = [], []
        if self.actions is not None:
            columns.append(Column("actions", 1, zeros_like(self.input_action_space)))
            looks.append(Look(self.actions, "actions"))
        if self.rewards is not None:
            columns.append(Column("rewards", 1, np.float32(0)))
            looks.append(Look(self.rewards, "rewards"))
        return Contribution(columns=tuple(columns), looks=tuple(looks))

    def _zeros(self, episode: Any) -> Nest:
        space = own_space(self.input_action_space, episode)
        if space is None:
            raise PieceError(
                f"{type(self).__name__} does not know the action space",
                hint="set input_action_space of the piece or its pipeline.",
            )
        return nest.map_structure(
            lambda leaf: np.zeros(leaf.shape or (), leaf.dtype), get_base_struct_from_space(space)
        )
