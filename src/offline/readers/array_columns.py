"""Arrays of a file, each read on row by row: members of an `.npz`, datasets of an HDF5 file."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Any, Final

import numpy as np

from ...core.data.budget import Budget, checked_bytes, corrupt
from ...core.data.damage import at
from ...core.errors import LimitExceededError
from ...core.types import Array
from ...core.vault.files.number_files import read_header
from . import hdf5
from .places import Place

_MOST_COLUMNS: Final = 1_000


class ArrayColumn:
    """One array, its rows read one after the other.

    `read` gives the rows from a first to a last one and is called in their order; `problem` says
    why they cannot be read.
    """

    def __init__(
        self, rows: int, read: Callable[[int, int, Budget], Array], problem: str = ""
    ) -> None:
        self.rows = rows
        self.problem = problem
        self._read = read
        self._at = 0

    def read(self, rows: int, budget: Budget) -> Array:
        """The next rows."""
        first, self._at = self._at, self._at + rows
        if self._at > self.rows:
            raise corrupt("it ends before its last row")
        return self._read(first, self._at, budget)


@contextmanager
def opened(place: Place) -> Iterator[dict[str, ArrayColumn]]:
    """The arrays of a file by name."""
    if place.suffix in hdf5.SUFFIXES:
        with hdf5.stumbling(place.name), hdf5.opened(place) as file:
            yield _of_hdf5(file)
        return
    try:
        with ExitStack() as streams:
            archive = streams.enter_context(zipfile.ZipFile(place.path))
            yield _of_archive(archive, streams)
    except (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError) as error:
        raise corrupt(f"{place.name} cannot be unpacked ({str(error)[:200]})") from None


def _of_archive(archive: zipfile.ZipFile, streams: ExitStack) -> dict[str, ArrayColumn]:
    members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
    _check_count(len(members))
    columns = {}
    for info in members:
        with at(info.filename):
            stream = streams.enter_context(archive.open(info))
            columns[info.filename.removesuffix(".npy")] = _of_member(stream, info.file_size)
    return columns


def _of_member(stream: IO[bytes], size: int) -> ArrayColumn:
    header = read_header(stream)
    if header is None:
        return ArrayColumn(-1, _nothing, "is of a version of NumPy's format that is not read")
    shape, is_fortran, dtype = header
    rows = shape[0] if shape else -1
    if dtype.hasobject:
        return ArrayColumn(rows, _nothing, "holds Python objects, which are not built")
    if checked_bytes(shape, dtype) > size:
        raise corrupt("it declares more numbers than it has", found=f"shape {shape} of {dtype}")
    row_bytes = checked_bytes(shape[1:], dtype)

    def read(first: int, last: int, budget: Budget) -> Array:
        byte_count = (last - first) * row_bytes
        budget.spend(byte_count, "rows of an array")
        data = stream.read(byte_count)
        if len(data) != byte_count:
            raise corrupt("it ends before its last row")
        return np.frombuffer(data, dtype).reshape(last - first, *shape[1:])

    def read_columns_first(first: int, last: int, budget: Budget) -> Array:
        if not arrays:
            budget.spend(rows * row_bytes, "an array")
            data = stream.read(rows * row_bytes)
            arrays.append(np.frombuffer(data, dtype).reshape(shape, order="F"))
        return np.ascontiguousarray(arrays[0][first:last])

    arrays: list[Array] = []
    return ArrayColumn(rows, read_columns_first if is_fortran else read)


def _of_hdf5(file: Any) -> dict[str, ArrayColumn]:
    columns: dict[str, ArrayColumn] = {}
    groups = [("", file)]
    for path, group in groups:
        for name, item in hdf5.members(group).items():
            _check_count(len(columns) + len(groups))
            if hdf5.is_group(item):
                if path.count("/") < 2:
                    groups.append((f"{path}{name}/", item))
            else:
                columns[f"{path}{name}"] = _of_dataset(item, f"{path}{name}")
    return columns


def _of_dataset(data: Any, name: str) -> ArrayColumn:
    shape = data.shape
    if not isinstance(shape, tuple) or data.dtype.kind not in "biuf":
        return ArrayColumn(-1 if not shape else shape[0], _nothing, "holds no numbers")

    def read(first: int, last: int, budget: Budget) -> Array:
        return hdf5.read_array(data, budget, name, slice(first, last))

    return ArrayColumn(shape[0] if shape else -1, read)


def _nothing(first: int, last: int, budget: Budget) -> Array:
    raise corrupt("these rows cannot be read")


def _check_count(count: int) -> None:
    if count > _MOST_COLUMNS:
        raise LimitExceededError(f"a file of more than {_MOST_COLUMNS:,} arrays")
