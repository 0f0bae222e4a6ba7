"""Plans in files: one of its own, or that of a migrated folder, whose source lies in it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from ...core.data.checked import mapping
from ...core.data.damage import at
from ...core.errors import (
    CheckpointNotFoundError,
    CorruptCheckpointError,
    MissingPartError,
    RlconnectError,
)
from ...core.vault.decode.load_limits import limits_in_force
from ...core.vault.file_names import MIGRATION_FILE, SOURCE
from ...core.vault.files.reading import fingerprint_of, part_of, read_json
from ...core.vault.own.atomic import replaced_file
from ...core.vault.own.leftovers import removed
from ...core.vault.own.writer import is_own
from ...legacy.policy.policy import Policy
from ..loading.triples import read_beside

FORMAT: Final = "rlconnect-migration"
VERSION: Final = 1
NATIVE: Final = "native"
"""The kind of a plan whose policy was of the new stack already."""

_MOST: Final = {"samples": 10_000, "length": 1_000}
_PROOFS: Final = ("samples", "length", "seed", "absolute", "relative")


def is_migrated(path: str | os.PathLike[str]) -> bool:
    """Whether a folder holds a migrated policy."""
    return os.path.isfile(Path(path, MIGRATION_FILE))


def saved_plan(path: str | os.PathLike[str]) -> tuple[Mapping[str, Any], str]:
    """What a file or a migrated folder says of a plan, and where the plan's source lies."""
    target = Path(path)
    if os.path.isdir(target):
        return _of_folder(target)
    try:
        data = read_json(target, limits_in_force(), follow=True)
    except (CheckpointNotFoundError, CorruptCheckpointError) as error:
        raise CorruptCheckpointError(
            f"{target} is no migration plan", found=error.message
        ) from None
    if data.get("format") != FORMAT:
        raise CorruptCheckpointError(
            f"{target} is no migration plan", expected=f'"format": "{FORMAT}"'
        )
    with at(target.name):
        # A path of its own stays as it is; a policy saved with the plan lies beside it.
        return data, str(target.parent / str(data["source"]))


def _of_folder(folder: Path) -> tuple[Mapping[str, Any], str]:
    data = read_beside(folder, MIGRATION_FILE)
    copied = part_of(folder, SOURCE)
    if data.get("kind") == NATIVE:
        return data, str(folder)
    if os.path.isdir(copied):
        return data, str(copied)
    source = str(data.get("source") or "")
    if not source or not os.path.lexists(source):
        raise MissingPartError(
            f"{folder} holds a migrated policy without the one it was made of",
            expected=f"{SOURCE} in it",
            found=f"its source was {source or 'a live policy'}, which is not there",
            hint="migrate the old checkpoint again: rlconnect migrate OLD --out DIR.",
        )
    return data, source


def proofs_in(data: Mapping[str, Any]) -> dict[str, Any]:
    """How a plan's steps are to be proven, within limits."""
    with at("proofs"):
        proofs = {
            name: value
            for name, value in mapping(data.get("proofs") or {}).items()
            if name in _PROOFS
        }
        for name, value in proofs.items():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise TypeError(f"{name} is {type(value).__name__}, no number")
            if not np.isfinite(value) or value < 0 or value > _MOST.get(name, 2**63):
                raise ValueError(f"{name} is {value}")
        return proofs


def history_in(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What was done to a migration and when, oldest first."""
    with at("history"):
        return [dict(mapping(entry)) for entry in data.get("history") or []]


def origin_of(source: str) -> dict[str, str]:
    """Where a policy came from, with the checksum of its files."""
    return {"path": source, "checksum": fingerprint_of(source)} if source else {}


def keep_source(policy: Policy, folder: Path) -> str:
    """Save the policy beside what it becomes; gives the reason in words if it cannot be saved."""
    try:
        policy.export_checkpoint(folder / SOURCE)
    except RlconnectError as error:  # a connector of the author's own that cannot be saved
        return error.summary
    return ""


def write_plan(
    target: Path, data: Mapping[str, Any], source: str, export: Callable[[Path], Any]
) -> None:
    """Write a plan as JSON; a live policy lies beside it, the older one's until it is written.

    `source` is where its policy was loaded from, empty of a live one, which `export` writes.
    """
    older = ""
    if not source:
        first, second = (target.name + ending for ending in (".policy", ".policy-2"))
        source, older = (second, first) if _source_in(target) == first else (first, second)
        export(target.with_name(source))
    with replaced_file(target) as staged:
        text = json.dumps({**data, "source": source}, indent=2) + "\n"
        staged.write_text(text, encoding="utf-8")
    if older and is_own(target.with_name(older)):
        removed(target.with_name(older))


def _source_in(file: Path) -> str:
    """Where the policy of an older plan lies; empty where there is none."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    return str(data.get("source", "")) if isinstance(data, dict) else ""
