"""Sample files of the old stack, in every form they were written in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from typing_extensions import Self

from ...core.data.budget import Budget, Limits
from ...core.errors import RlconnectError
from ...legacy.batches.multi_agent_batch import MultiAgentBatch
from ...legacy.batches.sample_batch import SampleBatch
from ..damaged import Damage
from ..recordings import PROBABILITIES, Recording, Recordings
from .json_lines import first_lines, read_lines, text_among
from .old_batches import batch_of, is_batch
from .old_episodes import Episode, EpisodeGatherer, recording_of_rows, recordings_of_rows
from .places import Place
from .tables import read_rows, tables_among, writer_of

_Batch = SampleBatch | MultiAgentBatch
_Made = tuple[_Batch, bool, list[RlconnectError]]

_WATCHED: Final = frozenset(
    {"obs", "new_obs", "actions", "rewards", "dones", "terminateds", "truncateds", "eps_id"}
    | {"agent_index", "t", "type", *PROBABILITIES}
)
"""Columns that a policy looks at which watches, and those that say whose rows they are."""

_WATCHED_MEMBERS: Final = frozenset(name.encode() for name in (*_WATCHED, "policy_batches"))


class OldReader:
    """Batches by line."""

    def __init__(self, found: list[Place], limits: Limits, is_table: bool = False) -> None:
        self.format = "sample-batch-parquet" if is_table else "sample-batch-json"
        self.found = found
        self._limits = limits
        self._read: Any = partial(read_lines, wanted=())
        self._read_watched: Any = partial(read_lines, wanted=_WATCHED_MEMBERS)
        if is_table:
            self._read = self._read_watched = partial(read_rows, as_lists=True)

    @classmethod
    def of(cls, found: list[Place], limits: Limits, columns: Mapping[str, str]) -> Self | None:
        """A reader of these files, or None if none of them has a batch in it."""
        tables, names = tables_among(found)
        if "type" in names:
            return cls(tables, limits, True)
        text = text_among(found)
        firsts = first_lines(text, limits, lambda line, _: is_batch(line), ())
        return cls(text, limits) if any(firsts) else None

    def lines(self, damage: Damage, *, only_watched: bool = False) -> Iterator[tuple[_Batch, bool]]:
        """Each batch, and whether its infos are those of the steps taken from its rows."""
        read = self._read_watched if only_watched else self._read
        make = _watched_batch if only_watched else _batch_and_infos
        for place in self.found:
            for number, (batch, is_old, left_out) in read(place, self._limits, damage, make):
                for error in left_out:
                    damage.note(place.name, number, error)
                yield batch, is_old

    def batches(self, damage: Damage) -> Iterator[_Batch]:
        """One batch a line."""
        for batch, _ in self.lines(damage):
            yield batch

    def episodes(self, damage: Damage) -> Iterator[Episode]:
        """The episodes that the rows of all lines make."""
        yield from EpisodeGatherer(damage).gather(self.lines(damage))

    def recordings(self, damage: Damage) -> Iterator[Episode | Recording | Recordings]:
        """The same, those of one agent as arrays at once; columns that nobody watches unread."""
        yield from EpisodeGatherer(damage, recording_of_rows, recordings_of_rows).gather(
            self.lines(damage, only_watched=True)
        )

    def facts(self, damage: Damage) -> dict[str, Any]:
        """Columns and counts."""
        columns: dict[str, None] = {}
        ids: set[Any] = set()
        rows = 0
        for batch in self.batches(damage):
            rows += batch.count
            for part in parts_of(batch):
                columns.update(dict.fromkeys(part))
                if "eps_id" in part:
                    ids.update(part["eps_id"].tolist())
        counts = {"rows": rows, "episodes": len(ids)}
        writer = writer_of(self.found) if self.format == "sample-batch-parquet" else None
        return {"written_by": writer, "columns": [*columns], "counts": counts}


def parts_of(batch: _Batch) -> Iterable[SampleBatch]:
    """The batches of all policies; of a single agent the batch itself."""
    return batch.policy_batches.values() if isinstance(batch, MultiAgentBatch) else [batch]


def _batch_and_infos(record: Mapping[str, Any], budget: Budget) -> _Made:
    parts = [*(record.get("policy_batches") or {}).values(), record]
    is_old = any(isinstance(part, Mapping) and "dones" in part for part in parts)
    left_out: list[RlconnectError] = []
    return batch_of(record, budget, left_out), is_old, left_out


def _watched_batch(record: Mapping[str, Any], budget: Budget) -> _Made:
    parts = record.get("policy_batches")
    if not isinstance(parts, Mapping):
        return _batch_and_infos(_watched(record), budget)
    watched = {policy: _watched(part) for policy, part in parts.items()}
    return _batch_and_infos({**record, "policy_batches": watched}, budget)


def _watched(columns: Any) -> Any:
    if not isinstance(columns, Mapping) or columns.keys() <= _WATCHED:
        return columns
    return {name: each for name, each in columns.items() if name in _WATCHED}
