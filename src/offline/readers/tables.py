"""Parquet files, row by row, by the `offline` extra (pyarrow); nothing of Ray Data is needed.

Ray keeps arrays in columns of its own types, whose names and shapes lie in the metadata of the
fields: arrays as flat lists, anything else as a pickle for each row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np

from ...core.data.budget import Budget, Limits, checked_shape, corrupt, one_load
from ...core.data.damage import at
from ...core.errors import CheckpointError, LimitExceededError, RlconnectError
from ...core.importing.torch_needed import extra_needed
from ...core.text.visible import first_line
from ..damaged import Damage
from .parquet_pages import rows_within
from .places import Place

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
        return column.to_pylist()
    if is_list and _is_number(types, column.type.value_type):
        return _rows_of_lists(column)
    if _is_number(types, column.type):
        return column.to_numpy(zero_copy_only=False)
    return column.to_pylist()


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
