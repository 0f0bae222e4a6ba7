"""A policy of any kind as what training begins from."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from ...core.errors import ConfigError
from ...core.vault.convert import write_without_pickles
from ...core.vault.file_names import (
    ENV_TO_MODULE,
    LEARNER_CONNECTOR,
    MIGRATION_FILE,
    MODULE,
    MODULE_TO_ENV,
)
from ...core.vault.files.json_text import format_json
from ...core.vault.own.document import encode
from ...core.vault.saved_tree import replaced_tree
from ...legacy.policy.policy import Policy
from ...v2.connectors.learner.defaults import learner_pipeline
from ..loading.natives import Source, natives_of
from ..triple import V2Triple
from .checkpoint import save_migrated
from .plan import MigrationPlan


def save_start(
    source: Source, out: str | os.PathLike[str], *, policy: str | None = None, **options: Any
) -> None:
    """Write a policy as `AlgorithmConfig.from_migrated` reads it.

    One of the old stack is migrated, every step proven; one of the new stack is taken as it is.

    Args:
        source: Whatever `rlconnect.load` opens, or gave.
        out: The folder to write.
        policy: Which policy of several.
        **options: As for `rlconnect.load`.

    Raises:
        ConfigError: It only acts.
    """
    native = natives_of(source, policy, **options).only
    if isinstance(native, Policy):
        save_migrated(MigrationPlan(native, source=str(source)).apply(), out)
    elif isinstance(native, V2Triple):
        _save_triple(native.with_pipelines(), Path(out))
    else:
        raise ConfigError(
            f"{source} only acts",
            expected="a checkpoint with a network",
            found=type(native).__name__,
            hint="train from the checkpoint that it was exported from.",
        )


def _save_triple(triple: V2Triple, out: Path) -> None:
    parts = {
        ENV_TO_MODULE: triple.env_to_module,
        MODULE: triple.module,
        MODULE_TO_ENV: triple.module_to_env,
        LEARNER_CONNECTOR: triple.learner
        or learner_pipeline(triple.observation_space, triple.action_space),
    }
    notes = {"explore": triple.explore, "training": triple.migration.get("training") or {}}
    out.parent.mkdir(parents=True, exist_ok=True)
    with replaced_tree(out) as folder:
        with tempfile.TemporaryDirectory(prefix="rlconnect-") as scratch:
            for name, part in parts.items():
                part.save_to_path(Path(scratch, name))
            write_without_pickles(Path(scratch), folder)
        (folder / MIGRATION_FILE).write_text(format_json(encode(notes)), encoding="utf-8")
