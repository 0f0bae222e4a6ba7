"""Rewriting every Python file below a folder."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from ...core.errors import ConfigError, MissingExtraError
from ...core.vault.own.atomic import replaced_file
from ...core.vault.own.write_errors import refusals
from .report import CodemodReport, FileChange, Unreadable

_SKIPPED: Final = frozenset({"__pycache__", "node_modules", "site-packages", "venv"})
_TELLTALES: Final = (b"ray", b"rlconnect")


def codemod(path: str | Path, write: bool = False) -> CodemodReport:
    """Rewrite a source tree from Ray to rlconnect; without `write`, only say what would change.

    Imports from `ray.rllib` and `ray.tune` become imports from `rlconnect.v2`, `rlconnect.legacy`
    and `rlconnect.v2.tuning`. What RLlib renamed between its releases, from Ray 1 on, is renamed:
    classes, methods of configs, settings, keys of results. Each line with something that only a
    person can change stays, with a comment. The rest of each file keeps its text. A second run
    changes nothing.

    Args:
        path: A file, or a folder with all below it; hidden folders and virtual environments are
            left out.
        write: Replace the files, each one whole or not at all.

    Raises:
        ConfigError: Nothing lies at the path.
        MissingExtraError: LibCST is not installed.
        CheckpointWriteError: A file cannot be written; those before it are done.
    """
    root = Path(path)
    if not root.exists():
        raise ConfigError(f"nothing lies at {str(root)!r}", hint="give a file or a folder.")
    if find_spec("libcst") is None:
        raise MissingExtraError(
            "rewriting sources needs LibCST, which is not installed.",
            hint="pip install 'rlconnect[codemod]'",
        )
    file_count, files, unreadable = 0, [], []
    for file in _sources(root):
        file_count += 1
        name = file.relative_to(root).as_posix() if root.is_dir() else file.name
        try:
            source = file.read_bytes()
            if not any(word in source for word in _TELLTALES):
                continue
            change = _rewritten(name, source)
        except _Unreadable as error:
            unreadable.append(Unreadable(name, str(error)))
            continue
        except OSError as error:
            unreadable.append(Unreadable(name, error.strerror or type(error).__name__))
            continue
        if change is None:
            continue
        files.append(change[0])
        if write and change[0].diff:
            _replace(file, change[1])
    return CodemodReport(str(path), file_count, tuple(files), tuple(unreadable), write)


class _Unreadable(Exception):
    """A source that LibCST cannot read."""


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


def _rewritten(name: str, source: bytes) -> tuple[FileChange, bytes] | None:
    """What becomes of one file; None where it has nothing to do with Ray."""
    import libcst as cst

    from .expressions import GivenNames
    from .module_names import ModuleNames
    from .old_uses import OldUses
    from .ray_imports import RayImports
    from .release_changes import ReleaseChanges, argumentless_builders

    try:
        module = cst.parse_module(source)
    except cst.ParserSyntaxError as error:
        raise _Unreadable(f"line {error.raw_line}: {error.message}") from None
    except (UnicodeDecodeError, LookupError, SyntaxError) as error:
        raise _Unreadable(f"its encoding cannot be read: {error}") from None
    except RecursionError:
        raise _Unreadable("its expressions are nested too deeply") from None
    names, given_names = ModuleNames(), GivenNames()
    module.visit(names)
    module.visit(given_names)
    uses = OldUses(names, frozenset(given_names.results), frozenset(given_names.algorithms))
    imports = RayImports(names)
    used = cst.MetadataWrapper(module).visit(uses)
    rewritten = cst.MetadataWrapper(used).visit(imports)
    if not imports.is_concerned:
        return None
    changes = ReleaseChanges(imports.renamed, argumentless_builders(rewritten))
    written = rewritten.visit(changes).bytes
    left_alone = tuple(sorted(imports.left + uses.left, key=lambda use: use.line))
    if written == source:
        return (FileChange(name, "", (), left_alone), source) if left_alone else None
    done = (*imports.changes, *uses.changes, *changes.changes)
    return FileChange(name, _diff(name, source, written), done, left_alone), written


def _diff(name: str, before: bytes, after: bytes) -> str:
    old, new = (text.decode("utf-8", "replace").splitlines(True) for text in (before, after))
    lines = difflib.unified_diff(old, new, f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _replace(file: Path, source: bytes) -> None:
    with refusals(file):
        mode = file.stat().st_mode
        with replaced_file(file) as staged:
            staged.write_bytes(source)
            staged.chmod(mode)
