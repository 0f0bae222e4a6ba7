"""Components of one checkpoint, read as one load."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ...core.data.budget import one_load
from ...core.data.damage import at
from ...core.trust import together


def read_parts(*parts: tuple[Any, Path, Mapping[str, Any]]) -> list[Any]:
    """What lies in several folders; what any of them misses is told in one error.

    Args:
        *parts: The class, the folder, and the options of its `from_checkpoint`.

    Raises:
        CheckpointError: One cannot be read; the message names its folder.
    """
    with one_load():
        return together(*(partial(_part, *each) for each in parts))


def _part(cls: Any, folder: Path, options: Mapping[str, Any]) -> Any:
    with at(folder.name):
        return cls.from_checkpoint(folder, **options)
