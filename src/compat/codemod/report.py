"""What a rewriting did, file by file, and what it leaves to a person."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Left:
    """Something that was left as it was. `line` counts from 1 in the file as it was."""

    line: int
    what: str
    why: str


@dataclass(frozen=True)
class Unreadable:
    """A file that could not be read as Python of today, and was not touched."""

    path: str
    why: str


@dataclass(frozen=True)
class FileChange:
    """One file that changes, or that has something left in it."""

    path: str
    diff: str
    changes: tuple[str, ...] = ()
    left: tuple[Left, ...] = ()


@dataclass(frozen=True)
class CodemodReport:
    """The outcome over all files.

    Attributes:
        path: What was asked for.
        seen: How many Python files were read.
        files: Those that change, or have something left in them.
        unreadable: Those that were not touched because they could not be read.
        written: Whether the files were written; otherwise this is what would be done.
    """

    path: str
    seen: int
    files: tuple[FileChange, ...]
    unreadable: tuple[Unreadable, ...]
    written: bool

    @property
    def changed(self) -> tuple[FileChange, ...]:
        """The files that change."""
        return tuple(file for file in self.files if file.diff)

    @property
    def diff(self) -> str:
        """All changes as one unified diff."""
        return "".join(file.diff for file in self.files)

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left for a person to do."""
        return not self.unreadable and not any(file.left for file in self.files)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        data = asdict(self)
        return {**data, "complete": self.is_complete}

    def __str__(self) -> str:
        verb = "changed" if self.written else "would change"
        lines = [f"{len(self.changed)} of {self.seen} files {verb}"]
        for file in self.files:
            lines.append(f"{file.path}: {len(file.changes)} changes, {len(file.left)} left")
            lines += [f"  line {use.line}: {use.what}: {use.why}" for use in file.left]
        lines += [f"{file.path}: not touched: {file.why}" for file in self.unreadable]
        return "\n".join(lines)
