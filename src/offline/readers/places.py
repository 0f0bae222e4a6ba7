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
from ...core.errors import CheckpointNotFoundError, CorruptCheckpointError, LimitExceededError
from ...core.vault.decode.load_limits import limits_in_force, too_many_files
from ...core.vault.files.remote import fetched, is_url

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

SUFFIXES: Final = frozenset(
    {".json", ".jsonl", ".gz", ".parquet", ".zip", ".hdf5", ".h5", ".arrow", ".msgpack", ".npz"}
)
_BUFFER: Final = 1 << 20  # lines are long
_PACKED: Final = (".json.gz", ".jsonl.gz")
_DIGITS: Final = re.compile(r"(\d+)")


@dataclass(frozen=True)
class Place:
    """One file, maybe packed with gzip, or one member of a zip archive.

    Args:
        path: The file on disk.
        member: The member's name, for an archive.
        name: As people read it: relative to what the caller named.
    """

    path: Path
    name: str
    member: str = ""

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
        with zipfile.ZipFile(self.path) as archive, archive.open(self.member) as file:
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
        found += _below(text)
        if len(found) > limits.max_entries:
            raise too_many_files(limits.max_entries, each)
    if not found:
        raise CheckpointNotFoundError(
            f"no recorded data lies at {', '.join(map(str, given))[:200]}",
            expected=f"files ending in {', '.join(sorted(SUFFIXES))}",
            hint="name a file, a folder of files, or a pattern such as 'out/*.json'.",
        )
    return found


def _below(text: str) -> list[Place]:
    path = Path(text)
    if path.is_dir():
        files = (Path(root, name) for root, _, names in os.walk(path) for name in names)
        chosen = sorted((f for f in files if f.suffix.lower() in SUFFIXES), key=_order)
        named = [(file, file.relative_to(path).as_posix()) for file in chosen if file.is_file()]
    elif path.is_file():
        named = [(path, path.name)]
    else:
        chosen = sorted(map(Path, glob.glob(text, recursive=True)), key=_order)
        named = [(file, file.name) for file in chosen if file.is_file()]
    return [part for file, name in named for part in _parts(file, name)]


def _parts(file: Path, name: str) -> list[Place]:
    if file.suffix.lower() != ".zip" or not zipfile.is_zipfile(file):
        return [Place(file, name)]
    try:
        with zipfile.ZipFile(file) as archive:
            held = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise CorruptCheckpointError(
            f"{name} cannot be unpacked ({str(error)[:200]})", hint="fetch the archive again."
        ) from None
    if len(held) > limits_in_force().max_entries:
        raise LimitExceededError(f"an archive of {len(held):,} files")
    members = sorted(each.filename for each in held if not each.is_dir())
    return [Place(file, f"{name}/{member}", member) for member in members]


def _order(path: Path) -> list[tuple[bool, int, str]]:
    parts = _DIGITS.split(path.as_posix())
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]
