"""Recorded data, whoever wrote it: what it is, as episodes, as batches; read piece by piece."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
from typing_extensions import Self

from ..core import nest
from ..core.data.budget import MIB, Limits, limits_in_force
from ..core.errors import UnknownFormatError
from ..core.text.visible import visible
from ..legacy.batches.multi_agent_batch import MultiAgentBatch, concat_samples
from ..legacy.batches.sample_batch import SampleBatch
from .damaged import Damage
from .readers.old_episodes import Episode
from .readers.places import Paths, Place, places
from .recordings import Recording, Recordings, recordings

_MOST_BYTES: Final = 64 * MIB
_SETTLED: Final = 2 * 10**9
"""Nanoseconds after which a file that is written again surely has another time."""


class KeptRecordings:
    """The last recordings that were read to their end, if they are not too large."""

    def __init__(self, found: list[Place]) -> None:
        self._found = found
        self._held: tuple[Any, list[Recordings], Damage] | None = None

    def again(self, policy: str) -> tuple[list[Recordings], Damage] | None:
        """Those of a policy's agents as they were read, with their damage; None to read them."""
        stored, now = self._held, (policy, self._files())
        if stored is None or stored[0] != now:
            return None
        return [_copied(part) for part in stored[1]], stored[2]

    def kept(self, policy: str, read: Iterator[Recordings], damage: Damage) -> Iterator[Recordings]:
        """What is read, kept when all of it was."""
        self._held, key, size = None, (policy, self._files()), 0
        latest = max((stamp[2] for stamp in key[1]), default=0)
        keeps = 0 < latest < time.time_ns() - _SETTLED
        parts: list[Recordings] = []
        for part in read:
            columns = (part.observations, part.actions, part.rewards, part.outputs)
            size += sum(leaf.nbytes for leaf in nest.flatten(columns))
            keeps = keeps and size <= _MOST_BYTES
            if keeps:
                parts.append(_copied(part))
            else:
                parts.clear()
            yield part
        if keeps and key == (policy, self._files()):
            alike = [list(each) for _, each in groupby(parts, lambda part: part.form)]
            self._held = key, list(map(Recordings.joined, alike)), damage

    def _files(self) -> list[tuple[str, int, int, int]]:
        """What tells files apart; of files that are gone nothing."""
        try:
            stats = [(str(place.path), place.path.stat()) for place in self._found]
        except OSError:
            return []
        return [(path, stat.st_size, stat.st_mtime_ns, stat.st_ino) for path, stat in stats]


def _copied(part: Recordings) -> Recordings:
    """The same with arrays of its own where connectors of a user's get at them."""
    obs, done = nest.map_structure(np.copy, (part.observations, part.actions))
    return replace(part, observations=obs, actions=done)


DATA_LIMITS: Final = Limits(
    max_json_bytes=512 * MIB, base_memory=128 * MIB, memory_factor=16, bytes_per_operation=1
)
"""Bounds for one line or one row of recorded data: observations are large and pack well."""


class Reader(Protocol):
    """One kind of data: reads files of it piece by piece."""

    format: str
    found: list[Place]

    def episodes(self, damage: Damage) -> Iterator[Episode]:
        """Every episode once."""

    def batches(self, damage: Damage) -> Iterator[SampleBatch | MultiAgentBatch]:
        """All rows, as many at a time as lie together."""

    def facts(self, damage: Damage) -> dict[str, Any]:
        """Columns, counts, and who wrote it."""


class FileReader(Reader, Protocol):
    """A reader that knows its files when it sees them."""

    @classmethod
    def of(cls, found: list[Place], limits: Limits, columns: Mapping[str, str]) -> Self | None:
        """A reader of these files, or None if none of them is of its kind."""


@runtime_checkable
class StepReader(Protocol):
    """A reader of files with a row for each step."""

    def steps(self, size: int, damage: Damage) -> Iterator[dict[str, Any]]:
        """Columns of so many rows at a time."""


@runtime_checkable
class RecordingReader(Protocol):
    """A reader that has episodes as arrays sooner than as episodes."""

    def recordings(self, damage: Damage) -> Iterator[Episode | Recording | Recordings]:
        """Every episode once."""


