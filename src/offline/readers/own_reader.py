"""Episodes that `write_episodes` of the new stack wrote: many in a msgpack document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from typing_extensions import Self

from ...core.data.budget import Limits
from ...core.errors import RlconnectError
from ...legacy.batches.multi_agent_batch import MultiAgentBatch
from ...legacy.batches.sample_batch import SampleBatch
from ...v2.algorithms.episode_files import SUFFIX, read_episodes
from ..damaged import Damage
from ..episode_batches import batch_of, facts_of_episodes
from .old_episodes import Episode
from .places import Place


class OwnReader:
    """Episodes by file."""

    format = "episode-msgpack"

    def __init__(self, found: list[Place]) -> None:
        self.found = found

    @classmethod
    def of(cls, found: list[Place], limits: Limits, columns: Mapping[str, str]) -> Self | None:
        """A reader of these files, or None if there is none of ours among them."""
        ours = [each for each in found if each.suffix == SUFFIX and not each.member]
        return cls(ours) if ours else None

    def episodes(self, damage: Damage) -> Iterator[Episode]:
        """Each episode; a file is read as a whole."""
        for place in self.found:
            try:
                held = read_episodes(Path(place.path))
            except RlconnectError as error:
                damage.note(place.name, None, error)
                continue
            yield from (each.to_numpy() for each in held)

    def batches(self, damage: Damage) -> Iterator[SampleBatch | MultiAgentBatch]:
        """One batch an episode."""
        for number, episode in enumerate(self.episodes(damage)):
            yield batch_of(episode, number)

    def facts(self, damage: Damage) -> dict[str, Any]:
        """Columns and counts."""
        return facts_of_episodes(self.episodes(damage), "rlconnect")
