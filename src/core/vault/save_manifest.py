"""The manifest of a save in RLlib's layout: which files one save wrote, and what is in them.

It holds a number that grows with each save to that folder, its generation, and size and CRC-32 of
every file. It lies in the JSON file of the component at the top, under `ray_ignores`, because Ray
does; where no component is at the top, in `rlconnect_save.json`. The JSON file of each component
below holds the generation. So files that were put together from several saves, or damaged, are
told by name; a manifest is no seal against somebody who means harm. A folder without one is read as
before.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import stat
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple, TypeVar, cast

from ..errors import CheckpointError, CorruptCheckpointError, MissingPartError
from ..version import __version__
from .decode.load_limits import limits_in_force, one_load
from .file_names import ALGORITHM_JSON, CLASS_FILE, CLASS_KEY, COMPONENT_JSON, SAVE_MANIFEST
from .files.reading import READ_FLAGS, checked_size, read_json
from .own.leftovers import survivor

FORMAT: Final = "rlconnect save"
KEY: Final = "ray_ignores"
GENERATION: Final = "generation"
COMPONENT_FILES: Final = (COMPONENT_JSON, ALGORITHM_JSON)
_NEED_NOT_BE_THERE: Final = frozenset([*COMPONENT_FILES, CLASS_FILE])
_BLOCK: Final = 1 << 20
_HIGHEST: Final = 8
_HINT: Final = (
    "copy the whole folder again from where it came from; without its manifest "
    f"({KEY!r} in its JSON file, or {SAVE_MANIFEST}) it is read as it is."
)


class SavedFile(NamedTuple):
    """Size and CRC-32 of a file as it was saved."""

    size: int
    crc32: int


@dataclass(frozen=True)
class SaveManifest:
    """The files of one save, by their paths below the folder, with slashes.

    `generation` counts the saves to this folder, this one included.
    """

    generation: int
    files: Mapping[str, SavedFile] = field(default_factory=dict)


def read_manifest(folder: Path) -> SaveManifest | None:
    """The manifest of the save that a folder is; None of a folder that has none."""
    for name in COMPONENT_FILES:
        data = _said_in(folder / name)
        if "files" in data:
            return _parsed(data, folder)
    file = folder / SAVE_MANIFEST
    return _parsed(read_json(file, limits_in_force()), folder) if os.path.isfile(file) else None


def read_if_whole(folder: Path) -> SaveManifest | None:
    """The manifest of a folder; None where there is none that can be read."""
    try:
        return read_manifest(folder)
    except CheckpointError:
        return None


def write_manifest(folder: Path, generation: int) -> None:
    """Describe all files of a folder that was filled just now, and give them its generation."""
    files: dict[str, dict[str, int]] = {}
    holder = next((folder / n for n in COMPONENT_FILES if _component(folder / n)), None)
    for place, _, names in os.walk(folder):
        for name in names:
            file = Path(place, name)
            if not os.path.isfile(file):
                continue
            size = crc = 0
            if name in COMPONENT_FILES:
                _put(file, {GENERATION: generation})
            else:
                size, crc = _measured(file)
            files[file.relative_to(folder).as_posix()] = {"size": size, "crc32": crc}
    data: dict[str, Any] = {
        "format": FORMAT,
        "written_by": f"rlconnect {__version__}",
        GENERATION: generation,
        "files": dict(sorted(files.items())),
    }
    data["checksum"] = _checksum(data)
    if holder is None:
        (folder / SAVE_MANIFEST).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    else:
        _put(holder, data)


def forget_save(folder: Path) -> None:
    """Take the manifest out of a folder, so that files changed by hand are read as they are."""
    (folder / SAVE_MANIFEST).unlink(missing_ok=True)
    for name in COMPONENT_FILES:
        if _said_in(folder / name):
            _put(folder / name, None)


def check_save(folder: Path) -> None:
    """Check the files below a folder against the manifest of their save.

    A part of a larger save is held to the manifest above it. Files of the user's are not looked at,
    and a lost class or JSON file is no reason to refuse the others.
    """
    root, manifest = _manifest_for(folder)
    if manifest is not None:
        with one_load():
            _check(folder, root, manifest)


def _check(folder: Path, root: Path, manifest: SaveManifest) -> None:
    inside = "" if root == folder else f"{folder.relative_to(root).as_posix()}/"
    by_inode: dict[tuple[int, int], SavedFile] = {}
    for name, saved in manifest.files.items():
        if not name.startswith(inside) or PurePosixPath(name).name in COMPONENT_FILES:
            continue
        try:
            measured = _measured_once(root / name, by_inode, saved)
        except FileNotFoundError:
            if PurePosixPath(name).name in _NEED_NOT_BE_THERE:
                continue
            raise MissingPartError(
                f"{name} is missing from {root}",
                expected=f"all files of its generation {manifest.generation}",
                hint="copy the whole folder again from where it came from.",
                file=name,
            ) from None
        except OSError as error:
            raise CorruptCheckpointError(
                f"{name} in {root} cannot be read", found=(error.strerror or str(error)).lower()
            ) from None
        if measured != saved:
            raise _not_of_this_save(root, name, manifest.generation)


def _not_of_this_save(root: Path, name: str, generation: int) -> CorruptCheckpointError:
    part = (root / name).parent
    other = _generation_of(part)
    if other is None or other == generation:
        return CorruptCheckpointError(
            f"{name} in {root} is damaged, or of another save",
            expected=f"what its generation {generation} was saved with",
            hint=_HINT,
            file=name,
        )
    shown = part.relative_to(root).as_posix() if part != root else name
    return CorruptCheckpointError(
        f"{root} mixes several saves: {shown} is of generation {other}, "
        f"the others are of {generation}",
        hint=_HINT,
        file=name,
        generations=(other, generation),
    )


def _manifest_for(folder: Path) -> tuple[Path, SaveManifest | None]:
    """The manifest that covers a folder: its own, or that of the save it is a part of."""
    for place in (folder, *folder.parents[:_HIGHEST]):
        manifest = read_manifest(place)
        if manifest is not None:
            return place, manifest
        names = (*COMPONENT_FILES, CLASS_FILE)
        if place != folder and not any(os.path.isfile(place / name) for name in names):
            break
    return folder, None


def _generation_of(folder: Path) -> int | None:
    for name in COMPONENT_FILES:
        generation = _said_in(folder / name).get(GENERATION)
        if type(generation) is int:
            return generation
    return None


def _component(file: Path) -> dict[str, Any]:
    """The content of a component's JSON file; empty if it is another or none."""
    if not os.path.isfile(file):
        return {}
    try:
        data = read_json(file, limits_in_force())
    except CheckpointError:
        return {}
    return data if CLASS_KEY in data else {}


