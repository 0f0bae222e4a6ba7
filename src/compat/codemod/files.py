"""Rewriting every Python file below a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ...core.errors import ConfigError
from ...core.vault.own.atomic import replaced_file
from ...core.vault.own.write_errors import refusals
from .report import CodemodReport, FileChange, Unreadable
from .rewriter import Rewriter
from .source import Source, UnreadableSourceError

_SKIPPED: Final = frozenset({"__pycache__", "node_modules", "site-packages", "venv"})
_NAMES: Final = (b"ray", b"rlconnect")


def codemod(path: str | Path, write: bool = False) -> CodemodReport:
    """Rewrite a source tree from Ray to rlconnect; without `write`, only report the changes.

    Imports from `ray.rllib` become imports from `rlconnect.v2` and `rlconnect.legacy`, `ray.tune`
    becomes `rlconnect.v2.tuning`. Classes, methods of configs, settings and keys of results that
    RLlib renamed between its releases, from Ray 1 on, are renamed. Each line with something that
    only a person can change gets a comment. All other text stays as it is, and a second run changes
    nothing.

    Args:
        path: A file, or a folder with all below it; hidden folders and virtual environments are
            left out.
        write: Replace the files, each one completely or not at all.

    Raises:
        ConfigError: There is no such file or directory.
        CheckpointWriteError: A file cannot be written; those before it are done.
    """
    root = Path(path)
    if not root.exists():
        raise ConfigError(f"nothing lies at {str(root)!r}", hint="give a file or a folder.")
    file_count, files, unreadable = 0, [], []
    for file in _sources(root):
        file_count += 1
        name = file.relative_to(root).as_posix() if root.is_dir() else file.name
        try:
            data = file.read_bytes()
            if not any(word in data for word in _NAMES):
                continue
            source = Source(data)
        except UnreadableSourceError as error:
            unreadable.append(Unreadable(name, str(error)))
            continue
        except OSError as error:
            unreadable.append(Unreadable(name, error.strerror or type(error).__name__))
            continue
        rewriter = Rewriter(source)
        left = sorted(rewriter.left, key=lambda each: each.line)
        change = FileChange(name, source.diff(name), tuple(rewriter.changes), tuple(left))
        if change.diff or change.left:
            files.append(change)
        if write and change.diff:
            _replace(file, source.written())
    return CodemodReport(str(path), file_count, tuple(files), tuple(unreadable), write)


def _sources(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
        return
    for folder, below, names in os.walk(root):
        below[:] = sorted(
            name
            for name in below
            if not name.startswith(".")
            and name not in _SKIPPED
            and not (Path(folder) / name / "pyvenv.cfg").exists()
        )
        for name in sorted(names):
            file = Path(folder) / name
            if name.endswith((".py", ".pyi")) and file.is_file() and not file.is_symlink():
                yield file


def _replace(file: Path, source: bytes) -> None:
    with refusals(file):
        mode = file.stat().st_mode
        with replaced_file(file) as staged:
            staged.write_bytes(source)
            staged.chmod(mode)
