"""The table `rlconnect scan` shows: one line a checkpoint."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from rich import box
from rich.console import Group, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from ..bridge.front.fit import try_loading
from ..core.errors import CheckpointError, CheckpointNotFoundError, NotACheckpointError
from ..core.text.shell import command, shell_path
from ..core.text.visible import visible
from ..core.vault import Checkpoint, open_checkpoint
from ..core.vault.decode.load_limits import limits_in_force
from ..core.vault.description import trained_steps
from ..core.vault.files.reading import entries
from ..core.vault.layout import checkpoints_below
from ..core.vault.verdict import verdict
from .theme import LEVEL_MARKS, LEVEL_STYLES, errors_console

_QUIET: Final = ("complete", "state only")
# The columns beside the path, and how wide a terminal must be to hold each.
_COLUMNS: Final = (
    ("what", 0),
    ("environment", 112),
    ("iterations", 92),
    ("steps", 92),
    ("date", 136),
    ("Ray", 70),
    ("layout", 170),
    ("numbers", 170),
    ("verdict", 0),
)
_NUMBERS: Final = ("iterations", "steps", "numbers")
_GAP: Final = 3
_EDGES: Final = 2
_LEAST_PATH: Final = 16


@dataclass(frozen=True)
class ScanRow:
    """One checkpoint found: where, what, and what can be done with it."""

    path: str
    what: str
    ray_version: str
    version: str
    encoding: str
    acting: int
    parameters: int
    level: str
    reason: str
    environment: str = ""
    iterations: int | None = None
    steps: int | None = None
    date: str = ""

    def as_data(self) -> dict[str, Any]:
        """The row as plain data."""
        return asdict(self)


def checkpoints_in(folder: Path, progress: Progress | None = None) -> list[Path]:
    """Every checkpoint below `folder`.

    Raises:
        CheckpointNotFoundError: There is no such folder.
        CheckpointAccessError: It may not be listed.
        NotACheckpointError: It is a file.
    """
    try:
        entries(folder, limits_in_force())
    except CheckpointNotFoundError:
        if not os.path.lexists(folder):
            raise
        raise NotACheckpointError(
            f"{folder} is a file",
            expected="a folder to look through",
            hint=f"look through its folder: {command('scan', folder.parent)}",
        ) from None
    paths = []
    looking = progress.add_task("looking for checkpoints", total=None) if progress else None
    for path in checkpoints_below(folder, limits_in_force()):
        paths.append(path)
        if progress is not None and looking is not None:
            progress.update(looking, completed=len(paths))
    return paths


def scan_rows(folder: Path, *, show_progress: bool = True) -> list[ScanRow]:
    """A row for every checkpoint below `folder`; see `checkpoints_in`."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    out = errors_console()
    watched = show_progress and out.is_terminal
    # Even a disabled Progress of rich 13.7 ends with an empty line.
    with (
        Progress(*columns, console=out, transient=True)
        if watched
        else contextlib.nullcontext() as progress
    ):
        paths = checkpoints_in(folder, progress)
        return [*map(_row, progress.track(paths, description="reading") if progress else paths)]


def _row(path: Path) -> ScanRow:
    try:
        checkpoint = open_checkpoint(path)
    except CheckpointError as error:
        return ScanRow(str(path), "", "", "", "", 0, 0, "unreadable", error.summary)
    judged = verdict(checkpoint, try_loading(checkpoint))
    return ScanRow(
        path=str(path),
        what=_what(checkpoint),
        ray_version=checkpoint.ray_version,
        version=checkpoint.version,
        encoding=checkpoint.encoding,
        acting=len(checkpoint.acting),
        parameters=sum(record.weights.parameter_count for record in checkpoint.acting.values()),
        level=judged.level,
        reason=judged.reason,
        environment=checkpoint.environment,
        iterations=checkpoint.training_iteration,
        steps=trained_steps(checkpoint),
        date=_date(path, checkpoint),
    )


def _date(path: Path, checkpoint: Checkpoint) -> str:
    """When the newest of its files was written, to the minute."""
    root = path if path.is_dir() else path.parent
    times = [path.lstat().st_mtime] if path.is_file() else []
    for file in checkpoint.files:
        with contextlib.suppress(OSError, ValueError):
            times.append((root / file.name).lstat().st_mtime)
    return datetime.fromtimestamp(max(times)).strftime("%Y-%m-%d %H:%M") if times else ""