def _said_in(file: Path) -> dict[str, Any]:
    data = _component(file).get(KEY)
    return data if isinstance(data, dict) else {}


def _put(file: Path, data: dict[str, Any] | None) -> None:
    component = _component(file)
    if component:
        others = {key: value for key, value in component.items() if key != KEY}
        added = {} if data is None else {KEY: data}
        file.write_text(json.dumps({**others, **added}), encoding="utf-8")


def _measured_once(
    file: Path, by_inode: dict[tuple[int, int], SavedFile], saved: SavedFile
) -> SavedFile:
    """Size and CRC of a file; each is read once, however many names lead to it."""
    facts = file.stat()
    if not stat.S_ISREG(facts.st_mode) or facts.st_size != saved.size:
        return SavedFile(-1, 0)
    key = (facts.st_dev, facts.st_ino)
    if key not in by_inode or not facts.st_ino:
        by_inode[key] = _measured(file, limits_in_force().max_file_bytes)
    return by_inode[key]


def _measured(file: Path, most: int | None = None) -> SavedFile:
    """Size and CRC of a file of at most `most` bytes, read block by block."""
    size = crc = 0
    with open(os.open(file, READ_FLAGS), "rb", buffering=0) as opened:
        if most is not None:
            checked_size(opened.fileno(), file.name, most)
        expected = os.fstat(opened.fileno()).st_size
        view = memoryview(bytearray(min(_BLOCK, expected + 1)))
        while size <= expected and (count := opened.readinto(view)):
            crc = zlib.crc32(view[:count], crc)
            size += count
    return SavedFile(size, crc)


