"""Plans in files, or in migrated folders, which also contain the source."""

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
    """Return the data of a saved plan, and the location of its source."""
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
        # Absolute paths are unchanged; a policy saved with the plan is in the same folder.
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
    """Return the history of a migration, oldest entry first."""
    with at("history"):
        return [dict(mapping(entry)) for entry in data.get("history") or []]


def origin_of(source: str) -> dict[str, str]:
    """Return the source of a policy, and the checksum of its files."""
    return {"path": source, "checksum": fingerprint_of(source)} if source else {}


def keep_source(policy: Policy, folder: Path) -> str:
    """Save the source policy together with the result; return the reason if that fails."""
    try:
        policy.export_checkpoint(folder / SOURCE)
    except RlconnectError as error:  # a custom connector that cannot be saved
        return error.summary
    return ""


def write_plan(
    target: Path, data: Mapping[str, Any], source: str, export: Callable[[Path], Any]
) -> None:
    """Write a plan as JSON; a live policy is saved next to it, before the older one is removed.

    `source` is where the policy was loaded from; if empty, `export` writes the live policy.
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
    """Return the location of an older plan's policy; empty if there is none."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    return str(data.get("source", "")) if isinstance(data, dict) else ""
