"""One step more for many episodes: where columns have room for it, only its row is written."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .lookback_buffer import InfiniteLookbackBuffer
from .single_agent import SingleAgentEpisode


def add_extra_step(episodes: Iterable[SingleAgentEpisode]) -> None:
    """Repeat the last step of each episode, with nothing earned.

    Args:
        episodes: Changed in place; each has a step.

    Example:
        >>> episode = SingleAgentEpisode(
        ...     observations=[0, 1], actions=[5], rewards=[2.0], len_lookback_buffer=0
        ... )
        >>> add_extra_step([episode])
        >>> episode.get_observations(), episode.get_actions(), episode.get_rewards()
        ([0, 1, 1], [5, 5], [2.0, 0.0])
    """
    array = np.ndarray
    for episode in episodes:
        columns: tuple[InfiniteLookbackBuffer, ...] = (
            episode.observations,
            episode.actions,
            episode.infos,
            *episode.extra_model_outputs.values(),
        )
        for column in columns:
            data, store = column.raw, column.store
            # Flat arrays with room, and lists, in place: a call for each takes twice as long.
            if type(store) is array and len(store) > (count := len(data)):
                store[count] = store[count - 1]
                column.raw = store if len(store) == count + 1 else store[: count + 1]
            elif type(data) is list:
                data.append(data[-1])
            else:
                column.repeat_last()
        rewards = episode.rewards
        data, store = rewards.raw, rewards.store
        if type(store) is array and store.dtype.kind == "f" and len(store) > (count := len(data)):
            store[count] = 0.0
            rewards.raw = store if len(store) == count + 1 else store[: count + 1]
        else:
            rewards.append(0.0)
        episode.t += 1
