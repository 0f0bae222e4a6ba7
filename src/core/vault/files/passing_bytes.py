"""The bytes of a large file, read at once and given away part by part.

Whoever takes a part gets bytes of his own, and its memory here goes back to the system meanwhile:
what is made of a large file does not lie beside the file. All of it was read before anything is
looked at, so the bytes that were checked are the bytes that are used.
"""

from __future__ import annotations

import io
import mmap
from typing import Final

_STEP: Final = 4 << 20
_GONE: Final = getattr(mmap, "MADV_DONTNEED", None)
_PRIVATE: Final = (  # Memory that may be shared with other processes does not go back in parts.
    {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
)


class PassingBytes:
    """Bytes of a file, each part of which may be taken once.

    Attributes:
        data: What was read; parts that were taken hold anything.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryFile() as file:
        ...     _ = file.write(b"0123456789"), file.seek(0)
        ...     passing = PassingBytes(file.fileno(), 10)
        >>> passing.take(2, 5)
        b'234'
    """

    def __init__(self, descriptor: int, size: int) -> None:
        self._memory = mmap.mmap(-1, size, **_PRIVATE)
        whole = memoryview(self._memory)
        done = 0
        with open(descriptor, "rb", buffering=0, closefd=False) as file:
            while count := file.readinto(whole[done:]):
                done += count
        self.data = whole[:done].toreadonly()

    def __len__(self) -> int:
        return len(self.data)

    def take(self, begin: int, end: int) -> bytes:
        """The bytes from `begin` to `end`, which are not to be looked at here again."""
        taken = io.BytesIO()  # Grows where it lies, and is not copied for its value.
        page = mmap.PAGESIZE
        gone = -(-begin // page) * page
        for at in range(begin, end, _STEP):
            until = min(at + _STEP, end)
            taken.write(self.data[at:until])
            whole_pages = until // page * page
            if _GONE is not None and whole_pages > gone:
                self._memory.madvise(_GONE, gone, whole_pages - gone)
                gone = whole_pages
        return taken.getvalue()
