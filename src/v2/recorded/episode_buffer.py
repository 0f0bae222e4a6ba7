"""Recorded episodes from which steps, or short sequences of them, are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np
from typing_extensions import override

from ...core.errors import EpisodeError
from ..episodes.single_agent import SingleAgentEpisode
from ..replay.episode_replay_buffer import EpisodeReplayBuffer

Pick = tuple[str, int, int]
"""A stretch of an episode: its id, its first step, how many steps."""


class RecordedEpisodeBuffer(EpisodeReplayBuffer):
    """A replay buffer to which the same episodes may come again: those it holds are left out.

    A stretch that does not go on where its episode stands is an episode of its own, with the step
    it begins at in its id.

    Example:
        >>> buffer = RecordedEpisodeBuffer(capacity=100, batch_size_B=4, seed=0)
        >>> episode = SingleAgentEpisode("a", observations=[0, 1, 2], actions=[0, 1],
        ...     rewards=[1.0, 2.0], terminated=True, len_lookback_buffer=0)
        >>> buffer.add([episode, episode])
        >>> len(buffer), len(buffer.sample(sample_episodes=True))
        (2, 4)
    """

    @override
    def add(self, episodes: SingleAgentEpisode | Iterable[SingleAgentEpisode]) -> None:
        """Take episodes in; those it holds already, by id and first step, are left out."""
        new_episodes = [episodes] if isinstance(episodes, SingleAgentEpisode) else episodes
        super().add(self._new(new_episodes))

    def _new(self, episodes: Iterable[SingleAgentEpisode]) -> Iterator[SingleAgentEpisode]:
        coming: dict[str, tuple[int, int, bool]] = {}

        def stand(id_: str) -> tuple[int, int, bool] | None:
            """From where to where an episode is there, and whether it is over."""
            stretch = self._held.get(id_)
            if id_ in coming or stretch is None:
                return coming.get(id_)
            first = stretch.t_started + stretch.first
            return first, first + len(stretch), stretch.is_done

        for episode in episodes:
            id_, start, there = episode.id_, episode.t_started, stand(episode.id_)
            if there is not None:
                first, end, is_done = there
                if not first <= start <= end or (start == end and is_done):
                    id_ = f"{id_}@{start}"
                    there = stand(id_)
            if not len(episode) or (there is not None and start < there[1]):
                continue
            first = start if there is None else there[0]
            coming[id_] = first, start + len(episode), episode.is_done
            if id_ != episode.id_:
                episode = copy(episode)
                episode.id_ = id_
            yield episode

    def picked(self, picks: Sequence[Pick], *, is_sequence: bool) -> Any:
        """Return chosen stretches, in the form of what `sample` draws.

        Args:
            picks: Of which episodes, from where on, how many steps.
            is_sequence: Whether they are episodes; else single steps, the first of each.

        Raises:
            EpisodeError: It holds no such stretch.
        """
        for id_, first, steps in picks:
            if id_ not in self._held or first + steps > len(self._held[id_]):
                raise EpisodeError(f"there is no recorded episode {id_!r} to pick {steps} steps of")
        chosen = [(self._held[id_], int(first), int(steps)) for id_, first, steps in picks]
        if is_sequence:
            return self._as_sequences(chosen, 0)
        rows = np.array([stretch.rows[first] for stretch, first, _ in chosen], np.int64)
        ones = np.ones(len(rows), np.int64)
        return self._given(rows, ones, ones.astype(np.float32), 1.0, False, False, 0)
