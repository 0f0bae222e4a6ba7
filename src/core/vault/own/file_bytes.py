"""The bytes of a file, read when they are asked for.

Not mapped: where another process cuts a mapped file, whoever looks at it is killed by a signal.
Here it is an error. The file is held open, so it stays the one that was checked.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from threading import Lock
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...errors import CorruptCheckpointError

_BLOCK: Final = 1 << 20
_HAS_OFFSETS: Final = hasattr(os, "preadv")


class FileBytes:
    """A file that is open, by slices; threads and forked processes may share it.

    Args:
        descriptor: The file; it is closed when this object goes.
        size: How long it was found to be.
        name: For errors.

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
        self._turn = Lock()
        weakref.finalize(self, os.close, descriptor)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, place: slice) -> bytes:
        begin, end, _ = place.indices(self._size)
        return self.array(begin, end).tobytes()

    def array(self, begin: int, end: int) -> NDArray[np.uint8]:
        """The bytes from `begin` to `end` as an array of their own.

        Raises:
            CorruptCheckpointError: The file ends before that by now.
        """
        found = np.empty(max(0, end - begin), np.uint8)
        self._fill(found.data, begin)
        return found

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

    def _read(self, part: Any, begin: int) -> int:
        if _HAS_OFFSETS:
            return os.preadv(self._descriptor, [part], begin)
        with self._turn:  # where there are no offsets there are no forked processes either
            os.lseek(self._descriptor, begin, os.SEEK_SET)
            data = os.read(self._descriptor, min(len(part), _BLOCK))
            part[: len(data)] = data
            return len(data)
