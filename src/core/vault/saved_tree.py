"""Save a tree of files in RLlib's layout in one step, beside whatever else a folder holds.

The new tree is built beside the old one and takes the whole folder's place. What the older save
wrote, by its list of files, goes with it: state files of the other encoding, folders of
parts that are no more. Everything else is the user's and is carried over: files as they are (the
same file under both names until the swap), links as links.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import Final

from ..errors import CheckpointError
from .decode.load_limits import limits_in_force
from .file_names import ENCODINGS, ENV_RUNNER, EVAL_ENV_RUNNER, LEARNER_GROUP, SAVE_MANIFEST
from .layout import Node, locate
from .own.atomic import make_parents, replaced_folder, turn_at
from .own.flushing import flush_file
from .own.manifest import OUR_FILES
from .own.write_errors import refusal, refusals
from .save_manifest import files_of_save, write_manifest

_PARTS_OF_ALGORITHMS: Final = frozenset({LEARNER_GROUP, ENV_RUNNER, EVAL_ENV_RUNNER})
_UNFINISHED: Final = re.compile(r"\..+\.tmp-[0-9a-f]{12}")
_MARKS: Final = attrgetter("st_mode", "st_size", "st_mtime_ns")
_open: ContextVar[Path | None] = ContextVar("open_tree", default=None)


@contextmanager
def replaced_tree(
    target: Path,
    is_ours: Callable[[Path], bool] = lambda folder: False,
    *,
    has_manifest: bool = True,
) -> Iterator[Path]:
    """Return a folder to fill; when the block ends, all of it is at `target`, or nothing.

    Missing parents are made, links at `target` are followed. A save inside a folder that another
    call gave becomes a part of that one. `is_ours` says whether an older folder without a manifest
    holds nothing but what the caller writes. Without `has_manifest` the files are not described: a
    mere copy.

    Raises:
        CheckpointWriteError: The disk refuses, or a file of the user's is in the way; what was at
            `target` is untouched.
    """
    target = Path(os.path.realpath(target))
    outer = _open.get()
    if outer is not None and target.is_relative_to(outer):
        target.mkdir(parents=True, exist_ok=True)
        yield target
        return
    with turn_at(target), refusals(target):
        if os.path.lexists(target) and not os.path.isdir(target):
            raise refusal(target, "a file lies there", "save to another path.")
        make_parents(target)
        is_unlisted = os.path.exists(target) and files_of_save(target) is None and is_ours(target)
        new_files: frozenset[str] = frozenset()

        def carry(old: Path, new: Path) -> None:
            # Another writer may take the older folder away; what it wrote is looked at then.
            with suppress(FileNotFoundError):
                _Carrying(_written_before(old, new_files), new_files).folder(old, new)

        with replaced_folder(target, carry=None if is_unlisted else carry) as folder:
            token = _open.set(folder)
            try:
                yield folder
            finally:
                _open.reset(token)
            if has_manifest:
                write_manifest(folder)
            new_files = _files_below(folder)
            with suppress(FileNotFoundError):
                shutil.copymode(target, folder)


def _files_below(folder: Path) -> frozenset[str]:
    return frozenset(
        Path(place, name).relative_to(folder).as_posix()
        for place, _, names in os.walk(folder)
        for name in names
    )


class _Carrying:
    """Brings everything of the user's from an older folder into a new one.

    What is there already, as the same file, is left alone, so it may be done again. What was
    written before and now is not the user's; both are paths with slashes.
    """

    def __init__(self, before: frozenset[str], now: frozenset[str]) -> None:
        self.before, self.now = before, now
        self.folders = {str(folder) for name in now for folder in PurePosixPath(name).parents}

    def folder(self, old: Path, new: Path, inside: str = "") -> bool:
        """Carry one folder over; True if anything in it is the user's."""
        with os.scandir(old) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
        is_theirs = not listed
        for entry in listed:
            name, place = f"{inside}{entry.name}", new / entry.name
            if entry.is_dir(follow_symlinks=False):
                is_theirs |= self.folder(Path(entry.path), place, f"{name}/")
            elif not (name in self.before or name in self.now or _UNFINISHED.fullmatch(entry.name)):
                _make_folder(old, new)
                _place(Path(entry.path), place)
                is_theirs = True
        if is_theirs and inside and inside[:-1] not in self.folders:
            _make_folder(old, new)
            shutil.copystat(old, new)
        return is_theirs


def _make_folder(old: Path, new: Path) -> None:
    if os.path.isdir(new):
        return
    if os.path.lexists(new):
        raise refusal(old, "it is a folder where the save has a file", "move it away first.")
    _make_folder(old.parent, new.parent)
    new.mkdir()


def _place(old: Path, new: Path) -> None:
    """Give one file of the user's its name in the new tree."""
    try:
        facts, new_facts = old.lstat(), new.lstat() if os.path.lexists(new) else None
    except FileNotFoundError:
        return  # Taken away since it was listed.
    if new_facts is not None:
        if stat.S_ISDIR(new_facts.st_mode):
            raise refusal(old, "it is a file where the save has a folder", "move it away first.")
        if os.path.samestat(facts, new_facts) or _is_copy(old, facts, new, new_facts):
            return
    staged = new.with_name(f".{new.name}.tmp-{secrets.token_hex(6)}")
    try:
        if stat.S_ISLNK(facts.st_mode):
            os.symlink(os.readlink(old), staged)
        else:
            _link(old, staged)
        os.replace(staged, new)
    except FileNotFoundError:
        if os.path.lexists(old):
            raise


def _link(old: Path, new: Path) -> None:
    """The same file under another name; a copy where the disk has no such links."""
    try:
        os.link(old, new)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copy2(old, new, follow_symlinks=False)
        flush_file(new)


def _is_copy(old: Path, facts: os.stat_result, new: Path, new_facts: os.stat_result) -> bool:
    if stat.S_ISLNK(facts.st_mode) and stat.S_ISLNK(new_facts.st_mode):
        return os.readlink(old) == os.readlink(new)
    return _MARKS(facts) == _MARKS(new_facts)


def _written_before(folder: Path, now: frozenset[str]) -> frozenset[str]:
    """Paths below a folder that an older save wrote: by its list or, without one, by name."""
    listed = files_of_save(folder)
    if listed is not None:
        return listed | {SAVE_MANIFEST}
    try:
        root = locate(folder, limits_in_force())
    except CheckpointError:
        return frozenset([SAVE_MANIFEST])
    if root.role == "own":
        return frozenset([SAVE_MANIFEST, *OUR_FILES])
    files = [
        # While another save is between two renames, its older folder is found beside its place.
        file.relative_to(root.path).as_posix()
        for node in _components(root)
        for file in _files_of(node)
    ]
    if root.role == "folder":  # Its parts may be anybody's, but for those that are saved again.
        again = {PurePosixPath(name).parent for name in now}
        files = [name for name in files if PurePosixPath(name).parent in again]
    return frozenset([SAVE_MANIFEST, *files])


def _components(root: Node) -> Iterator[Node]:
    """A component and its parts; other checkpoints that lie below it are the user's."""
    yield root
    for child in root.children:
        if child.role in ("component", "module", "folder") and (
            root.role != "algorithm" or child.name in _PARTS_OF_ALGORITHMS
        ):
            yield from _components(child)


def _files_of(node: Node) -> Iterator[Path]:
    if node.metadata_file:
        yield node.path / node.metadata_file
    if node.class_file is not None:
        yield node.class_file
    if node.state_file is not None:
        for ending in ENCODINGS:
            yield node.state_file.with_suffix(ending)
