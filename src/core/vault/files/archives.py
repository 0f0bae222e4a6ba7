"""A checkpoint in one `.zip` or `.tgz`: unpacked for as long as it is read, and written."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, TypeAlias, cast

from ...data.file_names import names_trouble
from ...errors import CheckpointError, CorruptCheckpointError, LimitExceededError
from ..decode.load_limits import Limits, allow_more, too_many_files
from ..decode.zip_archives import opened_zip
from .number_files import ZIP_ERRORS
from .reading import checked_size

_CHUNK: Final = 1 << 20
_MAX_HEADER: Final = 1 << 20
"""Bytes that all headers of one member of a tar may take: names and extended attributes."""
_Member: TypeAlias = tuple[str, IO[bytes]]
_OPENERS: Final[dict[bytes, Callable[[IO[bytes], Limits], Any]]] = {
    b"\x1f\x8b": lambda file, _: gzip.GzipFile(fileobj=file),
    b"BZ": lambda file, _: bz2.BZ2File(file),
    b"\xfd7": lambda file, limits: io.BufferedReader(_XzFile(file, 3 * limits.base_memory)),
}


@contextmanager
def unpacked(path: str | os.PathLike[str], limits: Limits) -> Iterator[Path]:
    """A folder with an archive's files, which is removed after the block."""
    name = Path(path).name
    with tempfile.TemporaryDirectory(prefix="rlconnect-") as room:
        folder = Path(room, name.partition(".")[0] or "checkpoint")
        folder.mkdir()
        try:
            if name.lower().endswith(".zip"):
                with opened_zip(path, limits) as archive:
                    _unpack(_zipped(archive), Path(path), folder, limits)
            else:
                with _tar_stream(Path(path), limits) as stream:
                    _unpack(_tarred(stream), Path(path), folder, limits)
        except CheckpointError:
            raise
        except (*ZIP_ERRORS, tarfile.TarError, lzma.LZMAError, ValueError) as error:
            raise CorruptCheckpointError(
                f"{name} cannot be unpacked ({str(error)[:200]})",
                hint="fetch the archive again.",
            ) from None
        yield _root(folder)


def _zipped(archive: zipfile.ZipFile) -> Iterator[_Member]:
    for member in archive.infolist():
        if not member.is_dir():
            with archive.open(member) as source:
                yield member.filename, source


