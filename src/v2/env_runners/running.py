"""The episodes that run in a vector of environments, and those that ended."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from typing_extensions import Self

from ...core.columns import DEFAULT_AGENT_ID, DEFAULT_MODULE_ID
from ...core.data.damage import at
from .episode_metrics import EndedEpisode


@dataclass
class Sums:
    """What an episode came to in the chunks that earlier calls returned."""

    length: int = 0
    total: float = 0.0
    seconds: float = 0.0

    def get_state(self) -> list[Any]:
        """Return all sums as plain values."""
        return [self.length, self.total, self.seconds]

    @classmethod
    def from_state(cls, state: Any) -> Self:
        """Make sums of what `get_state` gave."""
        return cls(*state)

    def add(self, episode: Any) -> None:
        """Add a chunk."""
        self.length += len(episode)
        self.total += float(episode.get_return())
        self.seconds += episode.get_duration_s()

    def ended(self) -> EndedEpisode:
        """What the whole episode came to."""
        by_agent, by_module = {DEFAULT_AGENT_ID: self.total}, {DEFAULT_MODULE_ID: self.total}
        return EndedEpisode(self.length, self.total, self.seconds, by_agent, by_module)


class Running(abc.ABC):
    """One running episode for each environment.

    An episode is pending from the end of the one before to its own first observation. What earlier
    calls returned of an episode counts towards its length and return.

    Args:
        num_envs: How many environments there are.
        keeps_chunks: Whether to keep what earlier calls returned, for `on_episode_end`.

    Attributes:
        pending: Which of them wait for their first observation.
        done: Those that ended since `take()`.
        chunks: What earlier calls returned of each.
    """

    SUMS: ClassVar[type[Sums]] = Sums

    def __init__(self, num_envs: int, *, keeps_chunks: bool = False) -> None:
        self._keeps_chunks = keeps_chunks
        self._episodes: list[Any] = [self._new() for _ in range(num_envs)]
        self._before: list[Any] = [self.SUMS() for _ in range(num_envs)]
        self.pending = [True] * num_envs
        self.done: list[Any] = []
        self.chunks: list[list[Any]] = [[] for _ in range(num_envs)]

    @property
    def episodes(self) -> list[Any]:
        """The running ones, by environment."""
        return self._episodes

    @abc.abstractmethod
    def _new(self) -> Any:
        """An episode that waits for its first observation."""

    @abc.abstractmethod
    def _read(self, state: Mapping[str, Any]) -> Any:
        """An episode of its state."""

    def _written(self, episode: Any) -> dict[str, Any]:
        state: dict[str, Any] = episode.get_state()
        return state

    def _following(self, episode: Any, lookback: int) -> Any:
        """What goes on where an episode is handed over."""
        return episode.cut(len_lookback_buffer=lookback)

    @abc.abstractmethod
    def explain(self, error: Exception) -> None:
        """Look for the observation that modules could not act on.

        Args:
            error: What they raised.

        Raises:
            SpaceError: An observation has another shape than its space, or is not finite.
        """

    def end(self, index: int) -> EndedEpisode:
        """Put the episode of an environment to the ones done, and have the next one wait.

        Returns:
            What it came to, with what earlier calls returned of it.
        """
        return self.close(*self.replace(index))

    def replace(self, index: int) -> tuple[Any, Any]:
        """Have the next episode of an environment wait for its first observation.

        Returns:
            The one before, which is to be closed, and what earlier calls returned of it.
        """
        before = self._episodes[index], self._before[index]
        self._before[index] = self.SUMS()
        self.chunks[index] = []
        self._episodes[index] = self._new()
        self.pending[index] = True
        return before

    def close(self, episode: Any, sums: Any) -> EndedEpisode:
        """Put an episode that has all its steps to the ones done; see `replace`."""
        if len(episode):
            sums.add(episode)
            self.done.append(episode)
        ended: EndedEpisode = sums.ended()
        return ended

    def take(self, lookback: int | None) -> list[Any]:
        """Return the episodes that are done, and what there is of the running ones.

        Args:
            lookback: How many steps the running ones keep as look-back; None leaves them alone.
        """
        finished, self.done = self.done, []
        for index, episode in enumerate(self.episodes if lookback is not None else ()):
            if len(episode):
                self._before[index].add(episode)
                if self._keeps_chunks:
                    self.chunks[index].append(episode)
                finished.append(episode)
                self._episodes[index] = self._following(episode, lookback or 0)
        return finished

    def get_state(self) -> dict[str, Any]:
        """Return the running episodes, between two calls of `take()`."""
        return {
            "episodes": [self._written(episode) for episode in self.episodes],
            "pending": list(self.pending),
            "before": [sums.get_state() for sums in self._before],
            "chunks": [[self._written(chunk) for chunk in chunks] for chunks in self.chunks],
        }

    @at()
    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `get_state` gave."""
        self._episodes = [self._read(each) for each in state["episodes"]]
        self.pending = list(state["pending"])
        self._before = [self.SUMS.from_state(sums) for sums in state["before"]]
        self.chunks = [[self._read(each) for each in chunks] for chunks in state["chunks"]]
