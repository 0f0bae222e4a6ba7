"""Read rlconnect's own checkpoint, whoever wrote it; `docs/own-format.md` specifies it.

Nothing in the file is believed: names stay inside the folder, sizes and checksums are held
against the bytes, and the bytes that were checked are the ones that are used. Arrays stay on the
disk until someone asks for their numbers. A folder that is being replaced meanwhile is read
as a whole, the old one or the new one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from ...data.dtype_storage import from_stored, stored_layout
from ...errors import (
    CheckpointNotFoundError,
    CorruptCheckpointError,
    MissingPartError,
    NotACheckpointError,
)
from ...text.shell import command
from ...types import Array
from ..decode.load_limits import Limits, limits_in_force, one_load
from ..files.json_text import Json, parse_json
from ..files.reading import read_bytes
from .array_file import ArrayFile
from .document_decoder import Reference, decode
from .file_bytes import FileBytes
from .leftovers import survivor
from .manifest import (
    ARRAYS,
    DOCUMENT,
    KNOWN_KEYS,
    MANIFEST,
    OUR_FILES,
    FileEntry,
    damaged,
    file_entries,
    file_of,
    is_replaced,
    parse_manifest,
    save_at,
)

_TRIES: Final = 8


@dataclass(frozen=True, eq=False)
class StoredArray:
    """An array on the disk: its name, dtype and shape are known, its numbers are not read.

    Numpy functions take it as it is; `read()` gives a fresh array each time.
    """

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    file: ArrayFile = field(repr=False)

    __hash__ = None  # type: ignore[assignment]  # like the array it stands for

    def read(self) -> Array:
        """The array itself, writable."""
        try:
            return from_stored(self.file.read(self.name), self.dtype, self.shape)
        except ValueError as error:
            raise damaged(self.file.name, f"{self.name}: {error}") from None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        array = self.read()
        return array if dtype is None else array.astype(dtype)


@dataclass(frozen=True, eq=False)
class OwnFolder:
    """One checkpoint of ours, opened.

    `outline` is the document with a `StoredArray` wherever an array lies in the array file,
    `arrays` has those by their names there. `meta` are small facts its writer added, `files` size
    and checksum of each file beside the manifest, `extra` its entries that this version does not
    know.
    """

    path: Path
    kind: str
    meta: dict[str, Any]
    outline: dict[str, Any]
    arrays: Mapping[str, StoredArray]
    files: Mapping[str, FileEntry]
    format_version: int
    written_by: str
    created: str | None
    extra: dict[str, Any]
    _tree: Json = field(repr=False)
    _document_bytes: int = field(repr=False)
    _limits: Limits = field(repr=False)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The whole document as plain data, every array read."""
        with one_load(self._limits) as budget:
            budget.admit(self._document_bytes)
            decoded: dict[str, Any] = decode(
                self._tree, DOCUMENT, find=lambda reference: self.arrays[reference.name].read()
            )
        return decoded


def read_folder(
    path: str | os.PathLike[str], *, limits: Limits | None = None, verify: bool = True
) -> OwnFolder:
    """Open a checkpoint of ours; a path that is a file is read as the single-file layout.

    With `verify` each file is checked against its checksum, which reads it once; without, a file
    edited by hand can be read. Sizes and structure are always checked.

    Raises:
        CheckpointError: One of its children says what is wrong and where.

    Example:
        >>> import tempfile
        >>> from rlconnect.core.vault.own.writer import save_folder
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_folder(folder + "/a", {"weights": {"w": np.ones(2)}}, kind="module")
        ...     own = read_folder(folder + "/a")
        >>> own.kind, own.arrays["weights/w"].shape, own.document
        ('module', (2,), {'weights': {'w': array([1., 1.])}})
    """
    path, limits = Path(path), limits or limits_in_force()
    if os.path.isfile(path):
        return read_file(path, limits=limits, verify=verify)
    for tries_left in reversed(range(_TRIES)):
        place = survivor(path) or path
        save: tuple[int, ...] = ()
        try:
            with one_load(limits):
                save = save_at(place, MANIFEST)
                saved = _read(place, limits, verify)
            # Checksums tie the files of one save; without them nobody may have replaced it.
            if verify or not tries_left or not is_replaced(place, MANIFEST, save):
                return saved
        except (MissingPartError, CorruptCheckpointError, NotACheckpointError):
            # Another process may have swapped in a newer one; read that instead.
            if not tries_left or not is_replaced(place, MANIFEST, save):
                raise
        except CheckpointNotFoundError:
            if not tries_left or (tries_left < _TRIES - 1 and not os.path.lexists(path)):
                raise
    raise AssertionError("the last try returns or raises")