def _what(checkpoint: Checkpoint) -> str:
    """The checkpoint in a few words: "PPO algorithm", "DQN, 2 modules"."""
    count = len(checkpoint.acting)
    noun = "policies" if checkpoint.policies else "modules"
    kinds = {
        "policies": "policies",
        "multi_module": "modules",
        "component": "part",
        "migrated": "migrated",
    }
    kind = kinds.get(checkpoint.kind, checkpoint.kind)
    if count < 2:
        return f"{checkpoint.algorithm} {kind}".strip()
    many = f"{count} {noun}"
    return f"{checkpoint.algorithm}, {many}" if checkpoint.algorithm else many


def scan_table(folder: Path, rows: list[ScanRow], *, width: int = 100) -> RenderableType:
    """All rows as a table that fits `width`, with a line that sums them up."""
    if not rows:
        return Text(f"no checkpoint below {visible(folder)}.")
    lines = [_cells(row, width) for row in rows]
    titles = [title for title, least in _COLUMNS if width >= least]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="label")
    table.add_column("checkpoint", style="name", overflow="fold")
    for title in titles:
        numeric = title in _NUMBERS
        table.add_column(
            title,
            no_wrap=True,
            justify="right" if numeric else "left",
            style="number" if numeric else None,
        )
    taken = sum(
        max(len(title), *(line[i].cell_len for line in lines)) + _GAP
        for i, title in enumerate(titles)
    )
    for row, line in zip(rows, lines, strict=True):
        path = visible(_relative(row.path, folder), 1000)
        table.add_row(Text(_folded(path, max(width - taken - _EDGES, _LEAST_PATH))), *line)
    noun = "checkpoint" if len(rows) == 1 else "checkpoints"
    counts = Counter(row.level for row in rows).most_common()
    summary = ", ".join(f"{number} {level}" for level, number in counts)
    return Group(table, Text(f"{len(rows)} {noun}: {summary}", style="title"))


def _cells(row: ScanRow, width: int) -> list[Text]:
    """The cells of a row beside its path, as many as fit `width`."""
    cells = {
        "what": Text(visible(row.what, 24)),
        "environment": Text(visible(row.environment.rpartition(".")[2], 24) or "–"),
        "iterations": Text(_count(row.iterations)),
        "steps": Text(_count(row.steps)),
        "date": Text(row.date or "–"),
        "Ray": Text(visible(row.ray_version, 12) or "–"),
        "layout": Text(visible(row.version, 12) or "–"),
        "numbers": Text(f"{row.parameters:,}"),
        "verdict": _mark(row.level),
    }
    return [cells[title] for title, least in _COLUMNS if width >= least]


def _count(number: int | None) -> str:
    """A number from a file, in as much room as a column has."""
    if number is None:
        return "–"
    return f"{number:,}" if abs(number) < 10**12 else "over 10^12"


def _folded(path: str, room: int) -> str:
    """A path in lines of at most `room` characters that end at its slashes where they can."""
    lines = [""]
    for part in path.replace("/", "/\0").split("\0"):
        if len(lines[-1]) + len(part) > room and lines[-1]:
            lines.append("  ")
        lines[-1] += part
    return "\n".join(lines)


def _mark(level: str) -> Text:
    style = LEVEL_STYLES[level]
    return Text(f"{LEVEL_MARKS[style]} {level}", style=style)


def lines_below(folder: Path, rows: list[ScanRow]) -> Iterator[Text]:
    """Why some are not complete, and what to type next; to be printed without wrapping."""
    for row in rows:
        if row.level not in _QUIET:
            yield Text()
            path = visible(_relative(row.path, folder), 1000)
            yield Text.assemble(_mark(row.level), "  ", (path, "name"))
            yield Text(f"  {visible(row.reason)}")
    if rows:
        first = next((row for row in rows if row.level in _QUIET), rows[0])
        yield Text()
        yield Text("  look closer at one", style="label")
        yield Text(f"    rlconnect inspect {visible(shell_path(first.path), 4000)}", "command")


def _relative(path: str, folder: Path) -> str:
    try:
        return str(Path(path).relative_to(folder))
    except ValueError:
        return path
