"""Rewriting sources from Ray's names to rlconnect's.

`files` walks a tree, `source` edits the text of a file, `rewriter` decides what to edit by the
tables of `renamings`, `report` contains what was done and what is left to a person.
"""

from .files import codemod
from .report import CodemodReport, FileChange, Left, Unreadable

__all__ = ["CodemodReport", "FileChange", "Left", "Unreadable", "codemod"]
