"""What a Parquet file unfolds to, by its pages' headers, before pyarrow believes them.

A page may hold a billion times the same number in a few bytes, and a footer may say otherwise.
Headers are small structs in Thrift's compact form.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from io import SEEK_END
from typing import IO, Any, Final

from ...core.data.budget import corrupt
from ...core.errors import LimitExceededError

_LONGEST_HEADER: Final = 1 << 16
_WIDTHS: Final = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 12}
_SIZE, _PACKED = 2, 3
_DATA, _DICTIONARY, _DATA_V2 = 5, 7, 8
_COUNT: Final = 1
_FACTOR: Final = 64  # images of one colour pack well
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
        hint="pass larger limits=Limits(base_memory=...) if you trust where it came from.",
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
