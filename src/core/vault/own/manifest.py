"""The manifest of our own checkpoint: what it is, and what its files must be.

`writer` makes it, `own_format` reads it; `docs/own-format.md` lists its keys. Its own checksum
is that of its text with 64 zeros in the checksum's place.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path
from typing import Final, NamedTuple

from ...errors import (
    CheckpointError,
    CheckpointNotFoundError,
    CorruptCheckpointError,
    MissingPartError,
    NotACheckpointError,
    UnknownFormatError,
    UnsafeCheckpointError,
)
from ...text.shell import command
from ..decode.load_limits import Limits
from ..file_names import OWN_MANIFEST
from ..files.json_text import Json, parse_json
from ..files.other_files import HEAD, pointer_error
from ..files.reading import access_error, checked_size, opened
from .array_file import is_sizes
from .file_bytes import FileBytes

_SMALL: Final = 1 << 16
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,127}")


def check_name(name: str) -> None:
    """Refuse a file name that could be a path or a device."""
    if not _NAME.fullmatch(name):
        raise UnsafeCheckpointError(
            f"{name[:80]!r} is no plain file name inside the checkpoint.",
            hint="do not use this checkpoint: rlconnect never writes such names.",
            file=name,
        )


def file_of(folder: Path, name: str, most: int) -> FileBytes | bytes:
    """The content of one file of at most `most` bytes; a large one is read as it is used."""
    check_name(name)
    try:
        descriptor = opened(folder / name, follow=False)
    except CheckpointNotFoundError:
        raise MissingPartError(
            f"{name} is missing from {folder}.",
            hint="copy the whole folder again from where it came from.",
            file=name,
        ) from None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise UnsafeCheckpointError(
                f"{name} in {folder} is no plain file.",
                hint="copy the checkpoint again from where it came from.",
                file=name,
            )
        size, _ = checked_size(descriptor, name, most, facts)
    except BaseException:
        os.close(descriptor)
        raise
    content = FileBytes(descriptor, size, name)
    if size > _SMALL:
        return content
    data = content[:]
    lost = pointer_error(name, data) if size < HEAD else None
    if lost is not None:
        raise lost
    return data


def save_at(folder: Path, manifest: str) -> tuple[int, ...]:
    """Marks by which the save in a folder differs from any other at the same path."""
    try:
        facts = os.stat(os.path.join(folder, ""))  # of a file: no folder
    except (OSError, ValueError) as error:
        raise access_error(folder, error) from None
    folder_id = (facts.st_dev, facts.st_ino)
    try:
        manifest_facts = os.lstat(folder / manifest)
    except OSError:
        return folder_id
    return *folder_id, manifest_facts.st_ino, manifest_facts.st_mtime_ns


def is_replaced(folder: Path, manifest: str, save: tuple[int, ...]) -> bool:
    """True if the folder was replaced by another save, or removed."""
    try:
        return save_at(folder, manifest) != save
    except CheckpointError:
        return True


FORMAT: Final = "rlconnect"
MANIFEST: Final = OWN_MANIFEST
FORMAT_VERSION: Final = 1
DOCUMENT: Final = "document.json"
ARRAYS: Final = "arrays.safetensors"
OUR_FILES: Final = frozenset([MANIFEST, DOCUMENT, ARRAYS])
UNSIGNED: Final = "0" * 64
KNOWN_KEYS: Final = frozenset(
    [
        *("format", "format_version", "checksum", "kind", "written_by", "created"),
        *("meta", "parts", "files", "document"),
    ]
)


class FileEntry(NamedTuple):
    """What the manifest says about a file: its size in bytes and its SHA-256."""

    size: int
    sha256: str


def parse_manifest(
    data: bytes, name: str, path: Path, limits: Limits, verify: bool
) -> dict[str, Json]:
    """Parse a manifest, and see that it is one, of a version we know, and whole."""
    manifest = parse_json(data, name, limits)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise NotACheckpointError(
            f"{path} is no rlconnect checkpoint",
            expected=f'"format": "{FORMAT}" in {name}',
            found="none",
            hint=f"see what else it may be: {command('inspect', path.parent)}",
            path=str(path),
        )
    version = manifest.get("format_version")
    if type(version) is not int or version < 1:
        raise damaged(name, "its format_version is no number")
    if version > FORMAT_VERSION:
        raise UnknownFormatError(
            f"{path} was written by a newer rlconnect",
            expected=f"format_version {FORMAT_VERSION} or lower",
            found=str(version),
            hint="upgrade: pip install -U rlconnect.",
            format_version=version,
        )
    checksum = manifest.get("checksum")
    if not isinstance(checksum, str) or len(checksum) != len(UNSIGNED):
        raise damaged(name, "its checksum is missing")
    if verify and not is_signed(data, checksum):
        raise damaged(name, "its own checksum differs")
    for key in ("kind", "written_by"):
        if not isinstance(manifest.get(key), str):
            raise damaged(name, f"its {key} is no text")
    if not isinstance(manifest.get("created"), (str, type(None))):
        raise damaged(name, "its created is no text")
    return manifest


def file_entries(manifest: dict[str, Json], limits: Limits) -> dict[str, FileEntry]:
    """The files the manifest lists; each name is plain, each entry well formed."""
    listed = manifest.get("files")
    if not isinstance(listed, dict) or len(listed) > limits.max_entries:
        raise damaged(MANIFEST, "its list of files is malformed")
    entries = {}
    for name, entry in listed.items():
        check_name(name)
        if (
            not isinstance(entry, dict)
            or not is_sizes([entry.get("size")])
            or not isinstance(entry.get("sha256"), str)
        ):
            raise damaged(MANIFEST, f"its entry of {name} is malformed")
        entries[name] = FileEntry(entry["size"], entry["sha256"])
    return entries


def sign(text: bytes) -> bytes:
    """Put the checksum of a manifest's text in the place its zeros hold."""
    return text.replace(UNSIGNED.encode(), hashlib.sha256(text).hexdigest().encode(), 1)


def is_signed(text: bytes, checksum: str) -> bool:
    """True if a manifest's text is the one its checksum was made of."""
    plain = text.replace(checksum.encode("utf-8", "replace"), UNSIGNED.encode(), 1)
    return hashlib.sha256(plain).hexdigest() == checksum


def damaged(name: str, what: str) -> CorruptCheckpointError:
    """The error for a file whose bytes are not those that were written."""
    return CorruptCheckpointError(
        f"{name} is damaged: {what}.",
        hint="copy the checkpoint again from where it came from; verify=False reads hand edits.",
        file=name,
    )
