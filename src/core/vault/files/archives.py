"""A checkpoint in one `.zip` or `.tgz`: unpacked for as long as it is read, and written."""

from __future__ import annotations

import os
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Final, TypeAlias

from ...data.file_names import names_trouble
from ...errors import CheckpointError, CorruptCheckpointError, LimitExceededError
from ..decode.load_limits import Limits, too_many_files
from .number_files import ZIP_ERRORS

_CHUNK: Final = 1 << 20
_MOST_RATIO: Final = 1000
_Member: TypeAlias = tuple[str, IO[bytes]]


@contextmanager
def unpacked(path: str | os.PathLike[str], limits: Limits) -> Iterator[Path]:
    """A folder with an archive's files, which is removed after the block."""
    name = Path(path).name
    with tempfile.TemporaryDirectory(prefix="rlconnect-") as room:
        folder = Path(room, name.partition(".")[0] or "checkpoint")
        folder.mkdir()
        try:
            if name.lower().endswith(".zip"):
                with zipfile.ZipFile(path) as archive:
                    _unpack(_zipped(archive), Path(path), folder, limits)
            else:
                with tarfile.open(path) as tar:
                    _unpack(_tarred(tar), Path(path), folder, limits)
        except CheckpointError:
            raise
        except (*ZIP_ERRORS, tarfile.TarError, ValueError) as error:
            raise CorruptCheckpointError(
                f"{name} cannot be unpacked ({str(error)[:200]})",
                hint="fetch the archive again.",
            ) from None
        yield _root(folder)


def _zipped(archive: zipfile.ZipFile) -> Iterator[_Member]:
    for member in archive.infolist():
        if not member.is_dir():
            with archive.open(member) as source:
                yield member.filename, source


def _tarred(archive: tarfile.TarFile) -> Iterator[_Member]:
    for member in archive:
        if member.isdir():
            continue
        source = archive.extractfile(member) if member.isreg() else None
        if source is None:
            raise CorruptCheckpointError(
                f"{member.name[:80]!r} in the archive is no file",
                hint="pack the checkpoint's files themselves, not links to them.",
            )
        yield member.name, source


def _unpack(members: Iterator[_Member], path: Path, folder: Path, limits: Limits) -> None:
    packed = path.stat().st_size
    most = min(limits.max_file_bytes, limits.base_memory + _MOST_RATIO * packed)
    left = most
    for number, (text, source) in enumerate(members):
        name = PurePosixPath(text)
        if name.is_absolute() or ".." in name.parts or "\\" in text or not name.parts:
            raise CorruptCheckpointError(f"a file in the archive is named {text[:80]!r}")
        trouble = next(filter(None, (names_trouble([part]) for part in name.parts)), "")
        if trouble:
            raise CorruptCheckpointError(
                f"a file in the archive cannot lie on this disk ({trouble[:200]})",
                hint="unpack it on another system, and rename what is named so.",
            )
        if number >= limits.max_entries:
            raise too_many_files(limits.max_entries, "an archive")
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target, "xb") as file:
            while block := source.read(_CHUNK):
                left -= len(block)
                if left < 0:
                    raise LimitExceededError(
                        f"an archive that unfolds from {packed:,} to more than {most:,} bytes"
                    )
                file.write(block)


def _root(folder: Path) -> Path:
    """The one folder in an archive that was packed with its own name."""
    inside = list(folder.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else folder


def write_zip(folder: Path, target: Path) -> None:
    """Pack a folder; equal folders give equal bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                member = zipfile.ZipInfo(file.relative_to(folder).as_posix())
                member.compress_type = zipfile.ZIP_DEFLATED
                with open(file, "rb") as source, archive.open(member, "w") as packed:
                    while block := source.read(_CHUNK):
                        packed.write(block)
