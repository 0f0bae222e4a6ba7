"""Everything at a path that an ordinary reader would unpickle, however it is wrapped.

A pickle by itself, in a zip as torch writes it, in msgpack, in an array of objects, as bytes inside
another pickle, as base64 or hexadecimal text in JSON, compressed or not: what a file is, its bytes
say, whatever its name. Each is read by the same machine as checkpoints are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ...errors import CheckpointError
from ..decode.load_limits import Limits, limits_in_force, too_many_files
from ..files.reading import entries
from ..files.remote import fetched, is_url
from ..records.records import CallRecord, Checkpoint, Problem
from .auditor import Auditor
from .kinds import KINDS


@dataclass(frozen=True)
class Audit:
    """What an ordinary unpickler would call if it opened the files at a path.

    Args:
        path: What was looked at.
        calls: Every name with its kind; runners first.
        files: The files that hold pickles in any wrapping.
        unread: What could not be read to its end.
    """

    path: str
    calls: tuple[CallRecord, ...] = ()
    files: tuple[str, ...] = ()
    unread: tuple[Problem, ...] = ()

    @property
    def unsafe(self) -> tuple[CallRecord, ...]:
        """The calls that run programs or reach functions that do."""
        return self.of_kind("runner")

    def of_kind(self, kind: str) -> tuple[CallRecord, ...]:
        """The calls of one kind."""
        return tuple(call for call in self.calls if call.kind == kind)

    def as_data(self) -> dict[str, Any]:
        """The audit as plain data."""
        return {
            "path": self.path,
            "kinds": {kind: len(self.of_kind(kind)) for kind in KINDS},
            "calls": [asdict(call) for call in self.calls],
            "files": list(self.files),
            "unread": [asdict(problem) for problem in self.unread],
        }


def audit(path: str | os.PathLike[str], *, limits: Limits | None = None) -> Audit:
    """What an ordinary unpickler would call if it opened the files at `path`; nothing here does.

    Args:
        path: A file, a folder with all below it, or with the `remote` extra a URL.
        limits: How much reading a file may take.

    Raises:
        CheckpointNotFoundError: Nothing lies there.
        CheckpointAccessError: It may not be read.
    """
    limits = limits or limits_in_force()
    text = os.fspath(path)
    if isinstance(text, str) and is_url(text):
        with fetched(text, limits) as local:
            return replace(_audit(Path(local), limits), path=text)
    return _audit(Path(os.path.abspath(text)), limits)


def with_audit(checkpoint: Checkpoint) -> Checkpoint:
    """A checkpoint whose audit covers the files that were not decoded, too; a URL's as it is."""
    if is_url(checkpoint.path):
        return checkpoint
    try:
        result = audit(checkpoint.path)
    except CheckpointError:
        return checkpoint
    known_calls = {(call.name, call.how) for call in checkpoint.unsafe}
    more = tuple(call for call in result.unsafe if (call.name, call.how) not in known_calls)
    return replace(checkpoint, unsafe=(*checkpoint.unsafe, *more))


def _audit(path: Path, limits: Limits) -> Audit:
    auditor = Auditor(limits)
    if os.path.isdir(path):
        for file in _files_below(path, limits):
            auditor.file(file, file.relative_to(path).as_posix())
    else:
        auditor.file(path, path.name, alone=True)
    calls = [c for kind in reversed(KINDS) for c in auditor.calls.values() if c.kind == kind]
    return Audit(str(path), tuple(calls), tuple(auditor.files), tuple(auditor.unread))


def _files_below(folder: Path, limits: Limits) -> Iterator[Path]:
    """Regular files of a folder and all below it, by name; links to folders are not followed."""
    pending, entries_left = [folder], limits.max_entries
    while pending:
        below = []
        for entry in entries(pending.pop(), limits):
            entries_left -= 1
            if entries_left < 0:
                raise too_many_files(limits.max_entries, folder)
            if entry.is_dir(follow_symlinks=False):
                below.append(Path(entry.path))
            elif os.path.isfile(entry.path):
                yield Path(entry.path)
        pending.extend(reversed(below))
