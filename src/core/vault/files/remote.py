"""Checkpoints behind a URL (`s3://`, `gs://`, `hf://`, `memory://`, ...), by the `remote` extra.

The files a checkpoint may consist of are copied to a folder of ours first: their number and
size are checked before a byte is fetched, and their names may not leave that folder.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, Final

from ...errors import (
    CheckpointError,
    CheckpointNotFoundError,
    LimitExceededError,
    MissingExtraError,
    UnsafeCheckpointError,
)
from ..decode.load_limits import Limits, allow_more, too_many_files
from ..file_names import ENCODINGS, TUNE_NOTE, WORKER_FILE

_URL: Final = re.compile(r"[a-z][a-z0-9+.-]+(::[a-z][a-z0-9+.-]+)*://", re.IGNORECASE)
_NOTE: Final = re.escape(TUNE_NOTE)
_NAMED: Final = re.compile(rf"{WORKER_FILE.pattern}({_NOTE})?|{_NOTE}|\.is_checkpoint")
_DEEPEST: Final = 9
_BLOCK: Final = 8 << 20
SUFFIXES: Final = frozenset({*ENCODINGS, ".json", ".safetensors"})


def is_url(path: str) -> bool:
    """True if a path names a file system other than the local one.

    Example:
        >>> is_url("s3://bucket/run/checkpoint_000010"), is_url("/tmp/x"), is_url("C:/x")
        (True, False, False)
    """
    return _URL.match(path) is not None


@contextmanager
def fetched(url: str, limits: Limits, suffixes: frozenset[str] = SUFFIXES) -> Iterator[Path]:
    """A local copy of the checkpoint at `url`, for as long as the block lasts.

    Only files whose names end in one of `suffixes` are copied.
    """
    system, root = _system(url)
    sizes = _listing(system, root, url, limits, suffixes)
    with tempfile.TemporaryDirectory(prefix="rlconnect-") as folder:
        for remote, (local, _size) in sizes.items():
            target = Path(folder, local)
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                _fetch(system, remote, target, limits)
            except Exception as error:  # each file system has errors of its own
                raise _unreachable(url, error) from None
        only = next(iter(sizes.values()))[0] if len(sizes) == 1 else ""
        single = only and PurePosixPath(root).name == only
        yield Path(folder, only) if single else Path(folder)


def _fetch(system: Any, remote: str, target: Path, limits: Limits) -> None:
    """Copy one file, as far as a file may go whatever its listing said."""
    bytes_left = limits.max_file_bytes
    with system.open(remote, "rb") as source, target.open("xb") as copy:
        while block := source.read(_BLOCK):
            bytes_left -= len(block)
            if bytes_left < 0:
                raise LimitExceededError(f"{target.name} is larger than its listing says")
            copy.write(block)


_EXTRAS: Final = {"https": "http", "s3a": "s3", "gcs": "gs", "az": "abfs"}
"""The extra of fsspec for the schemes whose name differs."""


def _system(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise MissingExtraError(
            f"reading {url} needs fsspec, which is not installed",
            hint='pip install "rlconnect[remote]", and what that file system needs (s3fs, ...).',
        ) from None
    scheme = url.partition(":")[0]
    try:
        system, root = url_to_fs(url)
    except ImportError as error:
        raise MissingExtraError(
            f"reading {url} needs one more package",
            found=str(error).split("\n")[0],
            hint=f'pip install "fsspec[{_EXTRAS.get(scheme, scheme)}]"',
        ) from None
    except Exception as error:  # each file system has errors of its own
        raise _unreachable(url, error) from None
    return system, str(root)


def _listing(
    system: Any, root: str, url: str, limits: Limits, suffixes: frozenset[str]
) -> dict[str, tuple[str, int]]:
    """Remote name -> local name and size of every file that may belong to the checkpoint."""
    by_name: dict[str, Any] = {}
    entries_left = limits.max_entries
    try:
        for _, folders, files in system.walk(root, maxdepth=_DEEPEST, detail=True):
            entries_left -= len(folders) + len(files)
            if entries_left < 0:
                raise too_many_files(limits.max_entries, url)
            by_name.update((facts["name"], facts) for facts in files.values())
        if not by_name and system.isfile(root):
            by_name[root] = system.info(root)
    except FileNotFoundError:
        by_name = {}
    except Exception as error:  # each file system has errors of its own
        raise _unreachable(url, error) from None
    chosen: dict[str, tuple[str, int]] = {}
    for remote, facts in by_name.items():
        name = _local_name(str(remote), root)
        last = PurePosixPath(name).name
        if PurePosixPath(last).suffix in suffixes or _NAMED.fullmatch(last):
            chosen[str(remote)] = (name, int(facts.get("size") or 0))
    total = sum(size for _, size in chosen.values())
    if total > limits.max_file_bytes:
        raise LimitExceededError(
            f"{url} holds {total:,} bytes",
            expected=f"at most {limits.max_file_bytes:,}",
            hint=allow_more("max_file_bytes"),
        )
    if not chosen:
        raise CheckpointNotFoundError(
            f"nothing that could be read lies at {url}", hint="check the URL and its spelling."
        )
    return chosen


def _local_name(remote: str, root: str) -> str:
    """Where a remote file goes below our folder."""
    root = root.rstrip("/")
    name = remote[len(root) :].lstrip("/") if remote.startswith(f"{root}/") else ""
    name = name or PurePosixPath(remote).name
    parts = PurePosixPath(name).parts
    if not parts or ".." in parts or PurePosixPath(name).is_absolute() or "\0" in name:
        raise UnsafeCheckpointError(f"a remote file is named {name[:80]!r}")
    return name


def _unreachable(url: str, error: Exception) -> CheckpointError:
    if isinstance(error, CheckpointError):
        return error
    first = (str(error).splitlines() or [""])[0]
    return CheckpointError(
        f"{url} cannot be read",
        found=f"{type(error).__name__}: {first}"[:200],
        hint="check the URL, your credentials and the network.",
    )
