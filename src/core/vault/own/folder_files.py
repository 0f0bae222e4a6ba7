"""Plain files of one folder of ours, and what tells two saves in its place apart."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Final

from ...errors import (
    CheckpointError,
    CheckpointNotFoundError,
    MissingPartError,
    UnsafeCheckpointError,
)
from ..files.other_files import HEAD, pointer_error
from ..files.reading import access_error, checked_size, opened
from .file_bytes import FileBytes

_SMALL: Final = 1 << 16
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,127}")


def check_name(name: str) -> None:
    """Refuse a file name that could be a path or a device."""
    if not _NAME.fullmatch(name):
        raise UnsafeCheckpointError(
            f"{name[:80]!r} is no plain file name inside the checkpoint.",
            hint="do not use this checkpoint: rlconnect never writes such names.",
            file=name,
        )


def file_of(folder: Path, name: str, most: int) -> FileBytes | bytes:
    """The content of one file of at most `most` bytes; a large one is read as it is used."""
    check_name(name)
    try:
        descriptor = opened(folder / name, follow=False)
    except CheckpointNotFoundError:
        raise MissingPartError(
            f"{name} is missing from {folder}.",
            hint="copy the whole folder again from where it came from.",
            file=name,
        ) from None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise UnsafeCheckpointError(
                f"{name} in {folder} is no plain file.",
                hint="copy the checkpoint again from where it came from.",
                file=name,
            )
        size, _ = checked_size(descriptor, name, most, facts)
    except BaseException:
        os.close(descriptor)
        raise
    content = FileBytes(descriptor, size, name)
    if size > _SMALL:
        return content
    data = content[:]
    lost = pointer_error(name, data) if size < HEAD else None
    if lost is not None:
        raise lost
    return data


def save_at(folder: Path, manifest: str) -> tuple[int, ...]:
    """Marks by which the save in a folder differs from any other at the same path."""
    try:
        facts = os.stat(os.path.join(folder, ""))  # of a file: no folder
    except (OSError, ValueError) as error:
        raise access_error(folder, error) from None
    folder_id = (facts.st_dev, facts.st_ino)
    try:
        manifest_facts = os.lstat(folder / manifest)
    except OSError:
        return folder_id
    return *folder_id, manifest_facts.st_ino, manifest_facts.st_mtime_ns


def is_replaced(folder: Path, manifest: str, save: tuple[int, ...]) -> bool:
    """True if the folder was replaced by another save, or removed."""
    try:
        return save_at(folder, manifest) != save
    except CheckpointError:
        return True