class Dataset:
    """Recorded data of one kind.

    Each call reads the files anew, and holds no more of them than one line or row at a time. What
    policies are judged by is kept, up to 64 MiB, until a file is another one by its size, time or
    inode; so the next policy is judged without reading.

    Args:
        reader: Knows the kind and the files.
        copies: What is there as long as the dataset is: copies of files behind a URL.
        keeps: Whether files are all that recordings depend on.
        beside: Data of another kind that lies beside it, which is not read.

    Example:
        >>> import json, tempfile
        >>> from pathlib import Path
        >>> rows = {"obs": [[0.0], [1.0]], "new_obs": [[1.0], [2.0]], "actions": [1, 0]}
        >>> rows |= {"rewards": [0.5, 1.0], "dones": [False, True], "eps_id": [7, 7]}
        >>> folder = tempfile.TemporaryDirectory()
        >>> path = Path(folder.name, "output.json")
        >>> _ = path.write_text(json.dumps({"type": "SampleBatch", **rows}))
        >>> data = open_dataset(path)
        >>> data.info()["counts"]
        {'rows': 2, 'episodes': 1}
        >>> [(episode.id_, episode.get_return()) for episode in data.episodes()]
        [('7', 1.5)]
        >>> folder.cleanup()
    """

    def __init__(
        self,
        reader: Reader,
        copies: ExitStack | None = None,
        *,
        keeps: bool = False,
        beside: Reader | None = None,
    ) -> None:
        self.reader = reader
        self._beside = beside
        self._kept = KeptRecordings(reader.found) if keeps else None
        # What `info` has counted; a repr reads nothing.
        self._counts: dict[str, int] = {}
        self._columns: list[str] = []
        self._close = weakref.finalize(self, (copies or ExitStack()).close)

    @property
    def format(self) -> str:
        """Of which kind it is: "sample-batch-json", "episode-parquet", ..."""
        return self.reader.format

    def _damage(self) -> Damage:
        """Collects damage; knows already of files that are not read at all."""
        damage = Damage()
        if self._beside is not None:
            files = self._beside.found
            message = (
                f"data of another kind, not read beside {self.format}: {self._beside.format}, "
                f"{len(files)} files; open it by itself"
            )
            damage.note(files[0].name, None, UnknownFormatError(message))
        return damage

    @property
    def has_rows(self) -> bool:
        """Whether its files have a row for each step, as `steps` gives them."""
        return isinstance(self.reader, StepReader)

    def __repr__(self) -> str:
        files = len(self.reader.found)
        facts = [f"{count:,} {what}" for what, count in self._counts.items()]
        facts.append(f"{files:,} file{'s' * (files != 1)}")
        facts += [f"columns {', '.join(self._columns)}"] * bool(self._columns)
        return visible(f"<Dataset {self.format}: {'; '.join(facts)}>")

    def _repr_html_(self) -> str:
        from ..core.pages.document import facts, inside

        places = [each.name for each in self.reader.found]
        lines = [("kind", self.format), ("files", f"{len(places):,}, the first {places[0]}")]
        lines += [(what, f"{count:,}") for what, count in self._counts.items()]
        lines += [("columns", ", ".join(self._columns))] * bool(self._columns)
        return inside(facts(lines))

    def info(self) -> dict[str, Any]:
        """What there is, from a reading of all of it.

        Returns:
            Its "format"; "written_by", None where no trace is left; the names of its "columns"; its
            "counts" of rows and episodes; what of it is "damaged", as file, line and why.
        """
        damage = self._damage()
        facts = self.reader.facts(damage)
        self._counts, self._columns = dict(facts["counts"]), list(facts["columns"])
        return {"format": self.format, **facts, "damaged": damage.found}

    def episodes(self) -> Iterator[Episode]:
        """Every episode once, numpy'd, in the order they end.

        Warns:
            DamagedDataWarning: Something could not be read; told at the end.
        """
        damage = self._damage()
        yield from self.reader.episodes(damage)
        damage.warn()

    def recordings(self, policy: str = "") -> Iterator[Recording]:
        """Every episode as arrays, each agent's by itself: what a policy watches.

        Args:
            policy: Whose agents, where episodes have several policies.

        Warns:
            DamagedDataWarning: Something could not be read; told at the end.
        """
        for several in self.recordings_at_once(policy):
            yield from several

    def recordings_at_once(self, policy: str = "", *, keep: bool = False) -> Iterator[Recordings]:
        """The same episodes, as many in one as lie together.

        Args:
            policy: Whose agents, where episodes have several policies.
            keep: Whether to keep them for the next such call, if the files are still the same.
        """
        store = self._kept if keep else None
        again = None if store is None else store.again(policy)
        if again is not None:
            parts, damage = again
            yield from parts
        else:
            damage, reader = self._damage(), self.reader
            episodes: Iterable[Episode | Recording | Recordings] = (
                reader.recordings(damage)
                if isinstance(reader, RecordingReader)
                else reader.episodes(damage)
            )
            read = recordings(episodes, policy)
            yield from read if store is None else store.kept(policy, read, damage)
        damage.warn()

    def steps(self, size: int) -> Iterator[dict[str, Any]]:
        """Steps as columns, up to `size` at a time: rows as they lie in files of rows.

        Args:
            size: How many at most.

        Raises:
            UnknownFormatError: The files do not hold steps one by one; they make episodes.

        Warns:
            DamagedDataWarning: Something could not be read; told at the end.
        """
        reader = self.reader
        if not isinstance(reader, StepReader):
            raise UnknownFormatError(
                f"data of the kind {self.format} has no rows of steps", hint="use data.episodes()."
            )
        damage = self._damage()
        yield from reader.steps(size, damage)
        damage.warn()

    def write(
        self,
        path: str | os.PathLike[str],
        format: str = "parquet",
        *,
        compress_columns: Collection[str] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Path:
        """Write all of it in another form, which RLlib or Minari reads.

        Files are put in place when they are whole; interrupted, the same call goes on.

        Args:
            path: A new folder.
            format: "parquet" (episodes of the new stack), "json" (batches of the old stack) or
                "minari".
            compress_columns: Of "json", which columns are packed; all but outcomes and ids.
            progress: Called with how many steps more were written.

        Raises:
            ConfigError: Something lies there, or the form has no place for the data.
            MissingExtraError: The form needs the extra `offline`.
        """
        from .writers.written import write

        return write(
            self.reader,
            self.told(),
            self.episodes(),
            Path(path),
            format,
            compress_columns=compress_columns,
            progress=progress,
        )

    def told(self) -> list[Any]:
        """Which files it is made of, and how large they are."""
        return [[place.name, place.path.stat().st_size] for place in self.reader.found]

    def through(self, policy: Any, **options: Any) -> Dataset:
        """See the data as a policy would have seen it, behind its connectors.

        Args:
            policy: A path, what `rlconnect.load` gave, a policy of either stack, or the steps of
                an adapter.
            **options: As for `rlconnect.offline.through`.
        """
        from . import through

        return through(self, policy, **options)

    def sample_batches(self, size: int = 1) -> Iterator[SampleBatch | MultiAgentBatch]:
        """All rows in the order of the files, as batches of the old stack.

        Args:
            size: How many steps of the environment a batch has at least; what was recorded as
                one batch stays together, as in RLlib.

        Warns:
            DamagedDataWarning: Something could not be read; told at the end.
        """
        damage = self._damage()
        batches: list[Any] = []
        steps = 0
        for batch in self.reader.batches(damage):
            if batches and _columns(batch) != _columns(batches[0]):
                yield concat_samples(batches)
                batches, steps = [], 0
            batches.append(batch)
            steps += batch.count
            if steps >= size:
                yield batches[0] if len(batches) == 1 else concat_samples(batches)
                batches, steps = [], 0
        if batches:
            yield concat_samples(batches)
        damage.warn()


def _columns(batch: SampleBatch | MultiAgentBatch) -> Mapping[str, Any] | frozenset[str]:
    if isinstance(batch, MultiAgentBatch):
        return {policy: frozenset(part) for policy, part in batch.policy_batches.items()}
    return frozenset(batch)


def open_dataset(
    path: Paths, *, limits: Limits | None = None, columns: Mapping[str, str] | None = None
) -> Dataset:
    """Recorded data, its kind found by looking.

    Args:
        path: A file, a folder (searched through), a pattern, a URL (the `remote` extra), or a
            list of these.
        limits: Bounds for one line or row; what asks for more is told as damaged.
        columns: What columns of steps are called in the files, by the names we have for them:
            `{"obs": "observation"}`.

    Raises:
        CheckpointNotFoundError: Nothing is there.
        UnknownFormatError: What is there is no data we know.
    """
    bounds = limits or limits_in_force(DATA_LIMITS)
    with ExitStack() as copies:
        files = places(path, bounds, copies)
        reader = _reader_of(files, bounds, columns or {})
        if reader is None:
            raise UnknownFormatError(
                f"{files[0].name} and {len(files) - 1} other files hold no recorded data we know",
                expected="JSON lines or Parquet files of batches, steps or episodes, "
                "as RLlib writes",
                hint="open the file itself to see what it holds; columns by other names are told "
                "by open_dataset(path, columns={'obs': 'their name', ...}).",
            )
        read = frozenset(reader.found)
        rest = [place for place in files if place not in read]
        beside = _reader_of(rest, bounds, columns or {})
        return Dataset(reader, copies.pop_all(), keeps=True, beside=beside)


def _reader_of(files: list[Place], limits: Limits, columns: Mapping[str, str]) -> Reader | None:
    """A reader of the first kind of data that is among the files; None if there is none."""
    from .readers.array_reader import ArrayReader
    from .readers.episode_reader import EpisodeReader, OwnReader
    from .readers.minari_reader import MinariReader
    from .readers.old_reader import OldReader
    from .readers.row_reader import RowReader

    kinds: tuple[type[FileReader], ...] = (
        OwnReader, ArrayReader, MinariReader, OldReader, EpisodeReader, RowReader
    )  # fmt: skip
    readers = (kind.of(files, limits, columns) for kind in kinds)
    return next((reader for reader in readers if reader is not None), None)
