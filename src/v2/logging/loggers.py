"""What writes results down, by the names Ray's loggers have.

config.build_algo(logger_creator=lambda config: UnifiedLogger(config, "runs/first"))
"""

from __future__ import annotations

import abc
import csv
import io
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from io import StringIO
from pathlib import Path
from typing import Any, Final, TextIO, TypeAlias

from typing_extensions import override

from ...core.data.plain_data import as_json
from ...core.errors import CorruptCheckpointError
from ...core.text.visible import visible
from ...core.vault.decode.load_limits import limits_in_force
from ...core.vault.file_names import PLAIN_SETTINGS, RESULT_TABLE, RESULTS
from ...core.vault.files.reading import read_bytes, read_tail
from ...core.vault.own.atomic import replaced_file
from .event_file import EventFile
from .flat_result import flat, scalars, shown

_TAIL: Final = 1 << 16


class Logger(abc.ABC):
    """Writes results into a folder.

    Args:
        config: The algorithm's settings.
        logdir: The folder; it is made if it is not there.
    """

    def __init__(self, config: Mapping[str, Any] | None, logdir: str | os.PathLike[str]) -> None:
        self.config = dict(config or {})
        self.logdir = str(logdir)
        Path(logdir).mkdir(parents=True, exist_ok=True)

    @abc.abstractmethod
    def on_result(self, result: Mapping[str, Any]) -> None:
        """Write one result."""

    @abc.abstractmethod
    def close(self) -> None:
        """Close the files."""


class CSVLogger(Logger):
    """Writes `progress.csv`, a row for each result.

    The first result says which columns there are. When later ones bring further columns, the file
    is written again with them; a run that goes on adds to the file that is there.
    """

    def __init__(self, config: Mapping[str, Any] | None, logdir: str | os.PathLike[str]) -> None:
        super().__init__(config, logdir)
        self.path = Path(logdir) / RESULT_TABLE
        self._columns: list[str] = []
        if os.path.lexists(self.path):
            _end_with_a_line(self.path)
            with _damage_told(self.path):
                self._columns = next(csv.reader(_text(self.path)), [])
        self._file: TextIO = self.path.open("a", newline="", encoding="utf-8")

    @override
    def on_result(self, result: Mapping[str, Any]) -> None:
        row = shown(flat(result))
        new = [name for name in row if name not in self._columns]
        if new:
            self._begin([*self._columns, *new])
        writer = csv.DictWriter(self._file, self._columns, restval="")
        writer.writerow({name: _cell(value) for name, value in row.items()})
        self._file.flush()

    def _begin(self, columns: list[str]) -> None:
        """Write the file with these columns; the rows it has get empty fields."""
        self._file.close()
        with _damage_told(self.path):
            rows = list(csv.DictReader(_text(self.path)))
        self._columns = columns
        with (
            replaced_file(self.path) as staged,
            staged.open("w", newline="", encoding="utf-8") as file,
        ):
            writer = csv.DictWriter(file, columns, restval="")
            writer.writeheader()
            writer.writerows(rows)
        self._file = self.path.open("a", newline="", encoding="utf-8")

    @override
    def close(self) -> None:
        self._file.close()


class JsonLogger(Logger):
    """Writes `result.json`, a line of JSON for each result, and the settings to `params.json`."""

    def __init__(self, config: Mapping[str, Any] | None, logdir: str | os.PathLike[str]) -> None:
        super().__init__(config, logdir)
        folder = Path(logdir)
        with replaced_file(folder / PLAIN_SETTINGS) as staged:
            text = json.dumps(as_json(self.config), indent=2) + "\n"
            staged.write_text(text, encoding="utf-8")
        results = folder / RESULTS
        if os.path.lexists(results):
            _end_with_a_line(results)
        self._file = results.open("a", encoding="utf-8")

    @override
    def on_result(self, result: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(as_json(result)) + "\n")
        self._file.flush()

    @override
    def close(self) -> None:
        self._file.close()


class TBXLogger(Logger):
    """Writes all numbers for TensorBoard, over the steps sampled, tagged `ray/tune/...`.

    A run that goes on takes the place of what older files have from its first step on.
    """

    def __init__(self, config: Mapping[str, Any] | None, logdir: str | os.PathLike[str]) -> None:
        super().__init__(config, logdir)
        self._is_going_on = any(Path(logdir).glob("events.out.tfevents.*"))
        self._file = EventFile(logdir)

    @override
    def on_result(self, result: Mapping[str, Any]) -> None:
        step = step_of(result)
        values = {f"ray/tune/{name}": value for name, value in shown(scalars(result)).items()}
        if self._is_going_on:
            self._file.begin_again(step)
            self._is_going_on = False
        self._file.add_scalars(values, step)

    @override
    def close(self) -> None:
        self._file.close()


class NoLogger(Logger):
    """Writes nothing: the folder is an algorithm's, its results are somebody else's to write."""

    def __init__(self, config: Mapping[str, Any] | None, logdir: str | os.PathLike[str]) -> None:
        self.config, self.logdir = dict(config or {}), str(logdir)

    @override
    def on_result(self, result: Mapping[str, Any]) -> None:
        """Write nothing."""

    @override
    def close(self) -> None:
        """Close nothing."""


DEFAULT_LOGGERS: Final = (CSVLogger, JsonLogger, TBXLogger)


class UnifiedLogger(Logger):
    """Writes results with several loggers.

    Args:
        config: The algorithm's settings.
        logdir: Their folder.
        loggers: Their classes; None for `DEFAULT_LOGGERS`: CSV, JSON and TensorBoard.
    """

    def __init__(
        self,
        config: Mapping[str, Any] | None,
        logdir: str | os.PathLike[str],
        loggers: Sequence[type[Logger]] | None = None,
    ) -> None:
        super().__init__(config, logdir)
        classes = DEFAULT_LOGGERS if loggers is None else loggers
        self._loggers = [each(config, logdir) for each in classes]

    @override
    def on_result(self, result: Mapping[str, Any]) -> None:
        for each in self._loggers:
            each.on_result(result)

    @override
    def close(self) -> None:
        with ExitStack() as closing:  # all of them, though one may fail
            for each in self._loggers:
                closing.callback(each.close)


def step_of(result: Mapping[str, Any]) -> int:
    """Where a result is on the horizontal axis: at steps sampled, or else at its iteration."""
    sampled = result.get("num_env_steps_sampled_lifetime")
    return int(sampled or result.get("training_iteration", 0))


def _cell(value: Any) -> Any:
    text = as_json(value)
    return visible(text, len(text)) if isinstance(text, str) else text


def _end_with_a_line(file: Path) -> None:
    """Take away the half of a line that a killed process wrote last.

    Raises:
        CheckpointError: It is no regular file: a link would lead out of the folder.
    """
    size, count = os.lstat(file).st_size, _TAIL
    end = read_tail(file, count)
    while b"\n" not in end and count < size:
        count *= 8
        end = read_tail(file, count)
    if not end.endswith(b"\n"):
        os.truncate(file, size - len(end) + end.rfind(b"\n") + 1)


def _text(file: Path) -> StringIO:
    return StringIO(read_bytes(file, limits_in_force()).decode("utf-8"), newline="")


@contextmanager
def _damage_told(file: Path) -> Iterator[None]:
    try:
        yield
    except (csv.Error, UnicodeError) as error:
        raise CorruptCheckpointError(
            f"{file} is no table that can go on",
            found=str(error)[:100],
            hint="move it away, or log to another folder.",
        ) from error


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
    for number, line in enumerate(io.BytesIO(read_bytes(file, limits_in_force())), 1):
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
