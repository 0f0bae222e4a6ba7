"""Replace a folder or a file as a whole: at every moment the old one or the new one is there.

The new one is built beside the old under a hidden name, flushed to the disk, then swapped in:

1. Nothing lies at the path: one rename.
2. Linux: the two names are exchanged in one step (`renameat2`, `RENAME_EXCHANGE`).
3. Elsewhere a folder moves aside to `.NAME.old-*`, then the new one moves in. A writer that dies
   between the two leaves the path empty; `survivor` finds the old one for readers, and the next
   writer moves it back. A file never needs this: its rename replaces in one step everywhere.

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
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from .write_errors import refusal, refusals

_TRIES: Final = 16
_AT_FDCWD: Final = -100
_RENAME_EXCHANGE: Final = 2
_UNKNOWN_OWNER_SECONDS: Final = 24 * 3600
_DIRECTORY: Final = getattr(os, "O_DIRECTORY", 0)
_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
_BINARY: Final = getattr(os, "O_BINARY", 0)
_FLUSHABLE: Final = os.O_RDWR if os.name == "nt" else os.O_RDONLY


@contextlib.contextmanager
def replaced_folder(
    target: Path,
    check: Callable[[], None] = lambda: None,
    carry: Callable[[Path, Path], None] | None = None,
) -> Iterator[Path]:
    """Give an empty folder to fill; when the block ends, it takes the place of `target`.

    If the block or the swap fails, `target` is as before and nothing is left behind.

    Args:
        target: The final place; its parent must exist.
        check: Called once more right before the swap; raises if `target` may not be replaced.
        carry: Brings what is to stay of an older folder into the new one. It is called before the
            swap, and once more after it for what has changed in between.

    Raises:
        CheckpointWriteError: The disk refuses, or the process stands inside `target`.
    """
    with refusals(target):
        _check_left(target)
        sweep(target)
        staged, lock = _make_locked(target, os.mkdir)
        try:
            yield staged
            flush_folder(staged)
            check()
            if carry is not None and os.path.lexists(target):
                carry(target, staged)
                _flush_names(staged)
            _commit(staged, target, carry)
        finally:
            if lock is not None:
                os.close(lock)
            # After the swap the old folder lies here; after a failure, the unfinished one.
            _remove(staged)


@contextlib.contextmanager
def replaced_file(target: Path, before: Callable[[], None] = lambda: None) -> Iterator[Path]:
    """Give an empty file to write; when the block ends, it takes the place of `target`.

    Args:
        target: The final place; its parent must exist.
        before: Called right before the file takes its place, when it is on the disk.

    Raises:
        CheckpointWriteError: The disk refuses; what was at `target` is untouched.
    """
    with refusals(target):
        sweep(target)
        staged, lock = _make_locked(target, _make_file)
        try:
            yield staged
            flush_file(staged)
            before()
            os.replace(staged, target)
            _flush_parent(target)
        finally:
            if lock is not None:
                os.close(lock)
            _remove(staged)


def removed(target: Path) -> None:
    """Take a folder or file away in one step: a half-removed one is never at its path."""
    aside = _sibling(target, "tmp")
    try:
        os.rename(target, aside)
    except FileNotFoundError:
        return
    except OSError:
        aside = target
    _flush_parent(target)
    _remove(aside)


def make_parents(target: Path) -> None:
    """Make the folders above a path, each of them on the disk under its name."""
    missing = []
    for parent in target.parents:
        if parent.exists():
            break
        missing.append(parent)
    for parent in reversed(missing):
        parent.mkdir(exist_ok=True)
        _flush_parent(parent)


def survivor(target: Path) -> Path | None:
    """The old folder that a killed writer moved aside, if nothing lies at `target`.

    Reading it changes nothing on the disk; the next save puts it back.
    """
    if os.path.lexists(target):
        return None
    kept = [path for path, kind in _leftovers(target) if kind == "old"]
    return max(kept, key=_changed_at, default=None)


def sweep(target: Path) -> None:
    """Move back what a killed writer moved aside, and remove what killed writers left."""
    kept = survivor(target)
    if kept is not None:
        with contextlib.suppress(OSError):
            os.rename(kept, target)
    for path, kind in _leftovers(target):
        if kind == "tmp" or os.path.lexists(target):
            _remove_abandoned(path)


def flush_file(file: Path) -> None:
    """Wait until what is in a file is on the disk."""
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


def _flush_names(folder: Path) -> None:
    """Wait until the names in a folder and all below it are on the disk."""
    for place, folders, _ in os.walk(folder):
        folders[:] = [name for name in folders if not os.path.islink(os.path.join(place, name))]
        _flush(Path(place), os.O_RDONLY)


def _check_left(target: Path) -> None:
    """Refuse a folder that this process stands in: it would go on in one that is gone."""
    try:
        here = Path.cwd()
    except OSError:
        return
    if target.is_dir() and any(os.path.samefile(target, place) for place in (here, *here.parents)):
        raise refusal(
            target,
            "the current folder lies in it, and it is replaced as a whole",
            "change to another folder first, or save to one of another name.",
        )


def _commit(staged: Path, target: Path, carry: Callable[[Path, Path], None] | None = None) -> None:
    """Swap `staged` in, and back out again if the disk refuses to remember it."""
    aside = _swap(staged, target)
    try:
        if carry is not None and aside is not None:
            carry(aside, target)
        _flush_parent(target)
    except OSError:
        if aside == staged:
            exchange(staged, target)
        elif aside is None or os.path.lexists(aside):
            os.rename(target, staged)
            if aside is not None:
                os.rename(aside, target)
        raise
    if aside not in (None, staged):
        _remove(aside)


def _swap(staged: Path, target: Path) -> Path | None:
    """Put `staged` at `target`; return where the old one lies now, None if there was none."""
    for _ in range(_TRIES):
        if not os.path.lexists(target):
            try:
                os.rename(staged, target)
            except OSError as error:
                if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                    continue  # Another writer was faster; replace what it wrote.
                raise
            return None
        if exchange(staged, target):
            return staged
        aside = _sibling(target, "old")
        try:
            os.rename(target, aside)
        except FileNotFoundError:
            continue
        try:
            os.rename(staged, target)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.rename(aside, target)
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                continue
            raise
        return aside
    raise OSError(errno.EBUSY, "other writers keep replacing it", str(target))


def exchange(first: Path, second: Path) -> bool:
    """Exchange two names in one step; False where the system or the disk cannot."""
    if sys.platform != "linux":
        return False
    import ctypes  # Loaded by writers only, and only here.

    call = getattr(ctypes.CDLL(None), "renameat2", None)
    if call is None:
        return False
    names = (os.fsencode(first), os.fsencode(second))
    # Whatever it refuses, the plain renames that follow try again and say why.
    done = call(_AT_FDCWD, names[0], _AT_FDCWD, names[1], ctypes.c_uint(_RENAME_EXCHANGE))
    return bool(done == 0)


def _changed_at(path: Path) -> int:
    """When it last changed; another process may have taken it away since it was listed."""
    try:
        return path.lstat().st_mtime_ns
    except OSError:
        return -1


def _sibling(target: Path, kind: str) -> Path:
    return target.with_name(f".{target.name}.{kind}-{secrets.token_hex(6)}")


def _leftovers(target: Path) -> list[tuple[Path, str]]:
    """Hidden siblings that a writer of `target` made, each with its kind; links are not ours."""
    pattern = re.compile(rf"\.{re.escape(target.name)}\.(tmp|old)-[0-9a-f]{{12}}")
    try:
        with os.scandir(target.parent) as entries:
            found = [
                (target.with_name(entry.name), match[1])
                for entry in entries
                if (match := pattern.fullmatch(entry.name)) and not entry.is_symlink()
            ]
    except OSError:
        return []
    return sorted(found)


def _make_file(path: Path) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | _BINARY, 0o666))


def _make_locked(target: Path, make: Callable[[Path], None]) -> tuple[Path, int | None]:
    """Make a hidden sibling of `target` and lock it; no lock where the disk knows none."""
    for _ in range(_TRIES):
        path = _sibling(target, "tmp")
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
    """A descriptor that holds the lock of `path`; None where nobody can know."""
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


def _remove_abandoned(path: Path) -> None:
    """Remove what no living process holds; unknown owners get a day."""
    with contextlib.suppress(_TakenError, OSError):
        lock = _lock(path)
        if lock is None:
            if time.time() - path.lstat().st_mtime > _UNKNOWN_OWNER_SECONDS:
                _remove(path)
            return
        try:
            _remove(path)
        finally:
            os.close(lock)


def _remove(path: Path) -> None:
    """Remove a file or a tree, following no link; what refuses waits for the next sweep."""
    with contextlib.suppress(OSError):
        if stat.S_ISDIR(path.lstat().st_mode):
            shutil.rmtree(path, ignore_errors=True)
            if os.path.lexists(path):  # Folders carried over may be read-only.
                for place, _, _ in os.walk(path):
                    os.chmod(place, stat.S_IRWXU)
                shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def _flush(path: Path, flags: int) -> None:
    if stat.S_ISDIR(path.lstat().st_mode) and os.name == "nt":
        return
    descriptor = os.open(path, flags | _NO_FOLLOW | _BINARY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _flush_parent(target: Path) -> None:
    try:
        _flush(target.parent, os.O_RDONLY | _DIRECTORY)
    except OSError as error:
        # Some network disks cannot flush folders; they write names through at once.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
