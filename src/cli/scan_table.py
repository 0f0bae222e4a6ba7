"""The table `rlconnect scan` shows: one line a checkpoint."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from ..core.errors import CheckpointError, CheckpointNotFoundError, NotACheckpointError
from ..core.vault import DEFAULT_LIMITS, open_checkpoint
from ..core.vault.layout import checkpoints_below
from ..core.vault.verdict import verdict
from .theme import LEVEL_MARKS, LEVEL_STYLES, errors_console


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

    def as_data(self) -> dict[str, Any]:
        """The row as plain data."""
        return asdict(self)


def scan_rows(folder: Path, *, show_progress: bool = True) -> list[ScanRow]:
    """A row for every checkpoint below `folder`.

    Raises:
        CheckpointNotFoundError: There is no such folder.
        NotACheckpointError: It is a file.
    """
    if not folder.exists():
        raise CheckpointNotFoundError(f"nothing lies at {folder}", hint="check the path.")
    if not folder.is_dir():
        raise NotACheckpointError(
            f"{folder} is a file",
            expected="a folder to look through",
            hint=f"rlconnect inspect {folder.parent}",
        )
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    out = errors_console()
    with Progress(*columns, console=out, transient=True, disable=not show_progress) as progress:
        looking = progress.add_task("looking for checkpoints", total=None)
        found = []
        for path in checkpoints_below(folder, DEFAULT_LIMITS):
            found.append(path)
            progress.update(looking, completed=len(found))
        progress.update(looking, description="reading", total=len(found), completed=0)
        rows = []
        for path in found:
            rows.append(_row(path))
            progress.advance(looking)
    return rows


def _row(path: Path) -> ScanRow:
    try:
        checkpoint = open_checkpoint(path)
    except CheckpointError as error:
        return ScanRow(str(path), "", "", "", "", 0, 0, "unreadable", error.summary)
    judged = verdict(checkpoint)
    return ScanRow(
        path=str(path),
        what=f"{checkpoint.algorithm or 'unknown'} {checkpoint.kind.replace('_', '-')}",
        ray_version=checkpoint.ray_version,
        version=checkpoint.version,
        encoding=checkpoint.encoding,
        acting=len(checkpoint.acting),
        parameters=sum(record.weights.parameter_count for record in checkpoint.acting.values()),
        level=judged.level,
        reason=judged.reason,
    )


def scan_table(folder: Path, rows: list[ScanRow]) -> RenderableType:
    """All rows as a table, with a line that sums them up."""
    if not rows:
        return Text(f"no checkpoint below {folder}.")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="label")
    table.add_column("checkpoint", style="name", overflow="fold", ratio=3)
    table.add_column("what", no_wrap=True)
    table.add_column("Ray", no_wrap=True)
    table.add_column("layout", no_wrap=True)
    table.add_column("policies", justify="right")
    table.add_column("numbers", justify="right", style="number")
    table.add_column("verdict", overflow="fold", ratio=2)
    for row in rows:
        style = LEVEL_STYLES[row.level]
        mark = Text(f"{LEVEL_MARKS[style]} {row.level}", style=style)
        if row.level not in ("complete", "state only"):
            mark.append(f"\n{row.reason}", style="label")
        table.add_row(
            Text(_relative(row.path, folder)),
            row.what,
            row.ray_version or "–",
            row.version,
            str(row.acting),
            f"{row.parameters:,}",
            mark,
        )
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.level] = counts.get(row.level, 0) + 1
    summary = ", ".join(f"{number} {level}" for level, number in counts.items())
    noun = "checkpoint" if len(rows) == 1 else "checkpoints"
    last = Text(f"{len(rows)} {noun}: {summary}.", style="title")
    more = Text("look closer: rlconnect inspect PATH", style="label")
    return Group(table, last, more)


def _relative(path: str, folder: Path) -> str:
    try:
        return str(Path(path).relative_to(folder))
    except ValueError:
        return path
