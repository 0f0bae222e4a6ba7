"""Read a folder as one save left it, although somebody may save to it meanwhile."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from ..errors import CheckpointError
from .file_names import SAVE_MANIFEST
from .own.leftovers import survivor
from .save_manifest import COMPONENT_FILES, check_save

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
