"""Recorded episodes as an environment: a student learns in the states they went through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
from gymnasium.spaces import Space

from ...core import nest
from ...core.errors import EpisodeError
from ...offline.dataset import Dataset
from ...offline.recordings import Recording


class RecordedEnv(gym.Env[Any, Any]):
    """Goes through recorded episodes.

    Args:
        recordings: Gives the next episode.
        observation_space: Of what was recorded.
        action_space: Of what is done.
    """

    def __init__(
        self,
        recordings: Iterator[Recording],
        observation_space: Space[Any],
        action_space: Space[Any],
    ) -> None:
        self.observation_space, self.action_space = observation_space, action_space
        self._recordings = recordings
        self._episode: Any = None
        self._step = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Go on to the next episode."""
        super().reset(seed=seed)
        self._episode, self._step = next(self._recordings), 0
        return nest.taken(self._episode.observations, 0), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Give what came next."""
        episode, at = self._episode, self._step
        self._step = at + 1
        is_over = self._step == len(episode)
        is_end = is_over and episode.is_terminated
        obs = nest.taken(episode.observations, self._step)
        return obs, float(episode.rewards[at]), is_end, is_over and not is_end, {}


def over_and_over(data: Dataset) -> Iterator[Recording]:
    """The episodes of a dataset, read anew when all were given.

    Raises:
        EpisodeError: There is none.
    """
    while True:
        has_any = False
        for recording in data.recordings():
            if len(recording):
                has_any = True
                yield recording
        if not has_any:
            raise EpisodeError("nobody can learn from no episodes", found=f"none in {data!r}")
