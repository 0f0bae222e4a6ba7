"""The list of files that a save in RLlib's layout wrote, and reading beside a writer.

The list is stored in the JSON file of the component at the top, under `ray_ignores`, because Ray
ignores it; where no component is at the top, in `rlconnect_save.json`. The next save to the folder
removes these files and keeps all others. Loaders do not read it.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from ..errors import CheckpointError
from ..version import __version__
from .decode.load_limits import limits_in_force
from .file_names import ALGORITHM_JSON, CLASS_KEY, COMPONENT_JSON, SAVE_MANIFEST
from .files.reading import read_json
from .own.leftovers import survivor

KEY: Final = "ray_ignores"
COMPONENT_FILES: Final = (COMPONENT_JSON, ALGORITHM_JSON)


def files_of_save(folder: Path) -> frozenset[str] | None:
    """The paths below a folder, with slashes, that the last save wrote; None if not recorded."""
    for name in (*COMPONENT_FILES, SAVE_MANIFEST):
        data = _json_at(folder / name)
        listed = data if name == SAVE_MANIFEST else data.get(KEY)
        files = listed.get("files") if isinstance(listed, dict) else None
        if isinstance(files, (list, dict)):
            return frozenset(file for file in files if isinstance(file, str))
    return None


def write_manifest(folder: Path) -> None:
    """List the files of a folder that a save has just filled."""
    files = sorted(
        Path(place, name).relative_to(folder).as_posix()
        for place, _, names in os.walk(folder)
        for name in names
    )
    data = {"written_by": f"rlconnect {__version__}", "files": files}
    for name in COMPONENT_FILES:
        component = _json_at(folder / name)
        if CLASS_KEY in component:
            text = json.dumps({**component, KEY: data})
            (folder / name).write_text(text, encoding="utf-8")
            return
    text = json.dumps(data, indent=1) + "\n"
    (folder / SAVE_MANIFEST).write_text(text, encoding="utf-8")


def _json_at(file: Path) -> dict[str, Any]:
    """The object in a JSON file; empty if there is none."""
    try:
        data = read_json(file, limits_in_force()) if os.path.isfile(file) else {}
    except CheckpointError:
        return {}
    return data if isinstance(data, dict) else {}


_Result = TypeVar("_Result")
_Loader = TypeVar("_Loader", bound=Callable[..., Any])
_TRIES: Final = 8
_held: ContextVar[Path | None] = ContextVar("held_folder", default=None)
"""The folder that is being read."""


def of_one_save(load: _Loader) -> _Loader:
    """Decorate a loader with an argument `path`, which loads again if the folder is replaced."""
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


def read_as_one(path: str | os.PathLike[str], read: Callable[[Path | None], _Result]) -> _Result:
    """Call `read` until the folder was not replaced while it ran, and return its result.

    `read` is given the place of the older folder where a writer died between two renames and
    nothing lies at the path, else None. Calls of this function inside, for parts of the folder,
    only read.

    Raises:
        CheckpointError: `read` raises it, or the folder was replaced in each of several tries.
    """
    folder = Path(os.path.abspath(path))
    current = _held.get()
    if current is not None and folder.is_relative_to(current):
        return read(None)
    error: Exception | None = None
    for _ in range(_TRIES):
        before = _mark(folder)
        older = survivor(folder)
        token = _held.set(older or folder)
        try:
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


def _mark(folder: Path) -> tuple[int, ...]:
    marks: list[int] = []
    for path in (folder, *(folder / name for name in (SAVE_MANIFEST, *COMPONENT_FILES))):
        with suppress(OSError, ValueError):
            facts = path.stat()
            marks += facts.st_dev, facts.st_ino, 0 if path is folder else facts.st_mtime_ns
    return tuple(marks)
