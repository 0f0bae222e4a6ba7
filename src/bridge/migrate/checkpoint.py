"""A migrated policy as a folder: RLlib's layout of an env-runner's parts, and what proves it.

env_to_module_connector/    the pipeline to the module
rl_module/                  the module
module_to_env_connector/    the pipeline from the module to the environment
learner_connector/          the pipeline of learners
migration.json              the steps, their proofs, their history, and what the old config said
certificate.json            a few observations, and what the source made of them at each stage
source.rlconnect/           the policy that was migrated, to go on from, to prove against, to undo

States and constructors are folders of our own format (`module_state.rlconnect`) where RLlib has
pickles; folders of older releases, with pickles and without the source, are read as before.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from ...core.vault.convert import write_without_pickles
from ...core.vault.file_names import (
    CERTIFICATE_FILE,
    ENV_TO_MODULE,
    LEARNER_CONNECTOR,
    MIGRATION_FILE,
    MODULE,
    MODULE_TO_ENV,
)
from ...core.vault.files.json_text import format_json
from ...core.vault.own.document import encode
from ...core.vault.saved_tree import replaced_tree
from ...legacy.policy.certificate import check_stages
from ...v2.connectors.learner.defaults import learner_pipeline
from ..loading.triples import migrated_in
from ..proof.certified import compare_with_source
from ..triple import V2Triple
from .plan import MigrationPlan

MigratedPolicy = V2Triple  # What `load_migrated` gives.


def save_migrated(plan: MigrationPlan, out: str | os.PathLike[str], *, command: str = "") -> None:
    """Write a migration as it stands now, whole or not at all; no file of it is a pickle.

    Args:
        plan: Its applied steps are native, the others wrapped.
        out: The folder to write.
        command: The command line that led here, for the history.

    Raises:
        CheckpointWriteError: The disk refuses, or what was written cannot be read.
    """
    env_to_module, module, module_to_env = plan.triple()
    policy = plan.policy
    learner = learner_pipeline(
        plan.observation_space, policy.action_space, custom=plan.learner_pieces()
    )
    parts = {
        ENV_TO_MODULE: env_to_module,
        MODULE: module,
        MODULE_TO_ENV: module_to_env,
        LEARNER_CONNECTOR: learner,
    }
    plan.note(command)
    with replaced_tree(Path(os.path.abspath(out))) as folder:
        with tempfile.TemporaryDirectory(prefix="rlconnect-") as scratch:
            for name, part in parts.items():
                part.save_to_path(Path(scratch, name))
            lost = write_without_pickles(Path(scratch), folder)
        beside: dict[str, Any] = {"not_kept": [[each.where, each.what] for each in lost]}
        why = plan.keep_source(folder)
        if why:
            beside["without_source"] = why
        write_evidence(plan, folder, **beside)


def write_evidence(plan: MigrationPlan, folder: Path, **beside: Any) -> None:
    """Write how a migration came about, and what its source makes of a few observations."""
    for name, content in (
        (MIGRATION_FILE, {**plan.to_dict(), **beside}),
        (CERTIFICATE_FILE, plan.certificate()),
    ):
        (folder / name).write_text(format_json(encode(content)), encoding="utf-8")


def load_migrated(path: str | os.PathLike[str], *, check: bool = False, **options: Any) -> V2Triple:
    """Load what `save_migrated` wrote; nothing of the folder runs.

    Args:
        path: The folder.
        check: Whether to hold it to its parity certificate.
        **options: As for `from_checkpoint`: `trust` for classes of your own.

    Raises:
        CheckpointError: It is no such folder.
        WeightsError: It does not act as its source did.
    """
    options.pop("model", None)  # its network lies in the folder, whatever it is
    migrated = migrated_in(path, options)
    if check:
        what = f"{os.fspath(path)} does not act as its source did"
        check_stages(compare_with_source(migrated), what)
    return migrated
