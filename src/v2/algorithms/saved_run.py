"""What `algo.save()` gives: the folder as text, and the same by RLlib's names."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from typing_extensions import Self

from ...core.vault.save_manifest import read_as_one
from ...core.vault.saved_tree import replaced_tree


class SavedFolder(os.PathLike[str]):
    """A checkpoint's folder on this machine, as RLlib's `Checkpoint` shows it.

    Args:
        path: The folder.

    Attributes:
        path: The folder as text.

    Example:
        >>> SavedFolder("runs/first").path
        'runs/first'
    """

    def __init__(self, path: str | os.PathLike[str], filesystem: Any = None) -> None:
        self.path = os.fspath(path)
        self.filesystem = filesystem

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path!r})"

    @classmethod
    def from_directory(cls, path: str | os.PathLike[str]) -> Self:
        """Show a folder so."""
        return cls(path)

    def to_directory(self, path: str | os.PathLike[str] | None = None) -> str:
        """Copy the files to another folder, all of them or nothing.

        Args:
            path: The other one; None gives the folder itself.

        Returns:
            Where the files are.
        """
        if path is None:
            return self.path
        target = Path(path)

        def copy(kept: Path | None) -> None:
            with replaced_tree(target, has_manifest=False) as folder:
                shutil.copytree(kept or self.path, folder, dirs_exist_ok=True)

        read_as_one(self.path, copy)
        return str(target)

    @contextmanager
    def as_directory(self) -> Iterator[str]:
        """Return the folder, for use in a `with` statement."""
        yield self.path


class SavedRun(str):
    """A checkpoint's folder as text, which also has what RLlib's `save()` returns.

    Attributes:
        checkpoint: The folder as RLlib's `Checkpoint`.
        metrics: What the last iteration gave.

    Example:
        >>> saved = SavedRun("runs/first", {"training_iteration": 3})
        >>> saved.checkpoint.path, saved.metrics["training_iteration"], saved.upper()
        ('runs/first', 3, 'RUNS/FIRST')
    """

    checkpoint: SavedFolder
    metrics: dict[str, Any]

    def __new__(cls, path: str, metrics: Mapping[str, Any] | None = None) -> Self:
        """Take a folder, and what its run gave last."""
        made = super().__new__(cls, path)
        made.checkpoint = SavedFolder(path)
        made.metrics = dict(metrics or {})
        return made
