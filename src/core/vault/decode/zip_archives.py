"""Zip archives from untrusted sources: their directory is checked before it takes memory."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ...errors import CorruptCheckpointError, LimitExceededError
from .load_limits import Limits, allow_more, too_many_files

_ENTRY: Final = b"PK\x01\x02"
_COMPRESSIONS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
"""Compressions that take little memory; the dictionary of LZMA has any size."""


class _Source(io.BufferedReader):
    """Bytes of an archive; `zipfile` reads the directory at once and makes an object per entry."""

    limits: Limits | None = None
    """Checked while the directory is read."""

    def read(self, size: int | None = -1) -> bytes:
        if self.limits is None:
            return super().read(size)
        if size is not None and size > self.limits.base_memory:
            raise LimitExceededError(
                f"the directory of the archive takes {size:,} bytes",
                expected=f"at most {self.limits.base_memory:,}",
                hint=allow_more("base_memory"),
            )
        data = super().read(size)
        if data.count(_ENTRY) > self.limits.max_entries:
            raise too_many_files(self.limits.max_entries, "an archive")
        return data


@contextmanager
def opened_zip(
    source: str | os.PathLike[str] | bytes | memoryview, limits: Limits
) -> Iterator[zipfile.ZipFile]:
    """Open an archive, a file or bytes, for reading.

    Raises:
        LimitExceededError: It has more files than `limits` allow.
        CorruptCheckpointError: It is compressed in an unusual way.
        zipfile.BadZipFile: It is not a zip archive.
    """
    is_data = isinstance(source, (bytes, memoryview))
    raw = io.BytesIO(source) if is_data else io.FileIO(Path(source))  # type: ignore[arg-type]
    with raw, _Source(raw) as file:
        file.limits = limits
        with zipfile.ZipFile(file) as archive:
            file.limits = None
            odd = {entry.compress_type for entry in archive.infolist()}.difference(_COMPRESSIONS)
            if odd:
                raise CorruptCheckpointError(
                    "the archive is compressed in a way that is not read",
                    expected="deflate, bzip2 or no compression",
                    found=f"method {min(odd)}",
                )
            yield archive
