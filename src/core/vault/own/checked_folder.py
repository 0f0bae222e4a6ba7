"""Open the files of one folder without being led out of it or fooled about their size.

Files are opened relative to the folder itself, not to its path, so a folder that is replaced
while it is read stays one whole; pipes, names that are paths, and links but those of a download
cache (`cached_links`) are refused.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path
from types import TracebackType
from typing import Final

from typing_extensions import Self

from ...errors import (
    CorruptCheckpointError,
    MissingPartError,
    UnsafeCheckpointError,
)
from ..files.cached_links import cached_file
from ..files.other_files import HEAD, pointer_error
from ..files.reading import NO_FOLLOW, READ_FLAGS, access_error, checked_size
from .file_bytes import FileBytes

_SMALL: Final = 1 << 16
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,127}")
_HAS_FOLDER_HANDLES: Final = os.open in os.supports_dir_fd and hasattr(os, "O_DIRECTORY")


class CheckedFolder:
    """One folder, held open; close it, or use it as a context.

    Args:
        path: The folder.

    Example:
        >>> import tempfile
        >>> place = tempfile.TemporaryDirectory()
        >>> _ = Path(place.name, "a.json").write_text("{}")
        >>> with CheckedFolder(Path(place.name)) as folder:
        ...     folder.read("a.json", max_bytes=10)
        b'{}'
        >>> place.cleanup()
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None
        if _HAS_FOLDER_HANDLES:
            try:
                self._handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            except OSError as error:
                raise access_error(path, error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the folder; what was given stays valid."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def is_replaced(self) -> bool:
        """Whether another folder lies at the path by now."""
        try:
            now = os.stat(self.path)
        except OSError:
            return True
        return self._handle is not None and not os.path.samestat(now, os.fstat(self._handle))

    def read(self, name: str, max_bytes: int) -> bytes:
        """The content of one file of at most `max_bytes`."""
        descriptor = self._open(name)
        try:
            return read_all(descriptor, name, max_bytes)
        finally:
            os.close(descriptor)

    def size(self, name: str) -> int:
        """How long one file is."""
        descriptor = self._open(name)
        try:
            return os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)

    def content(self, name: str, max_bytes: int) -> FileBytes | bytes:
        """The content of one file; of a large one, each part when it is used."""
        descriptor = self._open(name)
        try:
            size, _ = checked_size(descriptor, name, max_bytes)
            if size <= _SMALL:
                return read_all(descriptor, name, max_bytes)
            held, descriptor = FileBytes(descriptor, size, name), -1
            return held
        finally:
            if descriptor >= 0:
                os.close(descriptor)

    def _open(self, name: str) -> int:
        check_name(name)
        try:
            if self._handle is None:
                if os.path.islink(self.path / name):
                    raise OSError(errno.ELOOP, "a link")
                descriptor = os.open(self.path / name, READ_FLAGS | NO_FOLLOW)
            else:
                descriptor = os.open(name, READ_FLAGS | NO_FOLLOW, dir_fd=self._handle)
        except FileNotFoundError:
            raise MissingPartError(
                f"{name} is missing from {self.path}.",
                hint="copy the whole folder again from where it came from.",
                file=name,
            ) from None
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EMLINK):
                return self._open_link(name)
            raise access_error(self.path / name, error) from None
        return self._checked(descriptor, name)

    def _open_link(self, name: str) -> int:
        """What a link of a download cache stands for."""
        held = cached_file(self.path / name)
        if held is None:
            raise UnsafeCheckpointError(
                f"{name} in {self.path} is a link, and could lead anywhere.",
                hint="copy the folder with its links resolved: cp -rL.",
                file=name,
            )
        try:
            return self._checked(os.open(held, READ_FLAGS | NO_FOLLOW), name)
        except OSError as error:
            raise access_error(held, error) from None

    def _checked(self, descriptor: int, name: str) -> int:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise UnsafeCheckpointError(
                f"{name} in {self.path} is no plain file.",
                hint="copy the checkpoint again from where it came from.",
                file=name,
            )
        return descriptor


def check_name(name: str) -> None:
    """Refuse a file name that could be a path or a device."""
    if not _NAME.fullmatch(name):
        raise UnsafeCheckpointError(
            f"{name[:80]!r} is no plain file name inside the checkpoint.",
            hint="do not use this checkpoint: rlconnect never writes such names.",
            file=name,
        )


def read_all(descriptor: int, name: str, max_bytes: int) -> bytes:
    """The content of an open file of at most `max_bytes`."""
    left, _ = checked_size(descriptor, name, max_bytes)
    blocks = []
    while left and (block := os.read(descriptor, left)):
        blocks.append(block)
        left -= len(block)
    if left:
        raise CorruptCheckpointError(f"{name} was cut while it was read.", file=name)
    content = b"".join(blocks)
    lost = pointer_error(name, content) if len(content) < HEAD else None
    if lost is not None:
        raise lost
    return content
