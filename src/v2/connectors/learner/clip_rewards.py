"""Rewards clipped before learning, as the old stack's `clip_rewards` does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from typing_extensions import override

from ....core.errors import ConfigError
from ....core.types import Array
from ..batch_items import single_agent_episode_iterator
from ..connector import ConnectorV2


class ClipRewards(ConnectorV2):
    """Replace the rewards of episodes by their sign, or clip them.

    It is the first piece of a learner pipeline, so that reported returns are computed from the
    environment's rewards.

    Args:
        sign: Keep only -1, 0 or 1.
        limit: Clip to [-limit, limit]; excludes `sign`.

    Example:
        >>> from rlconnect.v2 import SingleAgentEpisode
        >>> episode = SingleAgentEpisode(
        ...     observations=[0, 1], actions=[0], rewards=[5.0], len_lookback_buffer=0)
        >>> _ = ClipRewards(limit=1.0)(rl_module=None, batch={}, episodes=[episode])
        >>> episode.get_rewards()
        [1.0]
    """

    def __init__(
        self,
        input_observation_space: spaces.Space[Any] | None = None,
        input_action_space: spaces.Space[Any] | None = None,
        *,
        sign: bool = False,
        limit: float | None = None,
    ) -> None:
        super().__init__(input_observation_space, input_action_space)
        if sign and limit:
            raise ConfigError(
                f"{type(self).__name__} cannot clip to the sign and to a limit",
                hint="pass either sign=True or limit=...",
            )
        self.sign = sign
        self.limit = limit

    @override
    def __call__(
        self, *, batch: dict[str, Any], episodes: Sequence[Any], **kwargs: Any
    ) -> dict[str, Any]:
        if not (self.sign or self.limit):
            return batch
        for episode in single_agent_episode_iterator(episodes, agents_that_stepped_only=False):
            rewards = episode.get_rewards()
            if len(rewards):
                clipped = self._clipped(np.asarray(rewards))
                new: Any = clipped if episode.is_numpy else clipped.tolist()
                episode.set_rewards(new_data=new)
        return batch

    def _clipped(self, rewards: Array) -> Array:
        if self.sign:
            return np.asarray(np.sign(rewards))
        limit = self.limit
        assert limit is not None, "nothing is clipped without a limit"
        return np.asarray(np.clip(rewards, -limit, limit))
