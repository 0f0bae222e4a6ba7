"""Write rlconnect's own checkpoint: JSON for structure, safetensors for numbers, no pickle.

`docs/own-format.md` is the specification, `document` the encoding of values, `atomic` the way a
save replaces an older one, `own_format` the reader.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

from safetensors.numpy import save_file as save_arrays

from ...errors import CheckpointError, CheckpointWriteError
from ...types import Array
from ...version import __version__
from ..files.json_text import Json, format_json, parse_json
from ..files.reading import digest_of, read_head
from .atomic import make_parents, replaced_file, replaced_folder
from .document import encode
from .manifest import (
    ARRAYS,
    DOCUMENT,
    FORMAT,
    FORMAT_VERSION,
    MANIFEST,
    OUR_FILES,
    UNSIGNED,
    sign,
)
from .write_errors import refusal, refusals

_HEAD_BYTES: Final = 200


def save_folder(
    path: str | os.PathLike[str],
    document: Mapping[str, Any],
    *,
    kind: str,
    meta: Mapping[str, Any] | None = None,
    arrays: Literal["file", "inline"] = "file",
    inline_up_to: int = 0,
    overwrite: bool = True,
    created: str | None = None,
) -> None:
    """Save plain data as one checkpoint folder, all of it or nothing.

    The same document gives the same bytes. An older checkpoint of ours at `path` is replaced in
    one step; anything else there is refused and left alone. Links at `path` are followed.

    Args:
        path: The folder to make; missing parents are made too.
        document: Nested plain data with text keys at the top, the parts of the checkpoint.
        kind: What it is, in one word: `policy`, `policies`, `module`, `pipeline`, ...
        meta: Small facts to read without the document, such as where it came from.
        arrays: `file` keeps arrays in one safetensors file; `inline` writes them into the JSON.
        inline_up_to: With `file`, arrays of at most this many items are written as JSON. Zero
            by default: tools that know safetensors then find every array in one place.
        overwrite: Whether an older checkpoint of ours may be replaced.
        created: A date to record. None by default, so that equal saves are equal bytes.

    Raises:
        CheckpointWriteError: A value is no plain data, or the disk refuses; what was at `path`
            is untouched.

    Example:
        >>> import numpy as np, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_folder(folder + "/a", {"weights": {"w": np.ones(2)}}, kind="module")
        ...     print(*sorted(os.listdir(folder + "/a")))
        arrays.safetensors document.json rlconnect.json
    """
    target = Path(os.path.realpath(path))
    stored: dict[str, Array] | None = {} if arrays == "file" else None
    tree = _encoded(document, stored, inline_up_to)
    manifest = _manifest(kind, meta, created, document)

    def check() -> None:
        _check_replaceable_folder(target, overwrite=overwrite)

    with refusals(target):
        check()
        make_parents(target)
        with replaced_folder(target, check) as folder:
            if stored is None:
                manifest["document"] = tree
            else:
                if stored:
                    save_arrays(stored, str(folder / ARRAYS))
                _write(folder / DOCUMENT, _checked_json(tree, DOCUMENT))
                manifest["files"] = {
                    name: _fingerprint(folder / name) for name in sorted(os.listdir(folder))
                }
            _write(folder / MANIFEST, sign(_checked_json(manifest, MANIFEST)))


def save_file(
    path: str | os.PathLike[str],
    document: Mapping[str, Any],
    *,
    kind: str,
    meta: Mapping[str, Any] | None = None,
    overwrite: bool = True,
    created: str | None = None,
) -> None:
    """Save plain data as one JSON file, arrays included; see `save_folder` for the rest."""
    target = Path(os.path.realpath(path))
    manifest = _manifest(kind, meta, created, document)
    manifest["document"] = _encoded(document, None, 0)
    text = sign(_checked_json(manifest, MANIFEST))
    with refusals(target):
        _check_replaceable_file(target, overwrite=overwrite)
        make_parents(target)
        with replaced_file(target) as staged:
            _write(staged, text)


def is_own(path: str | os.PathLike[str]) -> bool:
    """True if `path` looks like a checkpoint of ours: a folder, or one JSON file."""
    manifest = Path(path, MANIFEST) if os.path.isdir(path) else Path(path)
    try:
        return f'"format": "{FORMAT}"'.encode() in read_head(manifest, _HEAD_BYTES)
    except CheckpointError:
        return False


def _encoded(document: Mapping[str, Any], stored: dict[str, Array] | None, up_to: int) -> Json:
    if not all(type(key) is str for key in document):
        raise CheckpointWriteError(
            "the parts of a checkpoint need names",
            expected="text keys at the top of the document",
            found=", ".join(sorted({type(key).__name__ for key in document})),
        )
    return encode(dict(document), arrays=stored, inline_up_to=up_to)


def _manifest(
    kind: str, meta: Mapping[str, Any] | None, created: str | None, document: Mapping[str, Any]
) -> dict[str, Json]:
    for name, text in (("kind", kind), ("created", created)):
        if text is not None and (type(text) is not str or encode(text) != text):
            raise CheckpointWriteError(
                f"cannot save with {name}={text!r}",
                expected="plain text",
                found=type(text).__name__,
            )
    manifest: dict[str, Json] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "checksum": UNSIGNED,
        "kind": kind,
        "written_by": f"rlconnect {__version__}",
    }
    if created is not None:
        manifest["created"] = created
    manifest["meta"] = encode(dict(meta or {}))
    manifest["parts"] = encode(list(document))
    manifest["files"] = {}
    return manifest


def _checked_json(tree: Json, name: str) -> bytes:
    text = format_json(tree).encode("utf-8")
    try:
        parse_json(text, name)
    except CheckpointError as error:
        raise CheckpointWriteError(
            f"the structure is too large to be read back: {error.summary}",
            hint="keep large data in arrays, and arrays in their file: arrays='file'.",
        ) from None
    return text


def _write(path: Path, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


def _fingerprint(path: Path) -> dict[str, Json]:
    return {"size": path.stat().st_size, "sha256": digest_of(path)}


def _check_replaceable_folder(target: Path, *, overwrite: bool) -> None:
    if not os.path.lexists(target):
        return
    if not os.path.isdir(target):
        raise refusal(target, "a file lies there", "save to another path, or to a .json file.")
    names = sorted(os.listdir(target))
    foreign = [name for name in names if name not in OUR_FILES]
    if foreign or (names and MANIFEST not in names):
        raise refusal(
            target,
            f"the folder holds what rlconnect did not write ({(foreign or names)[0]})",
            "save to a new folder, or move that away first.",
        )
    if names and not overwrite:
        raise refusal(target, "a checkpoint lies there", "pass overwrite=True to replace it.")


def _check_replaceable_file(target: Path, *, overwrite: bool) -> None:
    if not os.path.lexists(target):
        return
    if os.path.isdir(target):
        raise refusal(target, "a folder lies there", "add a file name that ends with .json.")
    if target.stat().st_size and not is_own(target):
        raise refusal(target, "rlconnect did not write the file there", "choose another name.")
    if not overwrite:
        raise refusal(target, "a checkpoint lies there", "pass overwrite=True to replace it.")
