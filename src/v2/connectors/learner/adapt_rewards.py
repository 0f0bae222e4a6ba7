"""Rewards of a changed environment as a module is to learn from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete, Space
from typing_extensions import override

from ....core.adapters import AdapterChain
from ....core.arrays.batching import BatchedNdArray
from ....core.columns import Columns
from ..batch_items import add_n_batch_items, single_agent_episode_iterator
from ..connector import ConnectorV2


class AdaptRewards(ConnectorV2):
    """Takes rewards through an adapter, in a learner pipeline.

    Before the piece that adds rewards to the train batch it adds them, adapted; behind it, it
    changes them. Episodes keep what the environment gave, and so do the metrics.

    Args:
        chain: The adapter, or its data. Only its steps on rewards count here.

    Example:
        >>> from rlconnect.core.adapters import Scale
        >>> from rlconnect.v2 import SingleAgentEpisode
        >>> episode = SingleAgentEpisode(
        ...     id_="e0", observations=[0, 1], actions=[0], rewards=[4.0], len_lookback_buffer=0
        ... )
        >>> piece = AdaptRewards(chain=AdapterChain(reward=[Scale(0.5)]))
        >>> piece(rl_module=None, batch={}, episodes=[episode])
        {'rewards': {('e0',): [BatchedNdArray([2.])]}}
    """

    def __init__(
        self,
        input_observation_space: Space[Any] | None = None,
        input_action_space: Space[Any] | None = None,
        *,
        chain: AdapterChain | Mapping[str, Any],
    ) -> None:
        super().__init__(input_observation_space, input_action_space)
        self.chain = chain if isinstance(chain, AdapterChain) else AdapterChain.from_data(chain)
        anything = Discrete(2)  # a reward's steps look at no other space
        self._adapt = AdapterChain(reward=self.chain.reward).bind(anything, anything).reward

    @override
    def __call__(
        self, *, batch: dict[str, Any], episodes: Sequence[Any], **kwargs: Any
    ) -> dict[str, Any]:
        held = batch.get(Columns.REWARDS)
        if held is None:
            for episode in single_agent_episode_iterator(episodes, agents_that_stepped_only=False):
                rewards = self._adapt(np.asarray(episode.get_rewards(), np.float64))
                add_n_batch_items(batch, Columns.REWARDS, rewards, len(episode), episode)
        elif isinstance(held, Mapping):
            batch[Columns.REWARDS] = {
                key: [self._adapted(item) for item in items] for key, items in held.items()
            }
        else:
            items = [self._adapted(item) for item in held]
            batch[Columns.REWARDS] = items if isinstance(held, list) else np.stack(items)
        return batch

    def _adapted(self, rewards: Any) -> Any:
        """One reward, or those of many steps."""
        adapted = self._adapt(np.asarray(rewards))
        return adapted.view(BatchedNdArray) if isinstance(rewards, BatchedNdArray) else adapted

    @override
    def get_ctor_args_and_kwargs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments, the adapter as plain data."""
        args, kwargs = super().get_ctor_args_and_kwargs()
        return args, {**kwargs, "chain": self.chain.to_data()}
