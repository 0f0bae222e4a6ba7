"""The bytes of a file, read when they are asked for.

Not mapped: where another process cuts a mapped file, whoever looks at it is killed by a signal.
Here it is an error. The file is held open, so it stays the one that was checked, until a save needs
its place on a system that moves no open file.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ...errors import CorruptCheckpointError

_BLOCK: Final = 1 << 20
_HAS_OFFSETS: Final = hasattr(os, "preadv")
_OPEN: Final[weakref.WeakSet[FileBytes]] = weakref.WeakSet()


class FileBytes:
    """A file that is open, by slices; threads and forked processes may share it.

    It is closed when this object goes; `size` is how long it was found to be.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryFile() as file:
        ...     _ = file.write(b"0123456789"), file.flush()
        ...     held = FileBytes(os.dup(file.fileno()), 10, "a file")
        >>> held[2:5], len(held)
        (b'234', 10)
    """

    def __init__(self, descriptor: int, size: int, name: str) -> None:
        self.name = name
        self._descriptor, self._size = descriptor, size
        self._kept: memoryview | None = None
        self._turn = Lock()
        self._close = weakref.finalize(self, os.close, descriptor)
        _OPEN.add(self)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, place: slice) -> bytes:
        begin, end, _ = place.indices(self._size)
        return self.array(begin, end).tobytes()

    def array(self, begin: int, end: int) -> NDArray[np.uint8]:
        """The bytes from `begin` to `end` as an array of their own."""
        array = np.empty(max(0, end - begin), np.uint8)
        self._fill(array.data, begin)
        return array

    def blocks(self) -> Iterator[memoryview]:
        """All of it from the beginning, in parts that are valid until the next one."""
        block = np.empty(min(_BLOCK, self._size), np.uint8)
        for begin in range(0, self._size, _BLOCK):
            part = block.data[: self._size - begin]
            self._fill(part, begin)
            yield part

    def _fill(self, part: memoryview, begin: int) -> None:
        done = 0
        while done < len(part):
            count = self._read(part[done:], begin + done)
            if not count:
                raise CorruptCheckpointError(
                    f"{self.name} was cut while it was read.",
                    hint="load it again when nobody writes to it.",
                    file=self.name,
                )
            done += count

    def _read(self, part: memoryview, begin: int) -> int:
        with self._turn:
            if self._kept is not None:
                data = self._kept[begin : begin + len(part)]
            elif _HAS_OFFSETS:  # a forked process moves nobody's place in the file
                return os.preadv(self._descriptor, [part], begin)
            else:
                os.lseek(self._descriptor, begin, os.SEEK_SET)
                data = memoryview(os.read(self._descriptor, min(len(part), _BLOCK)))
            part[: len(data)] = data
            return len(data)

    def is_of(self, files: set[tuple[int, int]]) -> bool:
        """True if its file is open, and one of these by device and number."""
        facts = os.fstat(self._descriptor) if self._close.alive else None
        return facts is not None and (facts.st_dev, facts.st_ino) in files

    def keep(self) -> None:
        """Read all of it now, and close the file; what was cut off is missed when it is read."""
        array = np.empty(self._size, np.uint8)
        done = 0
        while count := self._read(array.data[done:], done):
            done += count
        with self._turn:
            self._kept = array.data[:done]
            self._close()


def let_go(path: Path) -> bool:
    """Close the open readers of a file or a folder's files; True if there were any.

    Whoever reads them has their bytes in memory from then on.
    """
    files = set()
    for each in (path, *path.rglob("*")):
        facts = each.lstat()
        files.add((facts.st_dev, facts.st_ino))
    readers = [reader for reader in list(_OPEN) if reader.is_of(files)]
    for reader in readers:
        reader.keep()
    return bool(readers)


def _unlock_all() -> None:
    """Forget who was reading: a forked process has none of those threads."""
    for each in list(_OPEN):
        each._turn = Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock_all)
