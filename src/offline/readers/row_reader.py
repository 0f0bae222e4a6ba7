"""Steps that the new stack recorded one by one: a row each, in Parquet or as JSON lines.

A row has no time step. An episode's rows follow each other in the order of the files of one run,
and each goes on where the one before it ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import PurePosixPath
from typing import Any, Final

import numpy as np
from typing_extensions import Self

from ...core import nest
from ...core.data.budget import Budget, Limits, corrupt, one_load
from ...core.data.damage import at
from ...core.errors import RlconnectError
from ...v2.episodes.single_agent import SingleAgentEpisode
from ...v2.recorded.columns import joined_columns
from ..damaged import Damage
from .json_lines import first_lines, read_lines, text_among
from .of_episodes import ReaderOfEpisodes
from .old_batches import array_of
from .packed import unpack, unpickle
from .places import Place
from .tables import PickledCell, read_blocks, read_rows, tables_among, writer_of

_NEEDED: Final = frozenset({"obs", "actions", "rewards"})
_IDS: Final = ("eps_id", "agent_id", "module_id")
_NO_OUTPUTS: Final = _NEEDED | {
    "eps_id", "new_obs", "terminateds", "truncateds", "dones", "infos", "agent_id", "module_id", "t"
}  # fmt: skip
_BLOCK: Final = 1024
_Row = dict[str, Any]


@dataclass
class _Open:
    """The rows of an episode so far, and in which run of a runner they lie."""

    run: str
    rows: list[_Row] = field(default_factory=list)


class RowReader(ReaderOfEpisodes):
    """Episodes put together from rows.

    `names` says what columns are called in the files, by the names we have for them.
    """

    def __init__(
        self, found: list[Place], limits: Limits, is_table: bool, names: Mapping[str, str]
    ) -> None:
        self.format = "row-parquet" if is_table else "row-json"
        self.found = found
        self._limits = limits
        self._read: Any = read_rows if is_table else read_lines
        self._ours = {theirs: ours for ours, theirs in names.items()}

    @classmethod
    def of(cls, found: list[Place], limits: Limits, columns: Mapping[str, str]) -> Self | None:
        """A reader of these files, or None if the first that can be read has no steps."""
        needed = {columns.get(name, name) for name in _NEEDED}
        tables, names = tables_among(found)
        if needed <= set(names):
            return cls(tables, limits, True, columns)
        text = text_among(found)
        firsts = first_lines(text, limits, lambda line, _: needed <= set(line))
        return cls(text, limits, False, columns) if any(firsts) else None

    def _row(self, record: dict[str, Any], budget: Budget) -> _Row:
        return _row_of({self._ours.get(name, name): cell for name, cell in record.items()}, budget)

    def steps(self, size: int, damage: Damage) -> Iterator[dict[str, Any]]:
        """Columns of up to `size` rows at a time, as they lie in the files.

        What a run wrote again comes again.
        """
        waiting: list[dict[str, Any]] = []
        rows = 0
        for block in self._blocks(min(size, _BLOCK), damage):
            waiting.append(block)
            rows += len(block["rewards"])
            while rows >= size:
                whole = joined_columns(waiting)
                yield _part(whole, 0, size)
                waiting = [_part(whole, size, rows)] if rows > size else []
                rows -= size
        if rows:
            yield joined_columns(waiting)

    def _blocks(self, size: int, damage: Damage) -> Iterator[dict[str, Any]]:
        for place in self.found:
            if self.format == "row-parquet":
                first = 0
                for count, columns in read_blocks(place, self._limits, damage, size):
                    yield from self._columns(place, first, count, columns, damage)
                    first += count
                continue
            rows: list[_Row] = []
            for _, row in self._read(place, self._limits, damage, self._row):
                rows.append(row)
                if len(rows) >= size:
                    yield _stacked(rows)
                    rows = []
            if rows:
                yield _stacked(rows)

    def _columns(
        self, place: Place, first: int, count: int, columns: dict[str, Any], damage: Damage
    ) -> Iterator[dict[str, Any]]:
        """The columns of a block; row by row where they cannot be read as a whole."""
        try:
            with one_load(self._limits) as budget, at():
                block = {}
                for theirs, cells in columns.items():
                    name = self._ours.get(theirs, theirs)
                    if isinstance(cells, np.ndarray):
                        block[name] = cells
                    elif any(cell is not None for cell in cells):
                        values = cells if name in _IDS else [_value(c, budget, name) for c in cells]
                        block[name] = _column_of(values, name)
            if block.keys() >= _NEEDED and _is_even(block, count):
                yield block
                return
        except RlconnectError:
            pass
        rows = []
        for number in range(count):
            record = {name: column[number] for name, column in columns.items()}
            try:
                with one_load(self._limits) as budget, at():
                    rows.append(self._row(record, budget))
            except RlconnectError as error:
                damage.note(place.name, first + number + 1, error)
        if rows:
            yield _stacked(rows)

    def episodes(self, damage: Damage) -> Iterator[SingleAgentEpisode]:
        """Each episode once, though a run may repeat the rows of earlier ones."""
        open_: dict[str, _Open] = {}
        digests: set[bytes] = set()
        unnamed = 0
        for place in self.found:
            run = PurePosixPath(place.name).parent.as_posix()
            for _, row in self._read(place, self._limits, damage, self._row):
                key = row["eps_id"] = row["eps_id"] or str(unnamed)
                opened = open_.setdefault(key, _Open(run))
                if opened.run != run:
                    opened.run = run
                    if opened.rows and _is_same(opened.rows[0], row):
                        opened.rows.clear()
                if opened.rows and not _goes_on(opened.rows[-1], row):
                    yield from _new_episode(key, open_.pop(key).rows, digests, damage)
                    opened = open_[key] = _Open(run)
                opened.rows.append(row)
                if row["terminateds"] or row["truncateds"]:
                    yield from _new_episode(key, open_.pop(key).rows, digests, damage)
                    unnamed += 1
        for key, opened in open_.items():
            yield from _new_episode(key, opened.rows, digests, damage)

    def written_by(self, damage: Damage) -> str | None:
        """What the first table that tells says."""
        return writer_of(self.found) if self.format == "row-parquet" else None


def _row_of(record: dict[str, Any], budget: Budget) -> _Row:
    missing = sorted(_NEEDED - {name for name, cell in record.items() if cell is not None})
    if missing:
        raise corrupt(f"this row has no {', '.join(missing)}")
    row = {}
    for name, cell in record.items():
        with at(name):
            if cell is not None:
                row[name] = cell if name in _IDS else _value(cell, budget, name)
    row["eps_id"] = str(row.get("eps_id", ""))
    for name in ("terminateds", "truncateds"):
        row[name] = bool(np.all(row.get(name, False)))
    if "dones" in row:
        row["terminateds"] = row["terminateds"] or bool(row["dones"])
    return row


def _value(cell: Any, budget: Budget, name: str) -> Any:
    if isinstance(cell, PickledCell):
        return unpickle(cell.data, budget, f"the {name}")
    if isinstance(cell, (str, bytes)):
        return unpack(cell, budget, f"the {name}")
    if isinstance(cell, dict) and name != "infos":
        return {key: _value(part, budget, f"{name}.{key}") for key, part in cell.items()}
    return array_of(cell, budget, name) if isinstance(cell, list) else cell


def _is_even(columns: dict[str, Any], rows: int) -> bool:
    """True if all columns have so many rows."""
    parts = ([col] if isinstance(col, list) else nest.flatten(col) for col in columns.values())
    return all(len(leaf) == rows for part in parts for leaf in part)


def _stacked(rows: list[_Row]) -> dict[str, Any]:
    """Rows as columns, those that all of them have."""
    names = [name for name in rows[0] if all(name in row for row in rows)]
    return {name: _column_of([row[name] for row in rows], name) for name in names}


def _column_of(cells: list[Any], name: str) -> Any:
    """Cells as one array, or a nest of arrays; infos and ids stay a list."""
    if name == "infos" or name in _IDS:
        return cells
    try:
        return nest.map_structure(lambda *leaves: np.stack(leaves), *cells)
    except (ValueError, TypeError):
        raise corrupt(f"the rows of column {name!r} differ in shape") from None


def _part(columns: dict[str, Any], start: int, stop: int) -> dict[str, Any]:
    rows = slice(start, stop)
    return {
        name: column[rows] if isinstance(column, list) else nest.taken(column, rows)
        for name, column in columns.items()
    }


def _is_same(row: _Row, other: _Row) -> bool:
    return _equal(row["obs"], other["obs"]) and _equal(row["actions"], other["actions"])


def _goes_on(row: _Row, after: _Row) -> bool:
    """Whether a row begins with the observation that the one before it ended in."""
    return "new_obs" not in row or _equal(row["new_obs"], after["obs"])


def _equal(one: Any, other: Any) -> bool:
    mine, theirs = nest.flatten(one), nest.flatten(other)
    return len(mine) == len(theirs) and all(map(np.array_equal, mine, theirs))


def _new_episode(
    key: str, rows: list[_Row], digests: set[bytes], damage: Damage
) -> Iterator[SingleAgentEpisode]:
    """The episode of some rows, unless its digest is known already."""
    try:
        with at(f"episode {key}"):
            digest = _digest(key, rows)
            episode = None if digest in digests else _episode(key, rows)
    except RlconnectError as error:
        damage.note("", None, error)
        return
    digests.add(digest)
    if episode is not None:
        yield episode


def _digest(key: str, rows: list[_Row]) -> bytes:
    digest = blake2b(repr((key, len(rows))).encode(), digest_size=16)
    for row in rows:
        for leaf in (*nest.flatten(row["obs"]), *nest.flatten(row["actions"]), row["rewards"]):
            digest.update(np.ascontiguousarray(leaf).tobytes())
    return digest.digest()


def _episode(key: str, rows: list[_Row]) -> SingleAgentEpisode:
    last = rows[-1]
    end = last.get("new_obs")
    if end is None:
        end = nest.map_structure(np.zeros_like, last["obs"])
    outputs = [
        name for name in last if name not in _NO_OUTPUTS and all(name in row for row in rows)
    ]
    return SingleAgentEpisode(
        key,
        observations=[*(row["obs"] for row in rows), end],
        actions=[row["actions"] for row in rows],
        rewards=[float(row["rewards"]) for row in rows],
        extra_model_outputs={name: [row[name] for row in rows] for name in outputs},
        terminated=last["terminateds"],
        truncated=last["truncateds"],
        len_lookback_buffer=0,
        agent_id=last.get("agent_id"),
        module_id=last.get("module_id"),
    ).to_numpy()
