"""Locations of a module and its pipelines in a new-stack folder, found without reading files."""

from __future__ import annotations

import os
from pathlib import Path

from ...core.vault.file_names import ENV_TO_MODULE, MODULE_PLACES, RUNNER_PLACES
from ...core.vault.files.reading import part_of


def runner_in(folder: str | os.PathLike[str]) -> str | None:
    """The place of a runner below a folder; None where there is none."""
    places = (n for n in RUNNER_PLACES if os.path.isdir(part_of(folder, n + ENV_TO_MODULE)))
    return next(places, None)


def module_in(folder: str | os.PathLike[str]) -> Path | None:
    """The folder of a module below another one; None where there is none."""
    return next(
        (place for place in (part_of(folder, n) for n in MODULE_PLACES) if os.path.isdir(place)),
        None,
    )


def has_pipelines(path: str | os.PathLike[str]) -> bool:
    """Whether a folder holds a module of the new stack with its pipelines."""
    return runner_in(path) is not None and module_in(path) is not None
