"""Results of a run that was cut off: whole up to the iteration that it goes on from, no further."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ...core.errors import CorruptCheckpointError
from ...core.vault.decode.load_limits import DEFAULT_LIMITS
from ...core.vault.file_names import RESULT_TABLE, RESULTS
from ...core.vault.files.reading import read_bytes
from .flat_result import flat

_STEP: Final = "training_iteration"


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


def _cut(
    file: Path,
    iteration: int,
    read: Callable[[bytes, list[str]], Mapping[str, Any] | None],
    rows: dict[int, dict[str, Any]],
) -> None:
    if not os.path.lexists(file):
        return
    size = 0
    columns: list[str] = []
    for number, line in enumerate(_lines(file), 1):
        if not line.endswith(b"\n"):  # what a killed process was writing
            break
        try:
            row = read(line, columns)
            step = None if row is None else int(row[_STEP])
        except (ValueError, KeyError, TypeError, RecursionError, csv.Error) as error:
            raise CorruptCheckpointError(
                f"{file}, line {number}: this is no result",
                found=str(error)[:100],
                hint="move the file away; the run goes on with a new one.",
            ) from error
        if row is not None and step is not None:
            if step > iteration:
                break
            rows[step] = dict(row)
        size += len(line)
    if size < file.stat().st_size:
        os.truncate(file, size)


def _lines(file: Path) -> Iterator[bytes]:
    return io.BytesIO(read_bytes(file, DEFAULT_LIMITS))


def _json_row(line: bytes, columns: list[str]) -> Mapping[str, Any] | None:
    return flat(json.loads(line))


def _csv_step(line: bytes, columns: list[str]) -> Mapping[str, Any] | None:
    cells = next(csv.reader([line.decode("utf-8")]))
    if not columns:
        columns += cells
        return None
    return dict(zip(columns, cells, strict=True))
