"""Looks into one file after the other for pickles in any wrapping; see `files` for the whole."""

from __future__ import annotations

import json
import re
import struct
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ...errors import (
    CheckpointAccessError,
    CheckpointError,
    CheckpointNotFoundError,
    CorruptCheckpointError,
    LimitExceededError,
)
from ..decode.constructors import CONSTRUCTORS
from ..decode.load_limits import Budget, Limits, one_load
from ..decode.msgpack_file import array_in, decode_msgpack
from ..decode.pickle_machine import DAMAGED, PickleMachine, Trace
from ..decode.standins import GlobalRef, PersistentRef
from ..decode.walk import children
from ..decode.zip_archives import opened_zip
from ..files.json_text import check_text
from ..files.number_files import ZIP_ERRORS
from ..files.reading import read_bytes, read_head
from ..records.records import CallRecord, Problem
from .calls import calls_of
from .wrappings import HEAD, bytes_in_text, kind_of_bytes, npy_header, starts_pickle

_MOST_PARTS: Final = 64  # pickles one behind the other in a file
_MOST_CALLS: Final = 2000


class Auditor:
    """Goes through files and the data inside them.

    Each file is a load by itself, which lets go of what it made: one that spends all its budget
    hides nothing of the next.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.calls: dict[tuple[str, str, str], CallRecord] = {}
        self.files: list[str] = []
        self.unread: list[Problem] = []
        self.budget = Budget(limits, 0)

    def file(self, path: Path, place: str, *, alone: bool = False) -> None:
        """Look at one file; `alone` where it was asked for by name."""
        try:
            with one_load(self.limits) as self.budget:
                kind = kind_of_bytes(read_head(path, HEAD, follow=alone), path.name)
                if kind or alone:
                    data = read_bytes(path, self.limits, follow=alone, budget=self.budget)
                    self.content(data, place, kind or "pickle", 0)
        except (CheckpointNotFoundError, CheckpointAccessError) as error:
            if alone:
                raise
            self.miss(place, error)
        except CheckpointError as error:
            self.miss(place, error)

    def miss(self, place: str, error: CheckpointError) -> None:
        """Note a part that could not be read to its end."""
        problem = Problem(place, f"is not read to its end: {error.summary}", error.hint, "damaged")
        if problem not in self.unread and len(self.unread) < _MOST_CALLS:
            self.unread.append(problem)

    def content(self, data: bytes | memoryview, place: str, kind: str, depth: int) -> None:
        """Look at bytes of a kind that `kind_of_bytes` told."""
        if depth > self.limits.max_nested_files:
            raise LimitExceededError(f"files lie more than {depth - 1} deep inside each other")
        looks = {
            "pickle": self._pickles,
            "zip": self._zip,
            "msgpack": self._msgpack,
            "json": self._json,
            "npy": self._npy,
            "packed": self._packed,
        }
        try:
            looks[kind](data, place, depth)
        except CheckpointError as error:
            self.miss(place, error)

    def _pickles(self, data: bytes | memoryview, place: str, depth: int) -> None:
        """One pickle, and those that follow it in the same file."""
        self._count(place)
        position, values = 0, []
        for number in range(_MOST_PARTS):
            trace, value = Trace(), None
            machine = PickleMachine(
                data, self.budget, constructors=CONSTRUCTORS, trace=trace, persistent=PersistentRef
            )
            try:
                value = machine.load(position)
            finally:
                where = place if number == 0 else f"{place} (pickle {number + 1})"
                self.note(calls_of(trace, value, where))
            values.append(value)
            values += [part for _, call in trace.objects for part in (call.args, call.kwargs)]
            position = machine.position
            if not starts_pickle(bytes(data[position : position + HEAD])):
                break
        for value in values:
            self._inside(value, place, depth)

    def _zip(self, data: bytes | memoryview, place: str, depth: int) -> None:
        try:
            with opened_zip(data, self.limits) as archive:
                for member in archive.infolist():
                    self.budget.work(HEAD, "the archive")
                    inside = f"{place} > {member.filename[:200]}"
                    try:
                        content = self._member(archive, member, data)
                    except (*DAMAGED, *ZIP_ERRORS) as error:
                        self.miss(inside, CorruptCheckpointError(str(error)[:200]))
                        continue
                    kind = kind_of_bytes(bytes(content[:HEAD]), member.filename)
                    if kind:
                        self.content(content, inside, kind, depth + 1)
        except CheckpointError:
            raise
        except (*DAMAGED, *ZIP_ERRORS) as error:
            why = str(error)[:200]
            raise CorruptCheckpointError(f"the archive cannot be read ({why})") from None

    def _member(
        self, archive: zipfile.ZipFile, member: zipfile.ZipInfo, data: bytes | memoryview
    ) -> bytes | memoryview:
        """A member's bytes; where it is stored as it is, a wrong checksum stops nobody."""
        if member.compress_type == zipfile.ZIP_STORED:
            names = struct.unpack_from("<HH", data, member.header_offset + 26)
            start = member.header_offset + 30 + sum(names)
            return memoryview(data)[start : start + member.file_size]
        with archive.open(member) as file:
            head = file.read(HEAD)
            if not kind_of_bytes(head, member.filename):
                return head
            self.budget.spend(member.file_size, "an archive's member")
            return head + file.read(max(0, member.file_size - len(head)))

    def _msgpack(self, data: bytes | memoryview, place: str, depth: int) -> None:
        def pickled(content: bytes) -> None:
            self.content(content, f"{place} (an array of objects)", "pickle", depth + 1)

        value = decode_msgpack(
            data, self.budget, hook=lambda held: array_in(held, self.budget, on_pickle=pickled)
        )
        self._inside(value, place, depth)

    def _json(self, data: bytes | memoryview, place: str, depth: int) -> None:
        if len(data) > self.limits.max_json_bytes:
            raise LimitExceededError(f"{len(data):,} bytes of JSON")
        check_text(bytes(data), place, self.budget)
        text = bytes(data).decode("utf-8", "replace")
        values = [_texts_of(text)]
        if values == [text]:
            values = list(map(_texts_of, text.splitlines()))
        for value in values:
            self._inside(value, place, depth)

    def _npy(self, data: bytes | memoryview, place: str, depth: int) -> None:
        start = npy_header(data)
        if re.search(rb"'descr':\s*'\|?O", bytes(data[:start])):
            self.content(data[start:], f"{place} (an array of objects)", "pickle", depth + 1)

    def _packed(self, data: bytes | memoryview, place: str, depth: int) -> None:
        """Zlib or gzip, as far as the budget goes."""
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
        try:
            head = unpacker.decompress(bytes(data[:4096]), HEAD)
            kind = kind_of_bytes(head, place)
            if not kind:
                return
            unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
            unpacked = unpacker.decompress(bytes(data), self.budget.left // 2)
        except zlib.error:
            return
        self.budget.spend(len(unpacked), "packed data")
        if unpacker.unconsumed_tail:
            raise LimitExceededError("packed data unfolds to more than the file may take")
        self.content(unpacked, f"{place} (packed)", kind, depth + 1)

    def _inside(self, value: Any, place: str, depth: int) -> None:
        visited: set[int] = set()
        pending: list[tuple[Any, str]] = [(value, "")]
        while pending:
            part, path = pending.pop()
            if isinstance(part, (bytes, memoryview)):
                self._held(part, f"{place}: {path}" if path else place, depth)
            elif isinstance(part, str):
                raw = bytes_in_text(part)
                if raw:
                    self.budget.spend(len(part), "text")
                    self._held(raw, f"{place}: {path}" if path else place, depth)
            elif id(part) not in visited:
                visited.add(id(part))
                self.budget.work(1, "its structure")
                pending += [
                    (child, step if not path else f"{path}/{step}"[:300])
                    for step, child in children(part)
                    if not isinstance(child, (int, float, GlobalRef))
                ]

    def _held(self, data: bytes | memoryview, place: str, depth: int) -> None:
        kind = kind_of_bytes(bytes(data[:HEAD]), "")
        if kind and kind != "json":
            self.content(data, place, kind, depth + 1)

    def note(self, calls: list[CallRecord]) -> None:
        """Collect calls, those of one name and kind as one."""
        for call in calls:
            key = call.name, call.kind, call.how
            earlier = self.calls.get(key)
            if earlier is not None:
                self.calls[key] = replace(earlier, count=earlier.count + call.count)
            elif len(self.calls) < _MOST_CALLS or call.kind == "runner":
                self.calls[key] = call

    def _count(self, place: str) -> None:
        file = place.partition(" > ")[0]
        if file not in self.files and len(self.files) < self.limits.max_entries:
            self.files.append(file)


def _texts_of(text: str) -> Any:
    """The data in JSON text, numbers as their lengths; the text itself if it is no JSON.

    A key that stands twice is kept.
    """
    try:
        return json.loads(text, object_pairs_hook=_object, parse_int=len, parse_float=len)
    except ValueError:
        return text


def _object(pairs: list[tuple[str, Any]]) -> Any:
    mapping = dict(pairs)
    return mapping if len(mapping) == len(pairs) else pairs
