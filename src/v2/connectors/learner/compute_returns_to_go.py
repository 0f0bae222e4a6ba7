"""Discounted returns from each step on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Space
from typing_extensions import override

from ....core.arrays.returns import discount_cumsum
from ....core.columns import Columns
from ..batch_items import add_n_batch_items, single_agent_episode_iterator
from ..connector import ConnectorV2


class ComputeReturnsToGo(ConnectorV2):
    """Add `returns_to_go`: what is earned from each step to the end of its episode.

    Args:
        input_observation_space: Of what comes in.
        input_action_space: Of what comes in.
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
