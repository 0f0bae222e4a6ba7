"""Which files make up a checkpoint, judged by names and the small JSON file alone.

JSON is advice, files are facts: a lost JSON file, an absolute or foreign `state_file`, a version
nobody knows do not stop a folder whose state files are there. Names found inside a file are used
as base names of this folder's own entries, never as paths.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from ..errors import CheckpointError, CheckpointNotFoundError, NotACheckpointError
from ..text.shell import command
from . import file_names
from .decode.load_limits import Limits
from .file_names import ENCODINGS, INNER_STATE, OWN_MANIFEST, STATES, WORKER_FILE, Role
from .files.other_files import HEAD, other_kind, pointer_error
from .files.reading import access_error, base_name, cached_file, entries, read_head, read_json
from .own.leftovers import survivor

_WHOLE: Final = ("own", "worker", "algorithm")  # what is a checkpoint, never a part of one
_MOST_RENAMED: Final = 64  # files of a folder without a known name that are looked into
_DEEPEST: Final = 8
_DEEPEST_BELOW: Final = 12  # of folders searched for checkpoints


@dataclass(frozen=True)
class Node:
    """One folder of a checkpoint (or the one file of the oldest format) and its parts.

    Args:
        path: The folder, or the file of a "worker" node.
        role: What it holds.
        metadata: Its JSON file's content; empty when that is lost.
        metadata_file: Name of that JSON file.
        state_file: The file with its own state, if it is there.
        class_file: The file with class and constructor arguments, if it is there.
        children: Sub-folders that hold something, in order of name.
        files: Size of every file directly in it, by name.
        apart: Sub-folders that hold checkpoints of their own; nothing of them is taken.
    """

    path: Path
    role: Role
    metadata: dict[str, Any] = field(default_factory=dict)
    metadata_file: str = ""
    state_file: Path | None = None
    class_file: Path | None = None
    children: tuple[Node, ...] = ()
    files: Mapping[str, int] = field(default_factory=dict)
    problem: str = ""
    apart: tuple[Path, ...] = ()

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.path.name

    @property
    def encoding(self) -> str:
        """How the state file is written."""
        return ENCODINGS.get(self.state_file.suffix, "pickle") if self.state_file else ""

    def walk(self) -> Iterator[Node]:
        """This node and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def first(self, key: str) -> Any:
        """The value of a key in the first JSON file of the tree that has one; or None."""
        return next((part.metadata[key] for part in self.walk() if part.metadata.get(key)), None)

    def said(self, key: str) -> str:
        """The text under a key in the first JSON file of the tree that has it; else empty."""
        texts = (part.metadata.get(key) for part in self.walk())
        return next((text for text in texts if isinstance(text, str)), "")

    def child(self, name: str) -> Node | None:
        """The sub-folder of that name."""
        return next((child for child in self.children if child.name == name), None)


def locate(path: Path, limits: Limits) -> Node:
    """The checkpoint at `path` as a tree of nodes.

    Raises:
        CheckpointNotFoundError: Nothing lies there.
        CheckpointAccessError: It may not be read.
        NotACheckpointError: It holds no checkpoint; the hint names those that lie near.
    """
    try:
        facts = path.stat()
    except (OSError, ValueError) as error:
        typed = access_error(path, error)
        older = survivor(path) if isinstance(typed, CheckpointNotFoundError) else None
        if older is None:
            raise typed from None
        if _is_own(older):
            return Node(path, "own", metadata_file=OWN_MANIFEST)
        return locate(older, limits)  # The writer of a newer one died.
    if not stat.S_ISDIR(facts.st_mode):
        return _file(path)
    node = _Survey(limits).folder(path)
    workers = _workers_in(path, limits) if node is None else []
    if len(workers) == 1:
        return _worker(workers[0])
    if node is None or all(part.role == "folder" for part in node.walk()) or _is_experiment(node):
        raise _nothing_in(path, limits)
    return node


def _is_own(path: Path) -> bool:
    from .own.writer import is_own  # seldom asked, and it brings all that writes

    return is_own(path)


