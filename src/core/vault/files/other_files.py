"""Recognise files that are no checkpoints by their first bytes."""

from __future__ import annotations

import re
from typing import Any, Final

from ...errors import CheckpointError, MissingPartError, NotACheckpointError

HEAD: Final = 512
"""How many bytes tell what a file is."""

_POINTER: Final = b"version https://git-lfs.github.com/spec/"
_SAMPLES: Final = re.compile(rb'\s*\{\s*"(type|count|obs|eps_id|policy_batches)"\s*:')
_BESIDE: Final = "open the folder where the policy itself was saved: rlconnect scan DIR finds it."
_KINDS: Final[tuple[tuple[bytes, str, str], ...]] = (
    (b"PAR1", "a parquet file: recorded steps or another table", _BESIDE),
    (b"\x89HDF\r\n", "an HDF5 file, as Keras saves a model", ""),
    (b"\x93NUMPY", "one numpy array", ""),
    (b"SQLite format 3", "a database", ""),
    (b"\x1f\x8b", "an archive packed with gzip", "unpack it, and open the folder it held."),
    (b"BZh", "an archive packed with bzip2", "unpack it, and open the folder it held."),
    (b"\xfd7zXZ", "an archive packed with xz", "unpack it, and open the folder it held."),
    (b"<!DOCTYPE", "a web page", "download the file itself, not the page that shows it."),
    (b"<html", "a web page", "download the file itself, not the page that shows it."),
)


def pointer_error(name: str, head: bytes) -> CheckpointError | None:
    """The error for a file that git left a pointer in place of; None for any other file."""
    if not head.startswith(_POINTER):
        return None
    size = re.search(rb"\nsize (\d{1,18})\s", head)
    return MissingPartError(
        f"{name} is not here: what lies in its place is a pointer of git-LFS",
        expected=f"a file of {int(size[1]):,} bytes" if size else "the file itself",
        found=f"{len(head)} bytes that say where it is kept",
        hint="run `git lfs install` and `git lfs pull` in the repository it was cloned from.",
        missing=[name],
    )


def other_kind(head: bytes) -> tuple[str, str]:
    r"""What a file is by its first bytes, and what to do with it; empty texts where unknown.

    Example:
        >>> other_kind(b"PAR1\x15\x04")[0]
        'a parquet file: recorded steps or another table'
        >>> other_kind(b'{"type": "SampleBatch", "obs": "BCJN')[0]
        'recorded steps, a batch a line of JSON'
    """
    if _SAMPLES.match(head):
        read = "rlconnect.offline.open_dataset(path) reads them"
        return "recorded steps, a batch a line of JSON", f"{read}; for a policy, {_BESIDE}"
    kind = next(((name, hint) for magic, name, hint in _KINDS if head.startswith(magic)), None)
    if kind is None and re.match(rb"\s*[\[{]\s*[\"\[{\]}0-9-]", head):
        return "a file of JSON", ""
    return kind or ("", "")


def other_file_error(where: str, head: bytes, **facts: Any) -> NotACheckpointError | None:
    """The error for a file that is something else altogether; None where its bytes do not tell."""
    kind, hint = other_kind(head)
    if not kind:
        return None
    return NotACheckpointError(
        f"{where} holds no part of a checkpoint", found=kind, hint=hint, **facts
    )
