"""What a checkpoint says of itself before anything in it is read, under RLlib's keys."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from ...core.vault import open_checkpoint
from ...core.vault.decode.load_limits import DEFAULT_LIMITS
from ...core.vault.file_names import LEARNT_MODULE, POLICIES, VERSION_KEY
from ...core.vault.layout import Node, locate

_TYPES: Final = {
    "algorithm": "Algorithm",
    "worker": "Algorithm",
    "policy": "Policy",
    "module": "RLModule",
}


def get_checkpoint_info(checkpoint: str | os.PathLike[str]) -> dict[str, Any]:
    """Type, format, version and parts of a checkpoint; only names and small JSON files are read.

    Args:
        checkpoint: Its folder, or the file of the oldest format.

    Returns:
        "type" ("Algorithm", "Policy", "RLModule"), "format" ("cloudpickle", "msgpack", ...),
        "checkpoint_version" as text, "checkpoint_dir", "state_file", "policy_ids" and
        "module_ids" as sets or None; beside them what its JSON file says ("ray_version", ...).

    Raises:
        CheckpointError: Nothing lies there, or no checkpoint. `rlconnect inspect` tells more.
    """
    node = locate(Path(checkpoint), DEFAULT_LIMITS)
    if node.role == "own":
        return _own(node)
    info = {
        "type": _TYPES.get(node.role) or node.metadata.get("type"),
        "format": "cloudpickle" if node.encoding == "pickle" else node.encoding,
        "checkpoint_version": _version(node),
        "checkpoint_dir": str(node.path.parent if node.role == "worker" else node.path),
        "state_file": str(node.state_file) if node.state_file else None,
        "policy_ids": _ids(node.child(POLICIES), "policy"),
        "module_ids": _ids(_modules(node), "module") if node.role == "algorithm" else None,
    }
    more = {k: v for k, v in node.metadata.items() if k not in info}
    return {**info, **more}


def _own(node: Node) -> dict[str, Any]:
    """A checkpoint that rlconnect wrote: its document is read, there is no code in it."""
    checkpoint = open_checkpoint(node.path)
    is_one = checkpoint.kind == "policy"
    return {
        "type": "Policy" if is_one else "Algorithm",
        "format": "rlconnect",
        "checkpoint_version": checkpoint.version,
        "checkpoint_dir": str(node.path),
        "state_file": None,
        "policy_ids": None if is_one else set(checkpoint.policies) or None,
        "module_ids": set(checkpoint.modules) or None,
        "ray_version": checkpoint.ray_version,
    }


def _version(node: Node) -> str:
    version = node.metadata.get(VERSION_KEY)
    if isinstance(version, str):
        return version
    return "0.1" if node.role == "worker" else "1.1"


def _ids(folder: Node | None, role: str) -> set[str] | None:
    if folder is None:
        return None
    return {child.name for child in folder.children if child.role == role} or None


def _modules(node: Node) -> Node | None:
    part: Node | None = node
    for name in LEARNT_MODULE.split("/"):
        part = None if part is None else part.child(name)
    return part