def _checksum(data: Mapping[str, Any]) -> str:
    plain = {key: value for key, value in data.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def _parsed(data: Mapping[str, Any], folder: Path) -> SaveManifest:
    if data.get("format") != FORMAT:
        raise _damaged(folder, "it is no manifest of ours")
    if data.get("checksum") != _checksum(data):
        raise _damaged(folder, "its own checksum differs")
    generation, listed = data.get(GENERATION), data.get("files")
    if type(generation) is not int or generation < 1 or not isinstance(listed, dict):
        raise _damaged(folder, "it is malformed")
    if len(listed) > limits_in_force().max_entries:
        raise _damaged(folder, "it lists too many files")
    files = {}
    for name, entry in listed.items():
        parts = name.split("/")
        if any(part in ("", ".", "..") or "\\" in part or "\0" in part for part in parts):
            raise _damaged(folder, "it names a file outside the folder")
        size, crc = (entry.get("size"), entry.get("crc32")) if isinstance(entry, dict) else (0, "")
        if type(size) is not int or type(crc) is not int:
            raise _damaged(folder, f"its entry of {name[:80]!r} is malformed")
        files[name] = SavedFile(size, crc)
    return SaveManifest(generation, files)


def _damaged(folder: Path, what: str) -> CorruptCheckpointError:
    return CorruptCheckpointError(
        f"the manifest of the save in {folder} is damaged: {what}", hint=_HINT, file=SAVE_MANIFEST
    )


_Result = TypeVar("_Result")
_Loader = TypeVar("_Loader", bound=Callable[..., Any])
_TRIES: Final = 8
_held: ContextVar[tuple[Path, bool] | None] = ContextVar("held_folder", default=None)
"""The folder that is being read, and whether its files were held to their save."""


def of_one_save(load: _Loader) -> _Loader:
    """Let a loader with an argument `path` see one save, whole: checked before, the same after."""
    at = load.__code__.co_varnames.index("path")

    @functools.wraps(load)
    def loading(*args: Any, **kwargs: Any) -> Any:
        path = folder_of(args[at] if len(args) > at else kwargs["path"])

        def read(older: Path | None) -> Any:
            place = path if older is None else older
            if len(args) > at:
                return load(*args[:at], place, *args[at + 1 :], **kwargs)
            return load(*args, **{**kwargs, "path": place})

        return read_as_one(path, read)

    return cast(_Loader, loading)


def folder_of(path: Any) -> Any:
    """The path of a folder; of a `Checkpoint`, Ray's or ours, the one that it has."""
    return getattr(path, "path", path)


def read_as_one(
    path: str | os.PathLike[str],
    read: Callable[[Path | None], _Result],
    check: Callable[[Path], None] | None = check_save,
) -> _Result:
    """Call `read` until the folder was not replaced while it ran, and return its result.

    `read` is given the place of the older folder where a writer died between two renames and
    nothing lies at the path, else None. Calls of this function inside, for parts of the folder,
    check nothing more. `check` holds its files to the manifest of their save, if there is one; None
    leaves that to `read`, which `was_checked` tells whether it is to.

    Raises:
        CheckpointError: Files are damaged or of several saves, `read` says so, or the folder was
            replaced in each of several tries.
    """
    folder = Path(os.path.abspath(path))
    current = _held.get()
    if current is not None and folder.is_relative_to(current[0]):
        return read(None)
    error: Exception | None = None
    for _ in range(_TRIES):
        before = _mark(folder)
        older = survivor(folder)
        token = _held.set((older or folder, check is not None))
        try:
            if check is not None:
                check(older or folder)
            result = read(older)
        except Exception as failure:
            if _mark(folder) == before:
                raise
            error = failure
        else:
            if _mark(folder) == before:
                return result
        finally:
            _held.reset(token)
    raise CheckpointError(
        f"{folder} was replaced while it was read, {_TRIES} times",
        hint="read it again when nobody saves to it, or let them save to a folder for each save.",
    ) from error


def was_checked(folder: Path) -> bool:
    """True if the reader that runs now has checked the files of a folder against their save."""
    current = _held.get()
    return current is not None and current[1] and folder.is_relative_to(current[0])


def _mark(folder: Path) -> tuple[int, ...]:
    marks: list[int] = []
    for path in (folder, *(folder / name for name in (SAVE_MANIFEST, *COMPONENT_FILES))):
        with suppress(OSError, ValueError):
            facts = path.stat()
            marks += facts.st_dev, facts.st_ino, 0 if path is folder else facts.st_mtime_ns
    return tuple(marks)
