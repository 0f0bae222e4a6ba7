"""Episodes that `write_episodes` of the new stack wrote: many in a msgpack document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from typing_extensions import Self

from ...core.data.budget import Limits
from ...v2.algorithms.episode_files import SUFFIX, read_episodes
from ..damaged import Damage
from .of_episodes import ReaderOfEpisodes
from .old_episodes import Episode
from .places import Place


class OwnReader(ReaderOfEpisodes):
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
            episodes: list[Episode] = []
            with damage.passing_over(place.name):
                episodes = read_episodes(place.path)
            yield from (episode.to_numpy() for episode in episodes)

    def written_by(self, damage: Damage) -> str:
        """This library."""
        return "rlconnect"
