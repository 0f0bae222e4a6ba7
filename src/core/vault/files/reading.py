"""Read files of a checkpoint folder: regular files only, sizes first, errors in two lines.

A link is followed where the caller named it, and never below: what a checkpoint's folder holds is
the checkpoint, and a link in it could lead to any file of this machine. Only the links that a
download cache is made of lead to what is surely its own: Hugging Face keeps what it downloads as
`models--NAME/blobs/HASH`, and each version of it as links below `models--NAME/snapshots/VERSION/`.
Whoever has such a folder has its `blobs` beside it. Our own format is read by the same rule.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import mmap
import os
import stat
from collections.abc import Callable
from pathlib import Path, PureWindowsPath
from typing import Any, BinaryIO, Final, TypeVar

from ...data.budget import Budget, allowance
from ...errors import (
    CheckpointAccessError,
    CheckpointError,
    CheckpointNotFoundError,
    CorruptCheckpointError,
    LimitExceededError,
    MissingPartError,
    UnsafeCheckpointError,
)
from ...text.near_names import near_names
from ..decode.load_limits import Limits, allow_more, too_many_files
from ..decode.walk import check_depth
from .json_text import measure
from .other_files import HEAD, pointer_error

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


READ_FLAGS: Final = (
    os.O_RDONLY
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)
)
NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
_SMALL: Final = 1 << 20
_LARGE: Final = 16 << 20
_Content = TypeVar("_Content")
_MOST_EXTENTS: Final = 10_000
_MOST_DIGITS: Final = 400


_VERSIONS: Final = "snapshots"
_CONTENTS: Final = "blobs"


def cached_file(link: Path) -> Path | None:
    """The file that a link of a download cache stands for; None for any other path.

    It lies directly in the real folder `blobs` beside a folder `snapshots` that the link lies in,
    and is a regular file. Open what is given, not the link: that may change in between. A link in
    any of the folders above it is followed, as the caller named them.
    """
    try:
        text = os.readlink(link)
        folder = os.path.realpath(link.parent)
        target = Path(os.path.normpath(os.path.join(folder, text)))
        versions = target.parent.with_name(_VERSIONS)
        is_beside = versions in (Path(folder), *Path(folder).parents)
        if target.parent.name != _CONTENTS or not is_beside:
            return None
        is_plain = stat.S_ISDIR(os.lstat(target.parent).st_mode) and stat.S_ISREG(
            os.lstat(target).st_mode
        )
    except (OSError, ValueError):
        return None
    return target if is_plain else None


def base_name(text: Any) -> str:
    r"""The last part of a path as any system writes it; empty if that is no plain name.

    Example:
        >>> base_name("C:\\runs\\7\\state.pkl"), base_name("/tmp/../x"), base_name("..")
        ('state.pkl', 'x', '')
    """
    if not isinstance(text, str) or "\0" in text:
        return ""
    name = PureWindowsPath(text).name
    return "" if name in ("", ".", "..") else name


def entries(folder: Path, limits: Limits) -> list[os.DirEntry[str]]:
    """The entries of a folder, sorted by name."""
    listed: list[os.DirEntry[str]] = []
    try:
        with os.scandir(folder) as scan:
            for entry in scan:
                listed.append(entry)
                if len(listed) > limits.max_entries:
                    raise too_many_files(limits.max_entries, folder)
    except OSError as error:
        raise access_error(folder, error) from None
    return sorted(listed, key=lambda entry: entry.name)


def part_of(folder: str | os.PathLike[str], name: str) -> Path:
    """The path of a part of a checkpoint, which must be the folder's own if it exists.

    Its name is "a/b" for one inside another; a link, or what lies behind one, is refused.
    """
    path = Path(folder)
    for step in name.split("/"):
        path = path / step
        if os.path.islink(path) and cached_file(path) is None:
            raise _is_link(path.name, path.parent)
    return path


def read_bytes(
    path: Path,
    limits: Limits,
    *,
    most: int | None = None,
    follow: bool = False,
    budget: Budget | None = None,
) -> bytes:
    """The content of a regular file, after a look at its kind and size.

    Pipes, sockets and devices are refused: reading them could wait forever. So are links, which
    could lead anywhere, and a file that is large by holes alone. `follow` lets a link pass: where
    the caller named it, and no checkpoint did. `budget` grows with the bytes that are there.
    """
    most = limits.max_file_bytes if most is None else most
    return _read(path, most, follow, budget, _all)


def read_passing(
    path: Path, limits: Limits, *, follow: bool = False, budget: Budget | None = None
) -> bytes | PassingBytes:
    """As `read_bytes`; what is large may be taken out part by part."""
    return _read(path, limits.max_file_bytes, follow, budget, _all_or_passing)


def _read(
    path: Path,
    most: int,
    follow: bool,
    budget: Budget | None,
    read: Callable[[int, int], _Content],
) -> _Content:
    descriptor = opened(path, follow)
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise CorruptCheckpointError(f"{path.name!r} is not a regular file")
        size, on_disk = checked_size(descriptor, path.name, most, facts)
        if budget is not None:
            budget.admit(on_disk)
        data = read(descriptor, size)
        if isinstance(data, bytes) and size < HEAD:
            lost = pointer_error(path.name, data)
            if lost is not None:
                raise lost
        return data
    except (OSError, MemoryError) as error:
        raise access_error(path, error) from None
    finally:
        os.close(descriptor)


def _all(descriptor: int, size: int) -> bytes:
    data = os.read(descriptor, size + 1)
    while len(data) < size and (more := os.read(descriptor, size - len(data))):
        data += more
    return data


def _all_or_passing(descriptor: int, size: int) -> bytes | PassingBytes:
    return PassingBytes(descriptor, size) if size >= _LARGE else _all(descriptor, size)


def opened(path: Path, follow: bool) -> int:
    """A descriptor of the file at a path, which may be a link of any kind if `follow`."""
    is_link = not (follow or NO_FOLLOW) and os.path.islink(path)
    try:
        if not is_link:
            return os.open(path, READ_FLAGS | (0 if follow else NO_FOLLOW))
    except (OSError, ValueError) as error:
        if follow or not os.path.islink(path):
            raise access_error(path, error) from None
    cached = cached_file(path)
    if cached is None:
        raise _is_link(path.name, path.parent)
    try:
        return os.open(cached, READ_FLAGS | NO_FOLLOW)
    except OSError as error:
        raise access_error(path, error) from None


def read_head(path: Path, count: int, *, follow: bool = True) -> bytes:
    """At most the first `count` bytes of a regular file, which may be a link where it was named."""
    try:
        with _plain(path, follow) as file:
            return file.read(count)
    except CheckpointError:
        raise
    except OSError as error:
        raise access_error(path, error) from None


def read_tail(path: Path, count: int) -> bytes:
    """At most the last `count` bytes of a regular file; errors as of `read_head`."""
    with _plain(path, follow=False) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - count))
        return file.read(count)


def _plain(path: Path, follow: bool) -> BinaryIO:
    descriptor = opened(path, follow)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise CorruptCheckpointError(f"{path.name!r} is not a regular file")
    return os.fdopen(descriptor, "rb")


def checked_size(
    descriptor: int, name: str, most: int, facts: os.stat_result | None = None
) -> tuple[int, int]:
    """The size of an open file, checked against a bound first, and its bytes on the disk."""
    facts = facts or os.fstat(descriptor)
    size = facts.st_size
    if size > most:
        raise LimitExceededError(
            f"{name} is too large: it is {size:,} bytes",
            expected=f"at most {most:,} bytes",
            found=f"{size:,}",
            hint=allow_more("max_file_bytes"),
            file=name,
        )
    holes = holes_in(descriptor, facts)
    if holes:
        allowance().spend(holes, f"what {name} lacks on the disk")
    return size, size - holes


def holes_in(descriptor: int, facts: os.stat_result) -> int:
    """Bytes of a file that lie nowhere on the disk; 0 where the system cannot tell."""
    size, blocks = facts.st_size, getattr(facts, "st_blocks", None)
    if size < _SMALL or blocks is None or blocks * 512 >= size or not hasattr(os, "SEEK_DATA"):
        return 0
    filled = at = 0
    try:
        for _ in range(_MOST_EXTENTS):
            start = os.lseek(descriptor, at, os.SEEK_DATA)
            at = os.lseek(descriptor, start, os.SEEK_HOLE)
            filled += at - start
    except OSError as error:
        if error.errno != errno.ENXIO:  # which says that no data follow
            return 0
    finally:
        os.lseek(descriptor, 0, os.SEEK_SET)
    return size - filled


def _is_link(name: str, folder: Path) -> UnsafeCheckpointError:
    return UnsafeCheckpointError(
        f"{name} in {folder} is a link, and could lead anywhere.",
        hint="copy the folder with its links resolved: cp -rL.",
        file=name,
    )


def _near_path(path: Path) -> str:
    """Return a hint with the path that was probably meant; empty if no name is near."""
    missing = path
    while missing.parent != missing and not missing.parent.is_dir():
        missing = missing.parent
    try:
        near = near_names(missing.name, os.listdir(missing.parent))
    except OSError:
        return ""
    meant = [missing.with_name(name) for name in near]
    meant += [meant[0] / path.relative_to(missing)] if meant and path != missing else []
    return f"did you mean {str(meant[-1])!r}?" if meant and meant[-1].exists() else ""


def access_error(path: Path, error: Exception) -> CheckpointError:
    """The typed error for a file or folder that cannot be read."""
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return CheckpointNotFoundError(
            f"nothing lies at {path}",
            hint=_near_path(path) or "check the path, or list what lies here: rlconnect scan .",
        )
    if isinstance(error, PermissionError):
        return CheckpointAccessError(
            f"no permission to read {path}", hint="ask its owner, or copy it to where you may read."
        )
    if isinstance(error, ValueError):
        return CheckpointNotFoundError(f"{str(path)!r} cannot be a path", found=str(error))
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return CheckpointError(f"{path} cannot be read", found=(reason or type(error).__name__).lower())


def read_json(path: Path, limits: Limits, *, follow: bool = False) -> dict[str, Any]:
    """A JSON file that holds one object."""
    data = read_bytes(path, limits, most=limits.max_json_bytes, follow=follow)
    measure(data, path.name, limits)
    try:
        content = json.loads(data.decode("utf-8-sig"), parse_int=_whole)
    except RecursionError:
        raise LimitExceededError(f"{path.name} is nested too deep") from None
    except ValueError as error:
        raise CorruptCheckpointError(
            f"{path.name} is not valid JSON", found=str(error)[:100]
        ) from None
    if not isinstance(content, dict):
        raise CorruptCheckpointError(
            f"{path.name} does not describe a checkpoint",
            expected="a JSON object",
            found=f"a {type(content).__name__}",
        )
    check_depth(content, limits.max_depth)
    return content


def _whole(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"an integer of {len(text):,} digits")
    return int(text)


def missing(where: str, what: str) -> MissingPartError:
    """The error for a part that a checkpoint should hold."""
    return MissingPartError(
        f"{where} lacks {what}", hint="the folder was copied incompletely; fetch the whole of it."
    )


_BLOCK: Final = 1 << 20


def fingerprint_of(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a file, or of the list of those of a folder's files; links are left out.

    Empty where nothing can be read there.
    """
    target = Path(path)
    try:
        if os.path.isfile(target):
            return digest_of(target)
        files = [Path(place, name) for place, _, names in os.walk(target) for name in names]
        lines = [
            f"{digest_of(file)}  ./{file.relative_to(target).as_posix()}\n"
            for file in files
            if stat.S_ISREG(os.lstat(file).st_mode)
        ]
    except OSError:
        return ""
    lines.sort(key=lambda line: os.fsencode(line.partition("  ")[2]))
    return hashlib.sha256(b"".join(map(os.fsencode, lines))).hexdigest() if lines else ""


def digest_of(file: Path) -> str:
    """The SHA-256 of one file."""
    digest = hashlib.sha256()
    with open(os.open(file, READ_FLAGS), "rb", buffering=0) as opened:
        while block := opened.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
