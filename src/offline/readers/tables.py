"""Parquet files, row by row, by the `offline` extra (pyarrow); nothing of Ray Data is needed.

Ray keeps arrays in columns of its own types, whose names and shapes lie in the metadata of the
fields: arrays as flat lists, anything else as a pickle for each row.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import SEEK_END
from typing import IO, Any, Final, TypeVar

import numpy as np

from ...core.data.budget import Budget, Limits, allow_more, checked_shape, corrupt, one_load
from ...core.data.damage import at
from ...core.errors import CheckpointError, LimitExceededError, RlconnectError
from ...core.importing.torch_needed import extra_needed
from ...core.text.first_line import first_line
from ..damaged import Damage
from .places import Place

_LONGEST_HEADER: Final = 1 << 16
_WIDTHS: Final = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 12}
_SIZE, _PACKED = 2, 3
_DATA, _DICTIONARY, _DATA_V2 = 5, 7, 8
_COUNT: Final = 1
_FACTOR: Final = 64  # images of one colour pack well
_ROW_BYTES: Final = 100  # what a row takes as Python's objects
_LEVEL_BYTES: Final = 4  # how deep a value lies, and where its list begins


def rows_within(file: IO[bytes], metadata: Any, rows: int, most: int) -> int:
    """How many rows of a file may be read together, so that they take no more than they should.

    A page, or what is read together of a column, may take `most` bytes, and some for each byte of
    the file.
    """
    end = file.seek(0, SEEK_END)
    for group in range(metadata.num_row_groups):
        for number in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(number)
            is_nested = metadata.schema.column(number).max_repetition_level > 0
            rows = min(rows, _rows_of_chunk(file, end, chunk, is_nested, most))
    return rows


def _rows_of_chunk(file: IO[bytes], end: int, chunk: Any, is_nested: bool, most: int) -> int:
    values, largest, name = 0, 0, chunk.path_in_schema
    most += _FACTOR * max(0, chunk.total_compressed_size)
    for size, count, is_dictionary in _pages(file, end, chunk):
        if size > most:
            raise _too_large(name, size, most)
        if is_dictionary:
            largest = max(largest, size)
        else:
            values += count
    width = _WIDTHS.get(chunk.physical_type, largest) + _LEVEL_BYTES
    if is_nested and values * width > most:  # all of them may be of one row
        raise _too_large(name, values * width, most)
    return sys.maxsize if is_nested else max(1, most // width)


def _too_large(name: str, size: int, most: int) -> LimitExceededError:
    return LimitExceededError(
        f"column {name!r} may unfold to {size:,} bytes",
        expected=f"at most {most:,}",
        hint=allow_more("base_memory"),
    )


def _pages(file: IO[bytes], end: int, chunk: Any) -> Iterator[tuple[int, int, bool]]:
    """Each page's size, how many values it has, and whether it is a dictionary."""
    at = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < at:
        at = chunk.dictionary_page_offset
    last = at + chunk.total_compressed_size
    if at < 0 or last > end:
        raise corrupt(f"column {chunk.path_in_schema!r} does not lie in this file")
    while at < last:
        file.seek(at)
        header, length = _Struct(file.read(min(_LONGEST_HEADER, last - at))).read()
        size, packed = header.get(_SIZE, -1), header.get(_PACKED, -1)
        page = header.get(_DATA) or header.get(_DATA_V2) or header.get(_DICTIONARY) or {}
        count = page.get(_COUNT, 0)
        if size < 0 or packed < 0 or count < 0:
            raise corrupt(f"a page of column {chunk.path_in_schema!r} has no size")
        yield size, count, _DICTIONARY in header
        at += length + packed


