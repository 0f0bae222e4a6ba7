"""Columns of Arrow files (IPC), by the `offline` extra (pyarrow), each checked before it is read.

A file is a row of messages behind a mark; what packed messages unfold to is read from them first,
since the library believes what they declare.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from ...core.data.budget import Budget, checked_shape, corrupt
from ...core.data.damage import at
from ...core.importing.torch_needed import extra_needed
from ...core.text.first_line import first_line
from .places import Place

_MARK: Final = b"ARROW1\0\0"
_RECORD_BATCH: Final = 3
_HEADER_TYPE, _HEADER = 1, 2
_BUFFERS, _COMPRESSION = 2, 3


def read_columns(place: Place, budget: Budget) -> dict[str, Any]:
    """The columns of a file, as arrow arrays by name."""
    with extra_needed("pyarrow", f"reading {place.name}"):
        import pyarrow as pa
    budget.admit(place.disk_bytes)
    with place.open() as file:
        data = file.read(budget.left + 1)
    budget.spend(len(data), place.name)
    try:
        batches = list(_batches(pa, data, budget))
        if not batches:
            raise corrupt("it holds no rows")
        table = pa.Table.from_batches(batches)
        return {
            name: table.column(name).combine_chunks() for name in dict.fromkeys(table.column_names)
        }
    except (pa.ArrowException, OSError, KeyError, TypeError) as error:
        raise corrupt(f"it cannot be read as an Arrow file: {first_line(error)}") from None


def _batches(pa: Any, data: bytes, budget: Budget) -> Iterator[Any]:
    start = len(_MARK) if data.startswith(_MARK) else 0
    schema = None
    for message in pa.ipc.MessageReader.open_stream(pa.py_buffer(data)[start:]):
        budget.work(10, "an Arrow file")
        if message.type == "schema" and schema is None:
            schema = pa.ipc.read_schema(message)
        elif message.type == "record batch" and schema is not None:
            budget.spend(_unfolded(message), "a packed batch")
            batch = pa.ipc.read_record_batch(message, schema)
            batch.validate(full=True)
            yield batch
        else:
            raise corrupt("it holds what is no batch", found=message.type)


def _unfolded(message: Any) -> int:
    """How many bytes a packed batch declares to unfold to; 0 where it is not packed."""
    table = memoryview(message.metadata)
    try:
        (root,) = struct.unpack_from("<I", table, 0)
        if table[_field(table, root, _HEADER_TYPE)] != _RECORD_BATCH:
            raise corrupt("its messages contradict themselves")
        header = _target(table, _field(table, root, _HEADER))
        if not _field(table, header, _COMPRESSION):
            return 0
        vector = _target(table, _field(table, header, _BUFFERS))
        (count,) = struct.unpack_from("<I", table, vector)
        places = np.frombuffer(table, "<i8", 2 * count, vector + 4).reshape(-1, 2)
        body = memoryview(message.body)
        sizes = [struct.unpack_from("<q", body, begin)[0] for begin, size in places if size]
    except (struct.error, ValueError, IndexError):
        raise corrupt("its messages contradict themselves") from None
    return sum(max(0, size) for size in sizes)


def _field(table: memoryview, start: int, number: int) -> int:
    """Where a field of a flatbuffers table lies, 0 where it is left out."""
    (back,) = struct.unpack_from("<i", table, start)
    fields = start - back
    (size,) = struct.unpack_from("<H", table, fields)
    if 4 + 2 * number >= size:
        return 0
    (offset,) = struct.unpack_from("<H", table, fields + 4 + 2 * number)
    return start + offset if offset else 0


def _target(table: memoryview, place: int) -> int:
    return int(place + struct.unpack_from("<I", table, place)[0])


def tree_of(column: Any, budget: Budget, name: str, shape: tuple[int, ...] | None = None) -> Any:
    """A column as an array with its rows first, or dicts of such arrays by field.

    Texts, and rows of bytes, are arrays of objects. `shape` is that of a row, where the rows lie
    flat.
    """
    import pyarrow as pa

    types = pa.types
    kind = column.type
    if types.is_struct(kind):
        with budget.level(name), at(name):
            fields = [kind.field(i) for i in range(kind.num_fields)]
            return {
                field.name: tree_of(column.field(i), budget, field.name, _told_shape(field))
                for i, field in enumerate(fields)
            }
    if column.null_count:
        raise corrupt(f"column {name!r} lacks values")
    budget.spend(column.nbytes, f"column {name!r}")
    if types.is_fixed_size_list(kind) or types.is_list(kind) or types.is_large_list(kind):
        with budget.level(name):
            values = tree_of(column.flatten(), budget, name)
        if isinstance(values, dict) or (shape is None and len(values) % max(1, len(column))):
            raise corrupt(f"the rows of column {name!r} differ in shape")
        row_shape = shape if shape is not None else (len(values) // max(1, len(column)),)
        if len(values) != len(column) * int(np.prod(row_shape, dtype=object)):
            raise corrupt(f"column {name!r} does not hold arrays of the shape it declares")
        return values.reshape(len(column), *row_shape)
    if any(is_(kind) for is_ in (types.is_string, types.is_large_string, types.is_binary)):
        budget.spend(128 * len(column), f"column {name!r}")
        return np.array(column.to_pylist(), object)
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return column.to_numpy(zero_copy_only=False)
    raise corrupt(f"column {name!r} holds no numbers", found=str(kind))


def _told_shape(field: Any) -> tuple[int, ...] | None:
    text = (field.metadata or {}).get(b"shape")
    if text is None:
        return None
    sizes = [part for part in text.decode("latin-1").strip("()[] ").split(",") if part.strip()]
    if not all(part.strip().isdecimal() and len(part) < 12 for part in sizes):
        raise corrupt(f"field {field.name!r} has no valid shape", found=text[:40])
    return checked_shape([int(part) for part in sizes], f"field {field.name!r}")
