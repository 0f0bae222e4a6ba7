"""Read files of a checkpoint folder: regular files only, sizes first, errors in two lines."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path, PureWindowsPath
from typing import Any

from ..errors import (
    CheckpointAccessError,
    CheckpointError,
    CheckpointNotFoundError,
    CorruptCheckpointError,
    LimitExceededError,
    MissingPartError,
)
from .decode.walk import check_depth
from .limits import Limits


def base_name(text: Any) -> str:
    r"""The last part of a path as any system writes it; empty for what is no plain name.

    Example:
        >>> base_name("C:\\runs\\7\\state.pkl"), base_name("/tmp/../x"), base_name("..")
        ('state.pkl', 'x', '')
    """
    if not isinstance(text, str) or "\0" in text:
        return ""
    name = PureWindowsPath(text).name
    return "" if name in ("", ".", "..") else name


def entries(folder: Path, limits: Limits) -> list[os.DirEntry[str]]:
    """What lies directly in a folder, sorted by name.

    Raises:
        CheckpointNotFoundError: Nothing is there.
        CheckpointAccessError: It may not be listed.
        LimitExceededError: There is more than any checkpoint holds.
    """
    found: list[os.DirEntry[str]] = []
    try:
        with os.scandir(folder) as scan:
            for entry in scan:
                found.append(entry)
                if len(found) > limits.max_entries:
                    raise LimitExceededError(f"more than {limits.max_entries:,} files in {folder}")
    except OSError as error:
        raise access_error(folder, error) from None
    return sorted(found, key=lambda entry: entry.name)


def read_bytes(path: Path, limits: Limits) -> bytes:
    """The content of a regular file, after a look at its kind and size.

    Pipes, sockets and devices are refused: reading them could wait forever.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _BINARY)
    except (OSError, ValueError) as error:
        raise access_error(path, error) from None
    with os.fdopen(descriptor, "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode):
            raise CorruptCheckpointError(f"{path.name!r} is not a regular file")
        if facts.st_size > limits.max_file_bytes:
            raise LimitExceededError(
                f"{path.name} is {facts.st_size:,} bytes",
                expected=f"at most {limits.max_file_bytes:,}",
                hint="pass limits=Limits(max_file_bytes=...) to read it all the same.",
            )
        try:
            return file.read(facts.st_size + 1)
        except (OSError, MemoryError) as error:
            raise access_error(path, error) from None


_BINARY = getattr(os, "O_BINARY", 0)


def access_error(path: Path, error: Exception) -> CheckpointError:
    """The typed error for a file or folder that cannot be read."""
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return CheckpointNotFoundError(
            f"nothing lies at {path}",
            hint="check the path; `rlconnect scan DIR` lists checkpoints.",
        )
    if isinstance(error, PermissionError):
        return CheckpointAccessError(
            f"no permission to read {path}", hint="ask its owner, or copy it to where you may read."
        )
    if isinstance(error, ValueError):
        return CheckpointNotFoundError(f"{str(path)!r} cannot be a path", found=str(error))
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return CheckpointError(f"{path} cannot be read", found=(reason or type(error).__name__).lower())


def read_json(path: Path, limits: Limits) -> dict[str, Any]:
    """A JSON file that holds one object.

    Raises:
        CorruptCheckpointError: It is no JSON object.
        LimitExceededError: It is too large or nested too deep.
    """
    data = read_bytes(path, limits)
    if len(data) > limits.max_json_bytes:
        raise LimitExceededError(f"{path.name} holds {len(data):,} bytes of JSON")
    try:
        content = json.loads(data.decode("utf-8-sig"))
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


def missing(where: str, what: str) -> MissingPartError:
    """The error for a part that a checkpoint should hold."""
    return MissingPartError(
        f"{where} lacks {what}", hint="the folder was copied incompletely; fetch the whole of it."
    )
