"""Readers of episodes: batches and facts are made of the episodes."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from typing import Any

from ...legacy.batches.multi_agent_batch import MultiAgentBatch
from ...legacy.batches.sample_batch import SampleBatch
from ..damaged import Damage
from ..episode_batches import batch_of


class ReaderOfEpisodes(abc.ABC):
    """A reader that gives episodes; it makes batches and facts of them."""

    @abc.abstractmethod
    def episodes(self, damage: Damage) -> Iterator[Any]:
        """Every episode once."""

    def batches(self, damage: Damage) -> Iterator[SampleBatch | MultiAgentBatch]:
        """One batch an episode."""
        for number, episode in enumerate(self.episodes(damage)):
            yield batch_of(episode, number)

    def facts(self, damage: Damage) -> dict[str, Any]:
        """Columns and counts."""
        columns = dict.fromkeys(("obs", "actions", "rewards", "infos"))
        ids: set[str] = set()
        rows = 0
        for episode in self.episodes(damage):
            rows += len(episode)
            ids.add(episode.id_)
            for agent in getattr(episode, "agent_episodes", {"": episode}).values():
                columns |= dict.fromkeys(agent.extra_model_outputs)
        counts = {"rows": rows, "episodes": len(ids)}
        return {"written_by": self.written_by(damage), "columns": [*columns], "counts": counts}

    def written_by(self, damage: Damage) -> str | None:
        """What wrote the files, where they tell."""
        return None
