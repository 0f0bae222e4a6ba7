"""Rewriting a source tree from Ray's names to rlconnect's, and from old releases' ways to today's.

`tree` walks the files, `ray_imports` rewrites what they import, `old_uses` what they do with it,
`release_changes` what RLlib has renamed since, `report` says what was done and what is left for a
person.
"""

from .report import CodemodReport, FileChange, Left, Unreadable
from .tree import codemod

__all__ = ["CodemodReport", "FileChange", "Left", "Unreadable", "codemod"]
