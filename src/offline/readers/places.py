"""Which files a path, a pattern or a list of them names, and how their bytes are come by."""

from __future__ import annotations

import glob
import gzip
import os
import re
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, cast

from ...core.data.budget import Limits
from ...core.errors import (
    CheckpointNotFoundError,
    CorruptCheckpointError,
    LimitExceededError,
    RlconnectError,
)
from ...core.vault.decode.load_limits import DEFAULT_LIMITS, too_many_files
from ...core.vault.decode.zip_archives import opened_zip
from ...core.vault.files.number_files import ZIP_ERRORS
from ...core.vault.files.reading import holes_in
from ...core.vault.files.remote import fetched, is_url

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

SUFFIXES: Final = frozenset(
    {".json", ".jsonl", ".gz", ".parquet", ".zip", ".hdf5", ".h5", ".arrow", ".msgpack", ".npz"}
)
_BUFFER: Final = 1 << 20  # lines are long
_MOST_MEMBERS: Final = 500
_PACKED: Final = (".json.gz", ".jsonl.gz")
_DIGITS: Final = re.compile(r"(\d+)")


@dataclass(frozen=True)
class Place:
    """One file, maybe packed with gzip, or one member of a zip archive.

    Args:
        path: The file on disk.
        member: The member's name, for an archive.
        name: As people read it: relative to what the caller named.
        packed_bytes: Bytes of the member in its archive.
    """

    path: Path
    name: str
    member: str = ""
    packed_bytes: int = 0

    @property
    def file_name(self) -> str:
        """Its name without folders, and without what says that it is packed."""
        name = Path(self.member or self.path).name
        return name[: -len(".gz")] if self._is_packed else name

    @property
    def _is_packed(self) -> bool:
        return not self.member and self.path.name.lower().endswith(_PACKED)

    @property
    def suffix(self) -> str:
        """How its name ends, in small letters."""
        return Path(self.file_name).suffix.lower()

    @property
    def disk_bytes(self) -> int:
        """Bytes that the file takes on disk: holes do not count, nor what it unpacks to."""
        with self.path.open("rb", buffering=0) as file:
            facts = os.fstat(file.fileno())
            size = facts.st_size - holes_in(file.fileno(), facts)
        return min(size, self.packed_bytes) if self.member else size

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Its bytes, as a stream; what is packed is not unpacked to disk."""
        if self._is_packed:
            with gzip.open(self.path, "rb") as unpacked:
                yield cast("IO[bytes]", unpacked)
            return
        if not self.member:
            with self.path.open("rb", _BUFFER) as file:
                yield file
            return
        with opened_zip(self.path, DEFAULT_LIMITS) as archive, archive.open(self.member) as file:
            yield file


def places(paths: Paths, limits: Limits, copies: ExitStack) -> list[Place]:
    """Every file that may hold data, sorted by name; numbers in names count as numbers.

    `copies` keeps local copies of what lies behind a URL.
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    found: list[Place] = []
    for each in given:
        text = os.fspath(each)
        if is_url(text):
            text = str(copies.enter_context(fetched(text, limits, SUFFIXES)))
        found += _below(text, limits)
        if len(found) > limits.max_entries:
            raise too_many_files(limits.max_entries, each)
    if not found:
        raise CheckpointNotFoundError(
            f"no recorded data lies at {', '.join(map(str, given))[:200]}",
            expected=f"files ending in {', '.join(sorted(SUFFIXES))}",
            hint="name a file, a folder of files, or a pattern such as 'out/*.json'.",
        )
    return found


def _below(text: str, limits: Limits) -> list[Place]:
    path = Path(text)
    if os.path.isdir(path):
        files = (Path(root, name) for root, _, names in os.walk(path) for name in names)
        chosen = sorted((f for f in files if f.suffix.lower() in SUFFIXES), key=_order)
        named = [
            (file, file.relative_to(path).as_posix()) for file in chosen if os.path.isfile(file)
        ]
    elif os.path.isfile(path):
        named = [(path, path.name)]
    else:
        chosen = sorted(map(Path, glob.glob(text, recursive=True)), key=_order)
        named = [(file, file.name) for file in chosen if os.path.isfile(file)]
    return [part for file, name in named for part in _parts(file, name, limits)]


def _parts(file: Path, name: str, limits: Limits) -> list[Place]:
    if file.suffix.lower() != ".zip" or not zipfile.is_zipfile(file):
        return [Place(file, name)]
    try:
        with opened_zip(file, limits) as archive:
            held = {each.filename: each.compress_size for each in archive.infolist()}
    except RlconnectError:
        raise
    except (*ZIP_ERRORS, ValueError) as error:
        raise CorruptCheckpointError(
            f"{name} cannot be unpacked ({str(error)[:200]})", hint="fetch the archive again."
        ) from None
    if len(held) > _MOST_MEMBERS:  # each is opened by itself
        raise LimitExceededError(
            f"{name} has {len(held):,} files",
            expected=f"at most {_MOST_MEMBERS}",
            hint="unpack it, and open the folder.",
        )
    members = sorted(member for member in held if not member.endswith("/"))
    return [Place(file, f"{name}/{member}", member, held[member]) for member in members]


def _order(path: Path) -> list[tuple[bool, int, str]]:
    parts = _DIGITS.split(path.as_posix())
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]