def _file(path: Path) -> Node:
    """The one file that is a checkpoint by itself, or an error that names the folder."""
    if WORKER_FILE.fullmatch(path.name):
        return _worker(path)
    if path.suffix == ".json" and _is_own(path):
        return Node(path, "own", files={path.name: path.stat().st_size})
    known_names = (*file_names.JSON_FILES, file_names.CLASS_FILE, OWN_MANIFEST)
    has_known_name = path.stem in STATES or path.name in known_names
    head = read_head(path, HEAD)
    lost = pointer_error(path.name, head)
    if lost is not None:
        raise lost
    if _starts_a_worker(head) and not has_known_name:
        return _worker(path)
    kind, advice = other_kind(head)
    if kind and not has_known_name:
        raise NotACheckpointError(
            f"{path} is {kind}", expected="a checkpoint folder", found="a file", hint=advice
        )
    raise NotACheckpointError(
        f"{path} is a file",
        expected="a checkpoint folder",
        hint=f"open the folder it lies in: {command('inspect', path.parent)}"
        if has_known_name
        else f"pass the folder that holds {file_names.STATE_FILES} files.",
    )


def _worker(path: Path) -> Node:
    return Node(path, "worker", state_file=path, files={path.name: path.stat().st_size})


def _starts_a_worker(head: bytes) -> bool:
    """Return True for the first bytes of a pickled dict whose first key is "worker"."""
    return head.startswith(b"\x80") and b"worker" in head[:64]


def _workers_in(folder: Path, limits: Limits) -> list[Path]:
    """Return the renamed files of the oldest format in a folder, among its first few files."""
    files = [each for each in entries(folder, limits) if each.is_file(follow_symlinks=False)]
    workers = []
    for file in islice(files, _MOST_RENAMED):
        with suppress(CheckpointError):  # one that may not be read
            if _starts_a_worker(read_head(Path(file.path), HEAD)):
                workers.append(Path(file.path))
    return workers


class _Survey:
    """One walk through a folder tree, which stops where no checkpoint goes on.

    `max_entries` bounds the whole walk, so a mistaken `/` costs little.
    """

    def __init__(self, limits: Limits, deepest: int = _DEEPEST) -> None:
        self.limits = limits
        self.deepest = deepest
        self.left = limits.max_entries

    def folder(self, path: Path, depth: int = 0, strange: int = 0) -> Node | None:
        """The node of one folder; None if it holds no part of a checkpoint.

        `strange` counts the folders just above that held nothing known.
        """
        sizes: dict[str, int] = {}
        folders: list[Path] = []
        links: list[str] = []
        for entry in entries(path, self.limits):
            self.left -= 1
            try:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name.endswith(file_names.DOCUMENT_ENDING):
                        sizes[entry.name] = 0
                    elif entry.name != INNER_STATE:
                        folders.append(Path(entry.path))
                elif entry.is_symlink() and entry.is_dir():
                    links.append(entry.name)
                elif entry.is_symlink():
                    cached = cached_file(Path(entry.path))
                    sizes[entry.name] = (cached or Path(entry.path)).lstat().st_size
                elif entry.is_file():
                    sizes[entry.name] = entry.stat(follow_symlinks=False).st_size
            except OSError:
                continue
        if OWN_MANIFEST in sizes:
            return Node(path, "own", metadata_file=OWN_MANIFEST, files=sizes)
        worker = max(filter(WORKER_FILE.fullmatch, sizes), key=_iteration, default=None)
        if worker is not None:
            return Node(path / worker, "worker", state_file=path / worker, files=sizes)
        metadata, metadata_file, problem = _metadata(path, sizes, self.limits)
        if links and not problem:
            problem = f"{links[0][:80]!r} is a link to a folder, which is not followed"
        class_name = base_name(metadata.get(file_names.CLASS_KEY)) or file_names.CLASS_FILE
        if class_name not in sizes and file_names.CLASS_DOCUMENT in sizes:
            class_name = file_names.CLASS_DOCUMENT
        state_file = _state_file(path, sizes, metadata)
        is_known = bool(metadata_file or state_file or class_name in sizes)
        strange = 0 if is_known or path.name in file_names.PART_FOLDERS else strange + 1
        children = [] if strange > 2 else self._below(folders, depth, strange)
        if not is_known and not children:
            return None
        class_file = path / class_name if class_name in sizes else None
        parts = tuple(children)
        node = Node(
            path, "folder", metadata, metadata_file, state_file, class_file, parts, sizes, problem
        )
        return _without_others(_with_role(node))

    def _below(self, folders: list[Path], depth: int, strange: int) -> list[Node]:
        children: list[Node] = []
        for folder in folders if depth < self.deepest else []:
            if self.left < 0:
                break
            try:
                child = self.folder(folder, depth + 1, strange)
            except CheckpointError as error:
                child = Node(folder, "folder", problem=error.summary)
            if child is not None:
                children.append(child)
        return children


