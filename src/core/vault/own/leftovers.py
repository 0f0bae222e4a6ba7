"""The hidden places where a save is built, and what killed writers left in them.

A writer holds a lock (`flock`) on what it builds. The lock dies with its process, so `sweep`
knows what a killed writer left behind and removes only that.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from .flushing import flush_parent

_TRIES: Final = 16
_UNKNOWN_OWNER_SECONDS: Final = 24 * 3600
_HIDDEN: Final = re.compile(r"\.(.+)\.(tmp|old)-[0-9a-f]{12}", re.DOTALL)
_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)


def survivor(target: Path) -> Path | None:
    """The old folder that a killed writer moved aside, if nothing lies at `target`.

    Reading it changes nothing on the disk; the next save puts it back.
    """
    if os.path.lexists(target):
        return None
    olds = [path for path, kind in _leftovers(target) if kind == "old"]
    return max(olds, key=_changed_at, default=None)


def sweep(target: Path) -> None:
    """Move back what a killed writer moved aside, and remove what killed writers left."""
    older = survivor(target)
    if older is not None:
        with contextlib.suppress(OSError):
            os.rename(older, target)
    for path, kind in _leftovers(target):
        if kind == "tmp" or os.path.lexists(target):
            _remove_abandoned(path)


def sweep_folder(folder: Path) -> None:
    """Remove what killed writers left beside anything in a folder."""
    for name in sorted(
        {match[1] for each in os.listdir(folder) if (match := _HIDDEN.fullmatch(each))}
    ):
        sweep(folder / name)


def removed(target: Path) -> None:
    """Take a folder or file away in one step: a half-removed one is never at its path."""
    aside = sibling(target, "tmp")
    try:
        os.rename(target, aside)
    except FileNotFoundError:
        return
    except OSError:
        aside = target
    flush_parent(target)
    remove(aside)


def _changed_at(path: Path) -> int:
    """When it last changed; another process may have taken it away since it was listed."""
    try:
        return path.lstat().st_mtime_ns
    except OSError:
        return -1


def sibling(target: Path, kind: str) -> Path:
    """A new hidden path beside a target: `tmp` to build in, `old` for the replaced one."""
    return target.with_name(f".{target.name}.{kind}-{secrets.token_hex(6)}")


def _leftovers(target: Path) -> list[tuple[Path, str]]:
    """Hidden siblings that a writer of `target` made, each with its kind; links are not ours."""
    try:
        with os.scandir(target.parent) as entries:
            leftovers = [
                (target.with_name(entry.name), match[2])
                for entry in entries
                if (match := _HIDDEN.fullmatch(entry.name))
                and match[1] == target.name
                and not entry.is_symlink()
            ]
    except OSError:
        return []
    return sorted(leftovers)


def make_locked(target: Path, make: Callable[[Path], None]) -> tuple[Path, int | None]:
    """Make a hidden sibling of `target` and lock it; no lock where the disk knows none."""
    for _ in range(_TRIES):
        path = sibling(target, "tmp")
        make(path)
        with contextlib.suppress(_TakenError):
            lock = _lock(path)
            # A sweep may have come between making and locking; then begin again.
            if os.path.lexists(path):
                return path, lock
            if lock is not None:
                os.close(lock)
    raise OSError(errno.EBUSY, "other writers keep sweeping it away", str(target))


class _TakenError(Exception):
    """Another living process holds the lock."""


def _lock(path: Path) -> int | None:
    """A descriptor that holds the lock of `path`; None where it cannot be locked."""
    try:
        import fcntl  # Not on Windows.

        lock = os.open(path, os.O_RDONLY | _NO_FOLLOW)
    except (ImportError, OSError):
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        if error.errno in (errno.EAGAIN, errno.EACCES):
            raise _TakenError from None
        return None
    return lock


def held(path: Path) -> int | None:
    """A lock on a folder that moves aside, so that no sweep removes it while it is read."""
    try:
        return _lock(path)
    except _TakenError:
        return None


def _remove_abandoned(path: Path) -> None:
    """Remove leftovers that no living process holds; unknown owners get a day."""
    with contextlib.suppress(_TakenError, OSError):
        lock = _lock(path)
        if lock is None:
            if time.time() - path.lstat().st_mtime > _UNKNOWN_OWNER_SECONDS:
                remove(path)
            return
        try:
            remove(path)
        finally:
            os.close(lock)


def remove(path: Path) -> None:
    """Remove a file or a tree, following no link; failures wait for the next sweep."""
    with contextlib.suppress(OSError):
        if stat.S_ISDIR(path.lstat().st_mode):
            shutil.rmtree(path, ignore_errors=True)
            if os.path.lexists(path):  # Folders carried over may be read-only.
                for place, _, _ in os.walk(path):
                    os.chmod(place, stat.S_IRWXU)
                shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
