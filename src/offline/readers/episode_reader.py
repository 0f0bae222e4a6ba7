"""Episodes that the new stack recorded whole, packed with msgpack: one a row, or many a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from typing_extensions import Self

from ...core.data.budget import Budget, Limits, corrupt
from ...core.vault.decode.msgpack_file import decode_msgpack
from ...v2.algorithms.episode_files import SUFFIX, read_episodes
from ...v2.episodes.multi_agent import MultiAgentEpisode
from ...v2.episodes.single_agent import SingleAgentEpisode
from ...v2.recorded.episode_parquet import MAPPING
from ..damaged import Damage
from .episode_items import quick_state
from .of_episodes import ReaderOfEpisodes
from .old_episodes import Episode
from .places import Place
from .tables import read_rows, tables_among, writer_of


class OwnReader(ReaderOfEpisodes):
    """Files that `write_episodes` of the new stack wrote, many episodes in each."""

    format = "episode-msgpack"

    def __init__(self, found: list[Place]) -> None:
        self.found = found

    @classmethod
    def of(cls, found: list[Place], limits: Limits, columns: Mapping[str, str]) -> Self | None:
        """A reader of these files, or None if there is none of ours among them."""
        ours = [place for place in found if place.suffix == SUFFIX and not place.member]
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


class EpisodeReader(ReaderOfEpisodes):
    """Episodes by row of Parquet files.

    A runner whose buffer is never emptied writes an episode, or a piece of it, again and again:
    each comes once.
    """

    format = "episode-parquet"

    def __init__(self, found: list[Place], limits: Limits) -> None:
        self.found = found
        self._limits = limits

    @classmethod
    def of(cls, found: list[Place], limits: Limits, columns: Mapping[str, str]) -> Self | None:
        """A reader of these files, or None if the first that can be read has no episodes."""
        tables, names = tables_among(found)
        return cls(tables, limits) if "item" in names else None

    def episodes(self, damage: Damage) -> Iterator[Episode]:
        """Each episode, or piece of one, once."""
        known_pieces: set[tuple[Any, int]] = set()
        for place in self.found:
            for _, episode in read_rows(place, self._limits, damage, _episode_of):
                key = episode.id_, getattr(episode, "t_started", 0)
                if key not in known_pieces:
                    known_pieces.add(key)
                    yield episode

    def written_by(self, damage: Damage) -> str | None:
        """What the first file that tells says."""
        return writer_of(self.found)


def _episode_of(row: dict[str, Any], budget: Budget) -> Episode:
    item = row.get("item")
    if not isinstance(item, (bytes, str)):
        raise corrupt("this row has no packed episode", expected="bytes", found=item)
    data = item.encode() if isinstance(item, str) else item
    quick = quick_state(data, budget)
    if quick is not None:
        return _whole(SingleAgentEpisode.from_state(quick))
    state = decode_msgpack(data, budget)
    if not isinstance(state, dict):
        raise corrupt("this is no episode", expected="a map", found=state)
    if "agent_episodes" in state:
        mapping = MultiAgentEpisode().agent_to_module_mapping_fn
        return MultiAgentEpisode.from_state({**state, MAPPING: mapping}).to_numpy()
    outputs = state.get("extra_model_outputs") or {}
    for buffer in (state["observations"], state["actions"], *outputs.values()):
        _restore_tuples(buffer)
    return _whole(SingleAgentEpisode.from_state(state)).to_numpy()


def _whole(episode: SingleAgentEpisode) -> SingleAgentEpisode:
    """The episode, if it has as many steps as it says, and they are told in plain values."""
    outcomes = (episode.is_terminated, episode.is_truncated)
    if not isinstance(episode.id_, (str, int)) or any(map(np.shape, outcomes)):
        raise corrupt("this episode has an id or an outcome that is none", found=outcomes)
    if len(episode.rewards) != episode.t - episode.t_started:
        raise corrupt(
            "this episode has other steps than it says",
            expected=str(len(episode.rewards)),
            found=f"{episode.t_started} to {episode.t}",
        )
    return episode


def _restore_tuples(buffer: dict[str, Any]) -> None:
    """Let items of Tuple spaces be tuples again: msgpack knows lists only."""

    def as_tuples(item: Any) -> Any:
        if isinstance(item, dict):
            return {key: as_tuples(part) for key, part in item.items()}
        return tuple(map(as_tuples, item)) if isinstance(item, (list, tuple)) else item

    data = buffer["data"]
    buffer["data"] = as_tuples(data) if buffer["finalized"] else [*map(as_tuples, data)]