class _Struct:
    """Reads one struct of Thrift's compact form: whole numbers and structs by number."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def read(self) -> tuple[dict[int, Any], int]:
        """The struct, and how many bytes it takes."""
        try:
            return self._struct(0), self._at
        except IndexError:
            raise corrupt("the header of a page is cut") from None

    def _struct(self, depth: int) -> dict[int, Any]:
        made: dict[int, Any] = {}
        field = 0
        while kind := self._byte():
            step, kind = kind >> 4, kind & 15
            field = field + step if step else self._whole()
            made[field] = self._value(kind, depth)
        return made

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2):  # a flag, told by its kind
            return kind == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._whole()
        if kind == 8:  # a text: the least and largest value of a page
            length = self._number()  # which moves on by itself
            self._at += length
            if self._at > len(self._data):
                raise IndexError
            return None
        if kind == 12 and depth < 4:
            return self._struct(depth + 1)
        raise corrupt("the header of a page holds what no page has", found=f"kind {kind}")

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _number(self) -> int:
        value = shift = 0
        while shift < 64:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                break
            shift += 7
        return value

    def _whole(self) -> int:
        value = self._number()
        return (value >> 1) ^ -(value & 1)


_T = TypeVar("_T")

_ROWS_AT_ONCE: Final = 64
_TENSORS: Final = frozenset({"ray.data.arrow_tensor", "ray.data.arrow_tensor_v2"})
_PICKLES: Final = "ray.data.arrow_pickled_object"


@dataclass(frozen=True)
class PickledCell:
    """A cell that Ray pickled, to be read by `packed.unpickle`."""

    data: bytes


@contextmanager
def _opened(place: Place) -> Iterator[Any]:
    with extra_needed("pyarrow", f"reading {place.name}"):
        from pyarrow import parquet
    with place.open() as file, parquet.ParquetFile(file) as table:
        yield table


def tables_among(found: Iterable[Place]) -> tuple[list[Place], list[str]]:
    """The Parquet files, and the columns of the first that can be read."""
    tables = [place for place in found if place.suffix == ".parquet"]
    return tables, _first_told(tables, lambda table: list(table.schema_arrow.names)) or []


def writer_of(tables: Iterable[Place]) -> str | None:
    """What wrote some files, by the first that tells."""
    return _first_told(tables, lambda table: table.metadata.created_by)


def _first_told(tables: Iterable[Place], tell: Callable[[Any], _T]) -> _T | None:
    for place in tables:
        with suppress(ValueError, OSError), _opened(place) as table:
            if answer := tell(table):
                return answer
    return None


def read_rows(
    place: Place,
    limits: Limits,
    damage: Damage,
    make: Callable[[dict[str, Any], Budget], _T],
    *,
    as_lists: bool = False,
) -> Iterator[tuple[int, _T]]:
    """What `make` makes of each row that can be read, with its number from 1.

    `make` takes a row by column, without what is null, and the budget for what it unfolds to;
    `as_lists` gives it plain lists and numbers in place of arrays.
    """
    number = 0

    def rows_of(part: Any) -> tuple[list[dict[str, Any]], int]:
        if as_lists:
            return part.to_pylist(), part.nbytes
        with one_load(limits), at():
            columns = {name: list(column) for name, column in _columns(part).items()}
        cells = zip(*columns.values(), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in cells], part.nbytes

    for rows, size in _parts(place, limits, damage, 1 if as_lists else _ROWS_AT_ONCE, rows_of):
        for row in rows:
            number += 1
            try:
                with one_load(limits) as budget, at():
                    budget.admit(size // len(rows))
                    cells = {name: cell for name, cell in row.items() if cell is not None}
                    made = make(cells, budget)
            except RlconnectError as error:
                damage.note(place.name, number, error)
                continue
            yield number, made


def _parts(
    place: Place, limits: Limits, damage: Damage, rows: int, make: Callable[[Any], _T]
) -> Iterator[_T]:
    """What `make` makes of so many rows at a time; a file that cannot be read on is noted."""
    with damage.passing_over(place.name):
        try:
            with _opened(place) as table:
                rows = _rows_at_once(place, table.metadata, limits, rows)
                for part in table.iter_batches(batch_size=rows):
                    yield make(part)
        except RlconnectError:
            raise
        except (ValueError, OSError, NotImplementedError) as error:  # what pyarrow raises
            raise CheckpointError(f"it cannot be read as Parquet: {first_line(error)}") from None


def _rows_at_once(place: Place, metadata: Any, limits: Limits, rows: int) -> int:
    groups = (metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    largest = max(groups, default=0)
    most = limits.max_file_bytes
    if largest > most:
        raise LimitExceededError(
            f"a group of its rows takes {largest:,} bytes", expected=f"at most {most:,}"
        )
    size = metadata.num_rows * (_ROW_BYTES + 8 * metadata.num_columns)
    most = limits.base_memory + _FACTOR * place.disk_bytes
    if size > most:
        raise LimitExceededError(
            f"its {metadata.num_rows:,} rows may unfold to {size:,} bytes",
            expected=f"at most {most:,}",
            hint=allow_more("base_memory"),
        )
    with place.open() as file, at():
        return rows_within(file, metadata, rows, limits.base_memory)


def read_blocks(
    place: Place, limits: Limits, damage: Damage, rows: int
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The columns of so many rows at a time, with how many rows they have."""

    def columns_of(part: Any) -> tuple[int, dict[str, Any]]:
        with one_load(limits), at():
            return part.num_rows, _columns(part)

    yield from _parts(place, limits, damage, rows, columns_of)


