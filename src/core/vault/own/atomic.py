"""Replace a folder or a file as a whole: at every moment the old one or the new one is there.

The new one is built beside the old under a hidden name, flushed to the disk, then swapped in:

1. Nothing lies at the path: one rename.
2. Linux: the two names are exchanged in one step (`renameat2`, `RENAME_EXCHANGE`).
3. Elsewhere a folder moves aside to `.NAME.old-*`, then the new one moves in. A writer that dies
   between the two leaves the path empty; `leftovers.survivor` finds the old one for readers, and
   the next writer moves it back. A file never needs this: its rename replaces in one step.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final
from weakref import WeakValueDictionary

from ...runtime.sharing import Turn
from .file_bytes import let_go
from .flushing import flush_file, flush_folder, flush_names, flush_parent
from .leftovers import held, make_locked, remove, sibling, sweep
from .write_errors import refusal, refusals

_TRIES: Final = 16
_AT_FDCWD: Final = -100
_RENAME_EXCHANGE: Final = 2
_BINARY: Final = getattr(os, "O_BINARY", 0)


_turns: Final[WeakValueDictionary[str, Turn]] = WeakValueDictionary()
_guard = threading.Lock()


@contextlib.contextmanager
def turn_at(target: Path) -> Iterator[None]:
    """Let the writers of one place go one after the other, those of this process; it may nest.

    Processes do without: each leaves a whole save, and sweeps up what a killed one left.
    """
    with _guard:
        turn = _turns.setdefault(os.path.realpath(target), Turn())
    with turn:
        yield


def _forget_turns() -> None:
    """A forked process has none of the threads whose turn it was."""
    global _guard
    _guard = threading.Lock()
    _turns.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_turns)


@contextlib.contextmanager
def replaced_folder(
    target: Path,
    check: Callable[[], None] = lambda: None,
    carry: Callable[[Path, Path], None] | None = None,
) -> Iterator[Path]:
    """Return an empty folder to fill; when the block ends, it takes the place of `target`.

    If the block or the swap fails, `target` is as before and nothing is left behind. `check` is
    called once more right before the swap, and raises if `target` may not be replaced. `carry`
    brings what is to stay of an older folder into the new one: before the swap, and once more after
    it for what has changed in between.

    Raises:
        CheckpointWriteError: The disk refuses, or the process stands inside `target`.
    """
    with turn_at(target), refusals(target):
        _check_left(target)
        sweep(target)
        staged, lock = make_locked(target, os.mkdir)
        older = None
        try:
            yield staged
            flush_folder(staged)
            check()
            if carry is not None and os.path.lexists(target):
                carry(target, staged)
                flush_names(staged)
                older = held(target)
            _commit(staged, target, carry)
        finally:
            for descriptor in (lock, older):
                if descriptor is not None:
                    os.close(descriptor)
            # After the swap the old folder lies here; after a failure, the unfinished one.
            remove(staged)


@contextlib.contextmanager
def replaced_file(target: Path, before: Callable[[], None] = lambda: None) -> Iterator[Path]:
    """Return an empty file to write; when the block ends, it takes the place of `target`.

    `before` is called right before that, when the file is on the disk.
    """
    with refusals(target):
        sweep(target)
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | _BINARY
        staged, lock = make_locked(target, lambda path: os.close(os.open(path, flags, 0o666)))
        try:
            yield staged
            flush_file(staged)
            before()
            _freed(os.replace, staged, target, target=target)
            flush_parent(target)
        finally:
            if lock is not None:
                os.close(lock)
            remove(staged)


def make_parents(target: Path) -> None:
    """Make the folders above a path, each of them on the disk under its name."""
    missing = []
    for parent in target.parents:
        if os.path.exists(parent):
            break
        missing.append(parent)
    for parent in reversed(missing):
        parent.mkdir(exist_ok=True)
        flush_parent(parent)


def _check_left(target: Path) -> None:
    """Refuse the process's working directory: it would go on in a folder that is gone."""
    try:
        here = Path.cwd()
        replaced = target.stat()  # Looked at once: another writer may move it aside meanwhile.
        stands_inside = any(
            os.path.samestat(replaced, place.stat()) for place in (here, *here.parents)
        )
    except OSError:
        return
    if stands_inside:
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
        flush_parent(target)
    except OSError:
        if aside == staged:
            exchange(staged, target)
        elif aside is None or os.path.lexists(aside):
            os.rename(target, staged)
            if aside is not None:
                os.rename(aside, target)
        raise
    if aside not in (None, staged):
        remove(aside)


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
        aside = sibling(target, "old")
        try:
            _freed(os.rename, target, aside, target=target)
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


def _freed(move: Callable[[Path, Path], None], old: Path, new: Path, *, target: Path) -> None:
    """Rename, once more where readers of this process had a file open: Windows refuses that."""
    try:
        move(old, new)
    except PermissionError:
        if not let_go(target):
            raise
        move(old, new)


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
