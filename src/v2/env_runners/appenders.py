"""Steps of many episodes added column by column."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

from ..episodes.single_agent import SingleAgentEpisode

Append: TypeAlias = Callable[[Any], None]

_nowhere: Final[Append] = deque[Any](maxlen=0).append


class Appenders:
    """What adds items to the columns of running episodes, in the way of `add_env_step`.

    An episode is learnt after its first step, when all its columns are there as lists; until then
    it is missing here, and its steps are added by itself. Nobody else may exchange its lists.

    Attributes:
        names: Of the extra model outputs.
        missing: The places of episodes that are not learnt.
    """

    def __init__(self, num_envs: int) -> None:
        self._num_envs = num_envs
        self.forget(())

    def forget(self, names: tuple[str, ...]) -> None:
        """Have all episodes missing; outputs will have these names."""
        self.names = names
        self.missing: set[int] = set(range(self._num_envs))
        self._episodes: dict[int, SingleAgentEpisode] = {}
        width = 4 + len(names)
        self._columns: list[list[Append]] = [[_nowhere] * self._num_envs for _ in range(width)]

    def forget_one(self, index: int) -> None:
        """Have one episode missing."""
        if index not in self.missing:
            self.missing.add(index)
            del self._episodes[index]
            for column in self._columns:
                column[index] = _nowhere

    def learn(self, index: int, episode: SingleAgentEpisode) -> None:
        """Take an episode that has made a step, if its columns are lists."""
        outputs = episode.extra_model_outputs
        buffers = (
            episode.observations,
            episode.actions,
            episode.rewards,
            episode.infos,
            *(outputs[name] for name in self.names),
        )
        if any(buffer.finalized for buffer in buffers):
            return
        for column, buffer in zip(self._columns, buffers, strict=True):
            column[index] = buffer.raw.append
        self._episodes[index] = episode
        self.missing.remove(index)

    def append(self, columns: Sequence[Iterable[Any]]) -> int:
        """Add a step to all episodes that are known.

        Args:
            columns: Observations, actions, rewards, infos and outputs; an item for each place.

        Returns:
            How many episodes that were.
        """
        for appends, items in zip(self._columns, columns, strict=True):
            for append, item in zip(appends, items, strict=False):
                append(item)
        for episode in self._episodes.values():
            episode.t += 1
        return len(self._episodes)
