"""Wait until files, and the names of files in folders, are on the disk."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from pathlib import Path
from typing import Final

_DIRECTORY: Final = getattr(os, "O_DIRECTORY", 0)
_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
_BINARY: Final = getattr(os, "O_BINARY", 0)
_FULL_FLUSH: Final[int | None] = 51 if sys.platform == "darwin" else None
"""`fcntl.F_FULLFSYNC`, which Python names on macOS alone."""
_FLUSHABLE: Final = os.O_RDWR if os.name == "nt" else os.O_RDONLY


def flush_file(file: Path) -> None:
    """Wait until a file's content is on the disk."""
    _flush(file, _FLUSHABLE)


def flush_folder(folder: Path) -> None:
    """Wait until each file below a folder, and the folder itself, are on the disk."""
    with os.scandir(folder) as entries:
        inside = sorted(
            (entry.name, entry.is_dir(follow_symlinks=False))
            for entry in entries
            if not entry.is_symlink()
        )
    for name, is_folder in inside:
        if is_folder:
            flush_folder(folder / name)
        else:
            flush_file(folder / name)
    _flush(folder, os.O_RDONLY)


def flush_names(folder: Path) -> None:
    """Wait until the names in a folder and all below it are on the disk."""
    for place, folders, _ in os.walk(folder):
        folders[:] = [name for name in folders if not os.path.islink(os.path.join(place, name))]
        _flush(Path(place), os.O_RDONLY)


def _flush(path: Path, flags: int) -> None:
    if stat.S_ISDIR(path.lstat().st_mode) and os.name == "nt":
        return
    descriptor = os.open(path, flags | _NO_FOLLOW | _BINARY)
    try:
        flush_descriptor(descriptor)
    finally:
        os.close(descriptor)


def flush_descriptor(descriptor: int) -> None:
    """Wait until a file is on the disk itself: macOS's `fsync` ends at the disk's own memory."""
    if _FULL_FLUSH is not None:
        import fcntl

        with contextlib.suppress(OSError):  # a network disk, which knows `fsync` alone
            fcntl.fcntl(descriptor, _FULL_FLUSH)
            return
    os.fsync(descriptor)


def flush_parent(target: Path) -> None:
    """Wait until the name of a file or folder is on the disk, where the disk can do that."""
    try:
        _flush(target.parent, os.O_RDONLY | _DIRECTORY)
    except OSError as error:
        # Some network disks cannot flush folders; they write names through at once.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
