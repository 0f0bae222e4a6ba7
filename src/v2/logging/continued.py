"""Results of a run that was cut off: whole up to the iteration that it goes on from, no further."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from ...core.errors import CorruptCheckpointError
from ...core.vault.decode.load_limits import DEFAULT_LIMITS
from ...core.vault.file_names import RESULT_TABLE, RESULTS
from ...core.vault.files.reading import read_bytes
from .flat_result import flat

_STEP: Final = "training_iteration"
_Reader: TypeAlias = Callable[[bytes, list[str]], "Mapping[str, Any] | None"]


def cut_after(folder: Path, iteration: int) -> dict[int, dict[str, Any]]:
    """Take away what was written of later iterations; what is left can be added to.

    Args:
        folder: With `result.json` and `progress.csv`.
        iteration: The last one that stays.

    Returns:
        The results that stay, flat, by iteration.

    Raises:
        CorruptCheckpointError: Results that should be there are damaged.
    """
    rows: dict[int, dict[str, Any]] = {}
    _cut(folder / RESULTS, iteration, _json_row, rows)
    _cut(folder / RESULT_TABLE, iteration, _csv_step, {})
    return rows


def read_results(folder: Path) -> list[dict[str, Any]]:
    """The results in a folder, as they were written; without the half of one at the end.

    Raises:
        CorruptCheckpointError: They are damaged.
    """
    return [dict(row) for row, _, _ in _rows(folder / RESULTS, _json_row) if row is not None]


def _cut(file: Path, iteration: int, read: _Reader, rows: dict[int, dict[str, Any]]) -> None:
    size = 0
    for row, step, length in _rows(file, read):
        if row is not None:
            if step > iteration:
                break
            rows[step] = flat(row)
        size += length
    if os.path.lexists(file) and size < file.stat().st_size:
        os.truncate(file, size)


def _rows(file: Path, read: _Reader) -> Iterator[tuple[Mapping[str, Any] | None, int, int]]:
    """The rows of a file, each with its iteration and its length; None for what tells no row."""
    if not os.path.lexists(file):
        return
    columns: list[str] = []
    for number, line in enumerate(io.BytesIO(read_bytes(file, DEFAULT_LIMITS)), 1):
        if not line.endswith(b"\n"):  # what a killed process was writing
            return
        try:
            row = read(line, columns)
            step = 0 if row is None else int(row[_STEP])
        except (ValueError, KeyError, TypeError, RecursionError, csv.Error) as error:
            raise CorruptCheckpointError(
                f"{file}, line {number}: this is no result",
                found=str(error)[:100],
                hint="move the file away; the run goes on with a new one.",
            ) from error
        yield row, step, len(line)


def _json_row(line: bytes, columns: list[str]) -> Mapping[str, Any] | None:
    return json.loads(line)  # type: ignore[no-any-return]


def _csv_step(line: bytes, columns: list[str]) -> Mapping[str, Any] | None:
    cells = next(csv.reader([line.decode("utf-8")]))
    if not columns:
        columns += cells
        return None
    return dict(zip(columns, cells, strict=True))