def _iteration(name: str) -> int:
    return int(name.rpartition("-")[2][:18])


def _metadata(path: Path, names: dict[str, int], limits: Limits) -> tuple[dict[str, Any], str, str]:
    for name in file_names.JSON_FILES:
        if name in names:
            try:
                return read_json(path / name, limits), name, ""
            except CheckpointError as error:
                return {}, name, error.summary
    return {}, "", ""


def _state_file(path: Path, names: dict[str, int], metadata: dict[str, Any]) -> Path | None:
    """The state file the JSON names, by base name; else the one that is there."""
    named = base_name(metadata.get(file_names.STATE_KEY))
    candidates = [named, *(named + suffix for suffix in ENCODINGS)] if named else []
    candidates += [stem + suffix for stem in STATES for suffix in ENCODINGS]
    state_file = next((name for name in candidates if name in names), None)
    if state_file is not None and Path(state_file).suffix in ENCODINGS:
        return path / state_file
    inner = path / INNER_STATE
    if not os.path.isdir(inner) or os.path.islink(inner):
        return None
    files = (inner / f"{file_names.MODULE_STATE}{suffix}" for suffix in ENCODINGS)
    return next((file for file in files if os.path.isfile(file)), None)


def _with_role(node: Node) -> Node:
    role: Role = "folder"
    stem = node.state_file.stem if node.state_file else ""
    named = base_name(node.metadata.get(file_names.STATE_KEY)).partition(".")[0]
    kind = node.metadata.get("type")
    below = {child.role for child in node.children}
    if stem in STATES:
        role = STATES[stem]
    elif named in STATES:
        role = STATES[named]
    elif kind == "Policy":
        role = "policy"
    elif node.metadata_file == file_names.MODULE_JSON:
        role = "module"
    elif node.class_file is not None:
        role = "module" if below == {"module"} else "component"
    if kind == "Algorithm" or (role != "policy" and _looks_like_algorithm(node)):
        role = "algorithm"
    return replace(node, role=role)


def _without_others(node: Node) -> Node:
    """A checkpoint without those that lie below it: the trials of an experiment, say."""
    if node.role == "folder":
        return node
    apart = [
        child
        for child in node.children
        if child.name not in file_names.PART_FOLDERS
        and (child.role == "folder" or any(part.role in _WHOLE for part in child.walk()))
    ]
    if not apart:
        return node
    parts = tuple(child for child in node.children if child not in apart)
    others = (*node.apart, *(child.path for child in apart))
    return _with_role(replace(node, children=parts, apart=others))


def _looks_like_algorithm(node: Node) -> bool:
    """A folder that kept its policies or its learner group, whatever else it lost."""
    policies = node.child(file_names.POLICIES)
    if policies is not None and any(child.role == "policy" for child in policies.children):
        return True
    return bool(node.child(file_names.LEARNER_GROUP)) and node.child(file_names.LEARNER) is None


def _is_experiment(node: Node) -> bool:
    """True for a Tune experiment or trial: checkpoints lie below it, by number."""
    if node.role != "folder":
        return False
    parts = [part for part in node.walk() if part.role not in ("folder", "policy", "module")]
    return any(
        file_names.TRIAL_CHECKPOINT.fullmatch(part.name) or part.role in ("worker", "algorithm")
        for part in parts
    )


