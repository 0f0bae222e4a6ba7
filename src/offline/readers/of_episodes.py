"""What follows from a reader's episodes: batches, and what is to tell of them."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from typing import Any

from ...legacy.batches.multi_agent_batch import MultiAgentBatch
from ...legacy.batches.sample_batch import SampleBatch
from ..damaged import Damage
from ..episode_batches import batch_of, facts_of_episodes


class ReaderOfEpisodes(abc.ABC):
    """A reader of episodes: batches, and what is to tell of them, follow."""

    @abc.abstractmethod
    def episodes(self, damage: Damage) -> Iterator[Any]:
        """Every episode once."""

    def batches(self, damage: Damage) -> Iterator[SampleBatch | MultiAgentBatch]:
        """One batch an episode."""
        for number, episode in enumerate(self.episodes(damage)):
            yield batch_of(episode, number)

    def facts(self, damage: Damage) -> dict[str, Any]:
        """Columns and counts."""
        return facts_of_episodes(self.episodes(damage), self.written_by(damage))

    def written_by(self, damage: Damage) -> str | None:
        """What wrote the files, where they tell."""
        return None