class _XzFile(io.RawIOBase):
    """The unpacked bytes of an `.xz` file; its decoder may take `most` bytes (`xz -9` 65 MiB)."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._file, self._most = file, most
        self._stream = lzma.LZMADecompressor(memlimit=most)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            packed = b""
            if self._stream.eof:
                packed = self._stream.unused_data or self._file.read(_CHUNK)
                if not packed:
                    return 0
                self._stream = lzma.LZMADecompressor(memlimit=self._most)
            elif self._stream.needs_input:
                packed = self._file.read(_CHUNK)
                if not packed:
                    raise EOFError("the archive is cut")
            try:
                data = self._stream.decompress(packed, len(buffer))
            except lzma.LZMAError as error:
                if "limit" not in str(error):
                    raise
                raise LimitExceededError(
                    "the .xz archive needs a decoder with a larger dictionary",
                    expected=f"one that takes at most {self._most:,} bytes",
                    hint=allow_more("base_memory"),
                ) from None
            if data:
                buffer[: len(data)] = data
                return len(data)


class _TarStream:
    """The unpacked bytes of a tar, forward only; `tarfile` reads headers without a limit."""

    def __init__(self, file: IO[bytes], packed: int, most: int) -> None:
        self._file = file
        self._packed, self._most = packed, most
        self._at = 0
        self.header_left: int | None = _MAX_HEADER
        """Bytes left for headers; None while the content of a member is read."""

    def tell(self) -> int:
        return self._at

    def read(self, size: int) -> bytes:
        if self.header_left is not None:
            if size > self.header_left:
                raise LimitExceededError(
                    "the headers of a file in the archive are too long",
                    expected=f"at most {_MAX_HEADER:,} bytes",
                    hint="pack the checkpoint again, without extended attributes.",
                )
            self.header_left -= size
        return self._next(size)

    def seek(self, position: int) -> int:
        if position < self._at:
            raise tarfile.ReadError("files in the archive overlap")
        while self._at < position:
            if not self._next(min(_CHUNK, position - self._at)):
                raise tarfile.ReadError("unexpected end of data")
        return self._at

    def _next(self, size: int) -> bytes:
        data = self._file.read(size)
        self._at += len(data)
        # Each file adds a header and padding to what it contains.
        if self._at > self._most:
            raise _too_large(self._packed, self._most)
        return data


@contextmanager
def _tar_stream(path: Path, limits: Limits) -> Iterator[_TarStream]:
    packed, most = _sizes(path, limits)
    most += 4 * tarfile.BLOCKSIZE * limits.max_entries
    with open(path, "rb") as file:
        opener = _OPENERS.get(file.read(2))
        file.seek(0)
        yield _TarStream(opener(file, limits) if opener else file, packed, most)


def _tarred(stream: _TarStream) -> Iterator[_Member]:
    archive: Any = tarfile.TarFile(fileobj=cast("IO[bytes]", stream))
    while (member := archive.next()) is not None:
        archive.members.clear()
        archive.pax_headers.clear()
        if not member.isdir():
            source = archive.extractfile(member) if member.isreg() else None
            if source is None:
                raise CorruptCheckpointError(
                    f"{member.name[:80]!r} in the archive is no file",
                    hint="pack the checkpoint's files themselves, not links to them.",
                )
            stream.header_left = None
            yield member.name, source
        stream.header_left = _MAX_HEADER


def _sizes(path: Path, limits: Limits) -> tuple[int, int]:
    """Bytes of an archive, and how many it may unpack to."""
    with open(path, "rb") as file:
        _, packed = checked_size(file.fileno(), path.name, limits.max_file_bytes)
    return packed, min(limits.max_file_bytes, limits.base_memory + limits.memory_factor * packed)


def _too_large(packed: int, most: int) -> LimitExceededError:
    return LimitExceededError(
        f"an archive that unfolds from {packed:,} to more than {most:,} bytes",
        hint=allow_more("base_memory"),
    )


def _unpack(members: Iterator[_Member], path: Path, folder: Path, limits: Limits) -> None:
    packed, most = _sizes(path, limits)
    left = most
    for number, (text, source) in enumerate(members):
        name = PurePosixPath(text)
        if name.is_absolute() or ".." in name.parts or "\\" in text or not name.parts:
            raise CorruptCheckpointError(f"a file in the archive is named {text[:80]!r}")
        trouble = next(filter(None, (names_trouble([part]) for part in name.parts)), "")
        if trouble:
            raise CorruptCheckpointError(
                f"a file in the archive cannot lie on this disk ({trouble[:200]})",
                hint="unpack it on another system, and rename what is named so.",
            )
        if number >= limits.max_entries:
            raise too_many_files(limits.max_entries, "an archive")
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target, "xb") as file:
            while block := source.read(_CHUNK):
                left -= len(block)
                if left < 0:
                    raise _too_large(packed, most)
                file.write(block)


def _root(folder: Path) -> Path:
    """The one folder in an archive that was packed with its own name."""
    inside = list(folder.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else folder


def write_zip(folder: Path, target: Path) -> None:
    """Pack a folder; equal folders give equal bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            if os.path.isfile(file):
                member = zipfile.ZipInfo(file.relative_to(folder).as_posix())
                member.compress_type = zipfile.ZIP_DEFLATED
                with open(file, "rb") as source, archive.open(member, "w") as packed:
                    while block := source.read(_CHUNK):
                        packed.write(block)
