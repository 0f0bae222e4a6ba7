"""Open a checkpoint of any kind: locate its files, decode them, describe them."""

from __future__ import annotations

import os
import shlex
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from ..errors import (
    CheckpointError,
    ChosenCheckpointWarning,
    CorruptCheckpointError,
    MissingPartError,
    NotACheckpointError,
)
from . import file_names
from .decode.load_limits import Limits, limits_in_force, one_load
from .decoding import Decoding
from .files.places import is_elsewhere, named, on_disk
from .layout import Node, locate, newest_below
from .records.records import Checkpoint, unsafe_line
from .records.weights import WeightTable
from .save_manifest import KEY, read_as_one

_Read = TypeVar("_Read")

# Readers of other kinds of checkpoints are imported where one is met: a fresh process acts sooner.


def open_checkpoint(path: str | os.PathLike[str], *, limits: Limits | None = None) -> Checkpoint:
    """Read the checkpoint at `path` as frozen records; not a byte of it runs.

    Args:
        path: A folder RLlib or rlconnect wrote (algorithm, policy, policies, module, pipeline,
            ...), a `.zip` or `.tgz` of one, or a `checkpoint-<n>` file of Ray 2.0 and older. With
            the `remote` extra also a URL (`s3://...`).
        limits: How much reading may take; the defaults suit files up to several gigabytes.

    Raises:
        CheckpointNotFoundError: Nothing lies there.
        CheckpointAccessError: It may not be read.
        NotACheckpointError: It holds no checkpoint.
        CorruptCheckpointError: Nothing in it can be decoded.
        LimitExceededError: It asks for more memory, depth or work than allowed.
    """
    limits = limits or limits_in_force()
    with one_load(limits):
        if is_elsewhere(path):
            with on_disk(path, limits) as local:
                return replace(_in_memory(_open(local, limits)), path=named(path))
        root = Path(os.path.abspath(path))
        return read_as_one(root, lambda kept: _open(root, limits))


def of_newest(path: str | os.PathLike[str], read: Callable[[Any], _Read]) -> _Read:
    """Read a checkpoint with `read`; of a trial's folder, the newest one in it.

    Warns:
        ChosenCheckpointWarning: The folder is no checkpoint itself.
    """
    try:
        return read(path)
    except NotACheckpointError:
        folder = Path(path)
        newest = newest_below(folder, limits_in_force()) if os.path.isdir(folder) else None
        if newest is None:
            raise
    warnings.warn(
        f"{folder.absolute()} is no checkpoint: loading the newest below it, "
        f"{newest.relative_to(folder)}",
        ChosenCheckpointWarning,
        stacklevel=6,
    )
    return read(newest)


def _in_memory(checkpoint: Checkpoint) -> Checkpoint:
    """Read all weights now: the files they would be read from later will be gone."""

    def in_memory(records: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: replace(r, weights=WeightTable(dict(r.weights), named=r.weights.named))
            for name, r in records.items()
        }

    policies, modules = in_memory(checkpoint.policies), in_memory(checkpoint.modules)
    return replace(checkpoint, policies=policies, modules=modules)


def _open(root: Path, limits: Limits) -> Checkpoint:
    if os.path.isfile(root / file_names.ACTOR_FILE):
        from .players import read_players

        several = read_players(root, lambda folder: _open(folder, limits))
        if several is not None:
            return several
    node = locate(root, limits)
    decoding = Decoding(root if os.path.isdir(root) else root.parent, limits, root)
    try:
        return _described(root, node, decoding)
    except CheckpointError as error:
        if decoding.unsafe:
            error.hint = f"{unsafe_line(decoding.unsafe)}. {error.hint}".strip()
        raise


def _described(root: Path, node: Node, decoding: Decoding) -> Checkpoint:
    for part in node.walk():
        if part.problem:
            place = decoding.place(part.path / part.metadata_file)
            decoding.problem(place, part.problem, "the other files are read without it.")
        for folder in part.apart:
            summary = "holds checkpoints of its own, of which nothing is taken"
            hint = f"list them: rlconnect scan {shlex.quote(str(folder))}"
            decoding.problem(decoding.place(folder), summary, hint)
    checkpoint = _read(node, decoding)
    if checkpoint.version not in file_names.KNOWN_VERSIONS and checkpoint.stack != "rlconnect":
        decoding.problem(
            "",
            f"layout version {checkpoint.version!r} is not one we know; read as its files look",
            "compare the numbers with what you expect, and tell us about it.",
        )
    return _require_content(
        replace(
            checkpoint,
            path=str(root),
            is_ours=checkpoint.stack == "rlconnect"
            or any(KEY in n.metadata or file_names.SAVE_MANIFEST in n.files for n in node.walk()),
            foreign=decoding.foreign,
            unsafe=decoding.unsafe,
            skipped=tuple(decoding.skipped),
            problems=tuple(decoding.problems),
            files=tuple(decoding.files.values()),
        )
    )


def _read(node: Node, decoding: Decoding) -> Checkpoint:
    if node.role == "own":
        from .readers.own_records import read_own

        return read_own(node, decoding)
    if node.role == "worker":
        from .readers.worker_file import read_worker_file

        return read_worker_file(node, decoding)
    if _is_new_stack(node):
        from .readers.new_stack import read_new

        return read_new(node, decoding)
    from .readers.old_stack import read_old

    checkpoint = read_old(node, decoding)
    if node.child(file_names.LEARNER) is not None:  # Ray 2.5 to 2.9 keep the modules there as well
        from .readers.new_stack import read_modules

        checkpoint = replace(checkpoint, modules=read_modules(node, decoding))
    return checkpoint


def _is_new_stack(node: Node) -> bool:
    """New-stack folders say version 2, or hold components instead of policies."""
    if node.role == "folder":
        roles = {child.role for child in node.children}
        return "module" in roles and roles <= {"module", "component"}  # with its pipelines
    if node.role != "algorithm":
        return node.role in ("module", "component")
    if str(node.metadata.get(file_names.VERSION_KEY)).startswith("2"):
        return True
    parts = {child.name for child in node.children}
    return file_names.POLICIES not in parts and bool(
        parts & {file_names.LEARNER_GROUP, file_names.ENV_RUNNER}
    )


def _require_content(checkpoint: Checkpoint) -> Checkpoint:
    """The checkpoint, if anything of it could be read at all."""
    modules = [m for m in checkpoint.modules.values() if m.weights or m.module_class]
    nothing = not checkpoint.policies and not modules and not checkpoint.config
    unread = all(c.state is None and not c.component_class for c in checkpoint.components)
    if nothing and unread and checkpoint.problems:
        worst = next((p for p in checkpoint.problems if p.kind == "damaged"), None)
        if worst is not None:
            raise CorruptCheckpointError(
                f"nothing in {checkpoint.path} can be read: {worst}",
                hint=worst.hint or "fetch the checkpoint again.",
            )
        lost = [problem.where for problem in checkpoint.problems if problem.where]
        raise MissingPartError(
            f"{checkpoint.path} has lost what it held: {', '.join(lost)} "
            f"{'is' if len(lost) == 1 else 'are'} not here",
            hint="copy the whole folder again from where the checkpoint was made.",
            missing=lost,
        )
    return checkpoint