def checkpoints_below(path: Path, limits: Limits) -> Iterator[Path]:
    """Checkpoints at and below `path`, those below others too, in order of name.

    Each is its folder; where a folder holds several `checkpoint-<n>` files, the older ones come
    as files. Parts of a checkpoint are none by themselves.
    """
    pending: list[tuple[Path, int, frozenset[Path]]] = [(path, 0, frozenset())]
    entries_left = limits.max_entries
    while pending and entries_left > 0:
        folder, depth, parts = pending.pop(0)
        try:
            node = _Survey(limits, deepest=2).folder(folder)
            listed = entries(folder, limits)
        except CheckpointError:
            continue
        entries_left -= 1 + len(listed)
        below = [
            Path(each.path)
            for each in listed
            if each.is_dir(follow_symlinks=False)
            and each.name != INNER_STATE
            and not each.name.endswith(file_names.DOCUMENT_ENDING)
        ]
        if node is not None and _is_one(node) and (folder not in parts or node.role in _WHOLE):
            yield folder
            if node.role == "worker":
                files = [each.name for each in listed if WORKER_FILE.fullmatch(each.name)]
                yield from (folder / name for name in sorted(files, key=_iteration)[:-1])
            surveyed = _Survey(limits).folder(folder)
            parts = frozenset(part.path for part in (surveyed or node).walk())
            below = [] if file_names.ACTOR_FILE in node.files else below
        if depth < _DEEPEST_BELOW:
            pending[:0] = [(child, depth + 1, parts) for child in sorted(below)]


def _is_one(node: Node) -> bool:
    return (
        node.role != "folder"
        or (bool(node.children) and all(child.role == "policy" for child in node.children))
        or is_with_pipelines(node)
        or file_names.ACTOR_FILE in node.files
    )


def is_with_pipelines(node: Node) -> bool:
    """True for a module with its pipelines: a migrated policy, or a saved actor."""
    parts = {child.name for child in node.children}
    return node.role == "folder" and parts >= file_names.PARTS_THAT_ACT


_STARTS: Final = ("start", "teacher")
"""Policies that a run of `rlconnect train` keeps beside its checkpoints."""


def newest_below(path: Path, limits: Limits) -> Path | None:
    """The newest checkpoint of a trial's folder, or the only one below any folder.

    It is the only one below it, or that with the highest number among those of one trial; None of
    any other folder.
    """
    below = islice(checkpoints_below(path, limits), limits.max_entries)
    folders = [each for each in below if os.path.isdir(each)]
    own = [each for each in folders if each.parent != path or each.name not in _STARTS]
    folders = own or folders
    is_trial = len({each.parent for each in folders}) == 1 and all(
        file_names.TRIAL_CHECKPOINT.fullmatch(each.name) for each in folders
    )
    if len(folders) == 1 or is_trial:
        return max(folders, key=lambda each: (len(each.name), each.name))
    return None


def _nothing_in(path: Path, limits: Limits) -> NotACheckpointError:
    near = list(islice(checkpoints_below(path, limits), 3))
    if near:
        paths = [str(path) for path in near]
        return NotACheckpointError(
            f"{path} is not a checkpoint, but holds some",
            hint=f"try one of: {', '.join(paths)}; or list all: {command('scan', path)}",
            checkpoints=paths,
        )
    listed_entries = entries(path, limits)
    return NotACheckpointError(
        f"{path} {'holds no checkpoint' if listed_entries else 'is an empty folder'}",
        found=_listed(listed_entries),
        hint=f"a checkpoint folder holds {file_names.STATE_FILES} files, or a checkpoint-<n> file.",
    )


def _listed(listed_entries: list[os.DirEntry[str]]) -> str:
    kinds: dict[str, str] = {}
    for entry in listed_entries:
        if len(kinds) < 3 and entry.is_file(follow_symlinks=False):
            with suppress(CheckpointError):
                kind = other_kind(read_head(Path(entry.path), HEAD))[0]
                if kind:
                    kinds.setdefault(kind, entry.name[:80])
    return ", ".join(f"{name} ({kind})" for kind, name in kinds.items())
