"""A checkpoint in one `.zip`: unpacked for as long as it is read, and written."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final

from ..errors import CheckpointError, CorruptCheckpointError, LimitExceededError
from .limits import Limits

_CHUNK: Final = 1 << 20
_MOST_RATIO: Final = 1000
_DAMAGED: Final = (zipfile.BadZipFile, OSError, RuntimeError, ValueError)


def is_zip(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a file that a checkpoint is zipped in."""
    file = Path(path)
    return file.suffix.lower() == ".zip" and file.is_file() and zipfile.is_zipfile(file)


@contextmanager
def unzipped(path: str | os.PathLike[str], limits: Limits) -> Iterator[Path]:
    """A folder with what an archive holds, for as long as the block lasts.

    Raises:
        CorruptCheckpointError: The archive is damaged, or a name in it leads elsewhere.
        LimitExceededError: It unfolds to more than may be read.
    """
    with tempfile.TemporaryDirectory(prefix="rlconnect-") as room:
        folder = Path(room, Path(path).stem or "checkpoint")
        folder.mkdir()
        try:
            with zipfile.ZipFile(path) as archive:
                _unpack(archive, folder, limits)
        except CheckpointError:
            raise
        except (
            zipfile.BadZipFile,
            OSError,
            RuntimeError,
            ValueError,
            NotImplementedError,
        ) as error:
            raise CorruptCheckpointError(
                f"{Path(path).name} cannot be unpacked ({str(error)[:200]})",
                hint="fetch the archive again.",
            ) from None
        yield _root(folder)


def _unpack(archive: zipfile.ZipFile, folder: Path, limits: Limits) -> None:
    members = [member for member in archive.infolist() if not member.is_dir()]
    total = sum(member.file_size for member in members)
    packed = sum(member.compress_size for member in members)
    if len(members) > limits.max_entries or total > limits.max_file_bytes:
        raise LimitExceededError(f"an archive of {len(members):,} files and {total:,} bytes")
    if total > limits.base_memory + _MOST_RATIO * packed:
        raise LimitExceededError(f"an archive that unfolds from {packed:,} to {total:,} bytes")
    for member in members:
        name = PurePosixPath(member.filename)
        if name.is_absolute() or ".." in name.parts or "\\" in member.filename or not name.parts:
            raise CorruptCheckpointError(f"a file in the archive is named {member.filename[:80]!r}")
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        left = member.file_size
        with archive.open(member) as source, open(target, "xb") as file:
            while left > 0 and (block := source.read(min(_CHUNK, left))):
                file.write(block)
                left -= len(block)


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
                with open(file, "rb") as source, archive.open(member, "w") as held:
                    while block := source.read(_CHUNK):
                        held.write(block)
