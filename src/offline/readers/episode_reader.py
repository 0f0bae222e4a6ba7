"""Episodes that the new stack recorded whole, packed with msgpack: one a row, or many a file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgpack  # type: ignore[import-untyped]  # it has no types
import numpy as np
from typing_extensions import Self

from ...core.data.budget import Budget, Limits, corrupt
from ...core.vault.decode.load_limits import no_collection
from ...core.vault.decode.msgpack_file import array_in, decode_msgpack
from ...v2.algorithms.episode_files import SUFFIX, read_episodes
from ...v2.episodes.multi_agent import MultiAgentEpisode
from ...v2.episodes.single_agent import SingleAgentEpisode
from ...v2.recorded.episode_parquet import MAPPING
from ..damaged import Damage
from .of_episodes import ReaderOfEpisodes
from .old_episodes import Episode
from .places import Place
from .tables import read_rows, tables_among, writer_of

_UNFOLDED: Final = 80
"""Bytes of memory that one byte may become: an empty map with its place in a list."""
_LONGEST: Final = 1 << 16
_DTYPE: Final = re.compile(r"<[iuf][1248]|<f2|\|[iub]1")
_PLAIN: Final = {int: np.int64, float: np.float64, bool: np.bool_}
_COLUMNS: Final = ("observations", "actions", "rewards")


class _UnusualError(Exception):
    """It is left to the slower decoder."""


def quick_state(data: bytes, budget: Budget) -> dict[str, Any] | None:
    """The state of an episode with its columns as arrays; None where another has to look.

    `data` is a packed `SingleAgentEpisode.get_state()`.
    """
    if _UNFOLDED * len(data) > budget.left:
        return None
    longest = min(len(data), _LONGEST)
    bounds = {"max_array_len": longest, "max_map_len": longest, "max_ext_len": 0}
    try:
        with no_collection():
            state = msgpack.unpackb(data, raw=False, strict_map_key=True, **bounds)
            if not isinstance(state, dict) or any(not _is_open(state.get(n)) for n in _COLUMNS):
                return None
            outputs = state.get("extra_model_outputs") or {}
            if not isinstance(outputs, dict) or not all(map(_is_open, outputs.values())):
                return None
            columns: dict[str, Any] = {n: _buffer(state.pop(n), budget) for n in _COLUMNS}
            columns["extra_model_outputs"] = {
                n: _buffer(output, budget) for n, output in outputs.items()
            }
            state.pop("extra_model_outputs", None)
            infos = state.get("infos")
            if isinstance(infos, dict) and not any(infos["data"]):
                columns["infos"] = state.pop("infos")
            columns |= _plain(state, budget)
    except (ValueError, TypeError, KeyError, RecursionError, _UnusualError):
        return None
    budget.spend(16 * len(data), "an episode")
    return columns


def _is_open(buffer: Any) -> bool:
    """Whether it is a column as a list of items."""
    return (
        isinstance(buffer, dict)
        and not buffer.get("finalized", True)
        and isinstance(buffer.get("data"), list)
        and bool(buffer["data"])
    )


def _buffer(buffer: dict[str, Any], budget: Budget) -> dict[str, Any]:
    """A column of an episode whose items are arrays now."""
    items = _column(buffer.pop("data"))
    return {**_plain(buffer, budget), "data": items, "finalized": True}


def _column(items: list[Any]) -> Any:
    """Items as one array with a row for each, or dicts and tuples of such arrays."""
    kinds = set(map(type, items))
    if len(kinds) != 1:
        raise _UnusualError
    kind = kinds.pop()
    if kind is dict:
        first = items[0]
        if b"nd" in first or "nd" in first:
            return _joined(items, b"nd" if b"nd" in first else "nd")
        if any(item.keys() != first.keys() for item in items):
            raise _UnusualError
        return {key: _column([item[key] for item in items]) for key in first}
    if kind is list:
        width = len(items[0])
        if not width or any(len(item) != width for item in items):
            raise _UnusualError
        return tuple(_column([item[place] for item in items]) for place in range(width))
    if kind not in _PLAIN:
        raise _UnusualError
    return np.array(items, _PLAIN[kind])


def _joined(items: list[dict[Any, Any]], mark: str | bytes) -> Any:
    names: tuple[Any, ...] = ("type", "kind", "shape", "data")
    if isinstance(mark, bytes):
        names = tuple(name.encode() for name in names)
    type_, kind, shape, data = names
    first = items[0]
    code, sizes = first[type_], first.get(shape, [])
    if not isinstance(code, str) or not _DTYPE.fullmatch(code) or not isinstance(sizes, list):
        raise _UnusualError
    dtype = np.dtype(code)
    if not all(type(size) is int and 0 <= size < 1 << 31 for size in sizes) or len(sizes) > 8:
        raise _UnusualError
    width = int(np.prod(sizes, dtype=object)) * dtype.itemsize
    like = {**first, data: b""}
    parts = []
    for item in items:
        part = item.pop(data)
        item[data] = b""
        if item != like or type(part) is not bytes or len(part) != width:
            raise _UnusualError
        parts.append(part)
    if first.get(kind) or (bool(sizes) and not first[mark]):
        raise _UnusualError
    return np.frombuffer(bytearray().join(parts), dtype).reshape(len(items), *sizes)


def _plain(value: Any, budget: Budget) -> Any:
    """Values with their arrays, as the vault's decoder gives them."""
    if isinstance(value, dict):
        return array_in({key: _plain(part, budget) for key, part in value.items()}, budget)
    return [_plain(part, budget) for part in value] if isinstance(value, list) else value


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
