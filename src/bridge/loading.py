"""Any checkpoint as something that acts, and the policies in one by id."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.budget import one_load
from ..core.errors import UnknownNameError
from ..core.torch_needed import torch_needed
from ..core.vault import open_checkpoint
from ..legacy.policy import Policy

if TYPE_CHECKING:
    from .migrate.checkpoint import MigratedPolicy


def load(path: str | os.PathLike[str], policy: str | None = None, **options: Any) -> Any:
    """Load what a checkpoint holds.

    Args:
        path: Any checkpoint of RLlib's, of either stack, or one that rlconnect wrote.
        policy: Only the policy or module of this id.
        **options: As for `Policy.from_checkpoint` or `RLModule.from_checkpoint`: `trust` for your
            own classes that it names.

    Returns:
        A `Policy`, or a dict of them by id, from the old stack and from rlconnect; an `RLModule`
        (a `MultiRLModule` for several) from the new stack.

    Raises:
        CheckpointError: The checkpoint cannot be read.
        UnknownNameError: It holds nothing by that id.
    """
    with one_load(), torch_needed("the module in this checkpoint"):
        checkpoint = open_checkpoint(path)
        if checkpoint.policies or not checkpoint.modules:
            if policy is None:
                return Policy.from_checkpoint(path, **options)
            return Policy.from_checkpoint(path, [policy], **options)[policy]
        from ..v2.modules.rl_module import RLModule

        module: Any = RLModule.from_checkpoint(path, **options)
    if policy is None:
        return module
    if policy not in module:
        raise UnknownNameError(
            f"no module {policy!r} in {path}", expected=", ".join(map(repr, module.keys()))
        )
    return module[policy]


def load_migrated_at(path: str | os.PathLike[str], **options: Any) -> MigratedPolicy | None:
    """The migrated policy in a folder; None if the folder holds something else."""
    from .migrate.checkpoint import load_migrated

    return load_migrated(path, **options) if Path(path, "migration.json").is_file() else None


def load_policies(path: str | os.PathLike[str], **options: Any) -> dict[str, Policy]:
    """The policies of a checkpoint by id, be it one or many."""
    loaded = Policy.from_checkpoint(path, **options)
    return loaded if isinstance(loaded, dict) else {loaded.name: loaded}