def read_file(
    path: str | os.PathLike[str], *, limits: Limits | None = None, verify: bool = True
) -> OwnFolder:
    """Open a checkpoint of ours that is one JSON file; see `read_folder`."""
    path, limits = Path(path), limits or limits_in_force()
    data = read_bytes(path, limits, most=limits.max_json_bytes, follow=True)
    with one_load(limits):
        manifest = parse_manifest(data, path.name, path, limits, verify)
        if "document" not in manifest:
            raise MissingPartError(
                f"{path.name} is the manifest of a folder, not a whole checkpoint.",
                hint=f"give the folder: {path.parent}.",
                file=DOCUMENT,
            )
        tree = manifest["document"]
        return _opened(path, manifest, {}, tree, None, path.name, len(data), limits)


def read_document(file: Path) -> Any:
    """The plain data in a JSON file of ours, arrays inline."""
    with one_load() as budget:
        text = read_bytes(file, budget.limits, most=budget.limits.max_json_bytes)
        return decode(parse_json(text, file.name), file.name, find=_refused)


def _refused(reference: Reference) -> Any:
    raise ValueError("arrays lie inline here")


def _read(folder: Path, limits: Limits, verify: bool) -> OwnFolder:
    try:
        data = file_of(folder, MANIFEST, limits.max_json_bytes)[:]
    except MissingPartError:
        if any(os.path.lexists(folder / name) for name in OUR_FILES):
            raise
        raise NotACheckpointError(
            f"{folder} is no rlconnect checkpoint",
            expected=f"a file {MANIFEST}",
            found="none",
            hint=f"see what else it may be: {command('inspect', folder)}",
            path=str(folder),
        ) from None
    manifest = parse_manifest(data, MANIFEST, folder, limits, verify)
    files = file_entries(manifest, limits)
    contents = {name: file_of(folder, name, limits.max_file_bytes) for name in files}
    for name, content in contents.items():
        if len(content) != files[name].size:
            raise damaged(name, f"it has {len(content):,} bytes instead of {files[name].size:,}")
    for name, content in contents.items():
        if verify and _digest(content) != files[name].sha256:
            raise damaged(name, "its checksum differs from the manifest's")
    if "document" in manifest:
        if DOCUMENT in files:
            raise damaged(MANIFEST, "it holds a document and names another one")
        tree, name, size = manifest["document"], MANIFEST, len(data)
    elif DOCUMENT in files:
        if files[DOCUMENT].size > limits.max_json_bytes:
            file_of(folder, DOCUMENT, limits.max_json_bytes)  # Raises, with both sizes.
        tree, name = parse_json(contents[DOCUMENT][:], DOCUMENT, limits), DOCUMENT
        size = files[DOCUMENT].size
    else:
        raise MissingPartError(
            f"the manifest of {folder} names no document.",
            hint="copy the checkpoint again from where it came from.",
            file=DOCUMENT,
        )
    arrays = ArrayFile(contents[ARRAYS], ARRAYS, limits) if ARRAYS in contents else None
    return _opened(folder, manifest, files, tree, arrays, name, size, limits)


def _digest(content: FileBytes | bytes) -> str:
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    digest = hashlib.sha256()
    for block in content.blocks():
        digest.update(block)
    return digest.hexdigest()


def _opened(
    path: Path,
    manifest: dict[str, Json],
    files: dict[str, FileEntry],
    tree: Json,
    file: ArrayFile | None,
    name: str,
    size: int,
    limits: Limits,
) -> OwnFolder:
    arrays: dict[str, StoredArray] = {}

    def handle(reference: Reference) -> StoredArray:
        span = file.spans.get(reference.name) if file is not None else None
        if file is None or span is None:
            raise ValueError(f"no array {reference.name[:80]!r} in {ARRAYS}")
        if (span.dtype, span.shape) != stored_layout(reference.dtype, reference.shape):
            raise ValueError(f"{reference.name[:80]!r} has another dtype or shape in {ARRAYS}")
        arrays[reference.name] = StoredArray(*reference, file)
        return arrays[reference.name]

    outline = decode(tree, name, find=handle)
    meta = decode(manifest.get("meta", {}), MANIFEST, find=_refused)
    if not isinstance(outline, dict) or not isinstance(meta, dict):
        raise damaged(name, "its document or meta is no object")
    if decode(manifest.get("parts"), MANIFEST, find=_refused) != list(outline):
        raise damaged(name, "its parts are not those the manifest lists")
    return OwnFolder(
        path=path,
        kind=manifest["kind"],
        meta=meta,
        outline=outline,
        arrays=MappingProxyType(arrays),
        files=MappingProxyType(files),
        format_version=manifest["format_version"],
        written_by=manifest["written_by"],
        created=manifest.get("created"),
        extra={key: value for key, value in manifest.items() if key not in KNOWN_KEYS},
        _tree=tree,
        _document_bytes=size,
        _limits=limits,
    )