def _columns(part: Any) -> dict[str, Any]:
    return {
        name: _column(part.schema.field(i), part.column(i))
        for i, name in enumerate(part.schema.names)
    }


def _column(field: Any, column: Any) -> Any:
    """A column as an array with a row for each cell; as a list of cells where it makes none.

    Cells are arrays, numbers, texts, or pickles not read yet.
    """
    import pyarrow as pa

    metadata = field.metadata or {}
    kind = metadata.get(b"ARROW:extension:name", b"").decode("latin-1")
    told = metadata.get(b"ARROW:extension:metadata", b"")
    if isinstance(column.type, pa.BaseExtensionType):  # where Ray Data is imported
        kind, told = column.type.extension_name, column.type.__arrow_ext_serialize__()
        column = column.storage
    rows = len(column)
    if kind == _PICKLES:
        return [None if cell is None else PickledCell(cell) for cell in column.to_pylist()]
    types = pa.types
    is_list = types.is_list(column.type) or types.is_large_list(column.type)
    if kind in _TENSORS and is_list:
        shape = checked_shape(json.loads(told), f"column {field.name!r}")
        values = column.flatten().to_numpy(zero_copy_only=False)
        if values.size != rows * int(np.prod(shape, dtype=np.int64)):
            raise corrupt(f"column {field.name!r} does not hold arrays of the shape it declares")
        return values.reshape(rows, *shape)
    if column.null_count:
        return _cells(field, column)
    if is_list and _is_number(types, column.type.value_type):
        return _rows_of_lists(column)
    if _is_number(types, column.type):
        return column.to_numpy(zero_copy_only=False)
    return _cells(field, column)


def _cells(field: Any, column: Any) -> list[Any]:
    cells: list[Any] = column.to_pylist()
    return cells if field.name == "infos" else [_typed(cell, column.type) for cell in cells]


def _typed(value: Any, kind: Any) -> Any:
    """Return a cell with numbers of the declared type; lists of unlike arrays become tuples."""
    import pyarrow as pa

    types = pa.types
    if value is None:
        return None
    if types.is_struct(kind):
        return {field.name: _typed(value[field.name], field.type) for field in kind}
    if _is_number(types, kind):
        return kind.to_pandas_dtype()(value)
    if not (types.is_list(kind) or types.is_large_list(kind)):
        return value
    if _is_number(types, kind.value_type):
        has_gaps = None in value
        return value if has_gaps else np.array(value, kind.value_type.to_pandas_dtype())
    parts = [_typed(part, kind.value_type) for part in value]
    if not parts or not all(isinstance(part, np.ndarray) for part in parts):
        return parts
    return np.stack(parts) if len({part.shape for part in parts}) == 1 else tuple(parts)


def _rows_of_lists(column: Any) -> Any:
    """Lists of numbers as one array, where all are as long as each other."""
    values = column.flatten()
    width, rest = divmod(len(values), max(1, len(column)))
    ends = column.offsets.to_numpy()
    if not rest and not values.null_count and (np.diff(ends) == width).all():
        return values.to_numpy(zero_copy_only=False).reshape(len(column), width)
    return [column[i].values.to_numpy(zero_copy_only=False) for i in range(len(column))]


def _is_number(types: Any, kind: Any) -> bool:
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))
