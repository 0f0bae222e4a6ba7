"""Sample files of the old stack, in every form they were written in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from typing_extensions import Self

from ..core.budget import Budget, Limits
from ..legacy.multi_agent_batch import MultiAgentBatch
from ..legacy.sample_batch import SampleBatch
from .damaged import Damage
from .json_lines import read_lines
from .old_batches import batch_of, is_batch
from .old_episodes import Episode, EpisodeGatherer
from .places import Place

_Batch = SampleBatch | MultiAgentBatch


class OldReader:
    """Batches by line.

    Args:
        found: The files.
        limits: Bounds for one line.
    """

    format = "sample-batch-json"

    def __init__(self, found: list[Place], limits: Limits) -> None:
        self._places = found
        self._limits = limits

    @classmethod
    def of(cls, found: list[Place], limits: Limits) -> Self | None:
        """A reader of these files, or None if none of them has a batch in it."""
        text = [each for each in found if each.suffix in (".json", ".jsonl", "")]
        for place in text:
            for _, known in read_lines(place, limits, Damage(), lambda line, _: is_batch(line)):
                if known:
                    return cls(text, limits)
                break
        return None

    def _lines(self, damage: Damage) -> Iterator[tuple[_Batch, bool]]:
        """Each batch, and whether its infos are those of the steps taken from its rows."""
        for place in self._places:
            for _, made in read_lines(place, self._limits, damage, _batch_and_infos):
                yield made

    def batches(self, damage: Damage) -> Iterator[_Batch]:
        """One batch a line."""
        for batch, _ in self._lines(damage):
            yield batch

    def episodes(self, damage: Damage) -> Iterator[Episode]:
        """The episodes that the rows of all lines make."""
        yield from EpisodeGatherer().gather(self._lines(damage))

    def facts(self, damage: Damage) -> dict[str, Any]:
        """Columns and counts."""
        columns: dict[str, None] = {}
        ids: set[Any] = set()
        rows = 0
        for batch in self.batches(damage):
            rows += batch.count
            for part in _parts(batch):
                columns.update(dict.fromkeys(part))
                if "eps_id" in part:
                    ids.update(part["eps_id"].tolist())
        counts = {"rows": rows, "episodes": len(ids)}
        return {"written_by": None, "columns": [*columns], "counts": counts}


def _parts(batch: _Batch) -> Iterator[Mapping[str, Any]]:
    yield from batch.policy_batches.values() if isinstance(batch, MultiAgentBatch) else [batch]


def _batch_and_infos(record: dict[str, Any], budget: Budget) -> tuple[_Batch, bool]:
    parts = [*(record.get("policy_batches") or {}).values(), record]
    is_old = any(isinstance(part, Mapping) and "dones" in part for part in parts)
    return batch_of(record, budget), is_old
