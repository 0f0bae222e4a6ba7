"""Learner connectors that reward what was seldom seen."""

from __future__ import annotations

import abc
from collections import Counter, deque
from typing import Any

import numpy as np
from typing_extensions import override

from ...v2.connectors.connector import ConnectorV2


class _IntrinsicReward(ConnectorV2):
    """Adds a reward for each observation that was acted on."""

    def __init__(
        self,
        input_observation_space: Any = None,
        input_action_space: Any = None,
        *,
        intrinsic_reward_coeff: float = 1.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_observation_space, input_action_space)
        self.intrinsic_reward_coeff = intrinsic_reward_coeff

    @override
    def __call__(
        self,
        *,
        rl_module: Any = None,
        batch: dict[str, Any],
        episodes: Any = None,
        explore: bool | None = None,
        shared_data: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        for episode in self.single_agent_episode_iterator(episodes, agents_that_stepped_only=False):
            observations = list(episode.get_observations(slice(0, len(episode))))
            earned = np.asarray(episode.get_rewards(), np.float32)
            more = self.intrinsic_reward_coeff * np.asarray(self._novelty(observations), np.float32)
            episode.set_rewards(new_data=list(earned + more), at_indices=slice(0, len(episode)))
        return batch

    @abc.abstractmethod
    def _novelty(self, seen: list[Any]) -> list[float]:
        """How new each of some observations is."""


class CountBasedCuriosity(_IntrinsicReward):
    """Rewards an observation by how often it was seen: 1, 1/2, 1/3, ...

    Args:
        input_observation_space: The observations'.
        input_action_space: The actions'.
        intrinsic_reward_coeff: How much that weighs.
    """

    def __init__(self, *spaces: Any, **settings: Any) -> None:
        super().__init__(*spaces, **settings)
        self._counts: Counter[bytes] = Counter()

    @override
    def _novelty(self, observations: list[Any]) -> list[float]:
        novelty = []
        for each in observations:
            key = np.asarray(each).tobytes()
            self._counts[key] += 1
            novelty.append(1.0 / self._counts[key])
        return novelty


class EuclidianDistanceBasedCuriosity(_IntrinsicReward):
    """Rewards an observation by its distance from the nearest of those kept.

    Of each episode the observation furthest away is kept.

    Args:
        input_observation_space: The observations'.
        input_action_space: The actions'.
        intrinsic_reward_coeff: How much that weighs.
        max_buffer_size: How many are kept, the latest.
    """

    def __init__(self, *spaces: Any, max_buffer_size: int = 100, **settings: Any) -> None:
        super().__init__(*spaces, **settings)
        self.obs_buffer: deque[Any] = deque(maxlen=max_buffer_size)

    @override
    def _novelty(self, observations: list[Any]) -> list[float]:
        rows = np.stack(observations).reshape(len(observations), -1)
        if self.obs_buffer:
            earlier = np.stack(self.obs_buffer).reshape(len(self.obs_buffer), -1)
            distances = np.linalg.norm(rows[:, None] - earlier[None], axis=-1).min(axis=1)
        else:
            distances = np.zeros(len(rows))
        self.obs_buffer.append(observations[int(distances.argmax())])
        return list(distances)
