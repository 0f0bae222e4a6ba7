"""A migrated policy as a folder: RLlib's layout of an env runner, and the verification.

env_to_module_connector/    the pipeline to the module
rl_module/                  the module
module_to_env_connector/    the pipeline from the module to the environment
learner_connector/          the pipeline of learners
migration.json              the steps, their verification, their history, and the old config
certificate.json            a few observations, and the source's output of each stage
source.rlconnect/           the source policy: to continue, to verify, to undo

States and constructors are folders in rlconnect's format (`module_state.rlconnect`) instead of
RLlib's pickles. Folders of older versions, with pickles and without the source, can still be read.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from ...core.errors import ConfigError
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
from ...legacy.policy.policy import Policy
from ...v2.connectors.learner.learner_connector_pipeline import learner_pipeline
from ..loading.natives import Source, natives_of
from ..loading.triples import migrated_in
from ..proof.certified import compare_with_source
from ..triple import V2Triple
from .plan import MigrationPlan

MigratedPolicy = V2Triple  # The return type of `load_migrated`.


def save_migrated(plan: MigrationPlan, out: str | os.PathLike[str], *, command: str = "") -> None:
    """Write a migration in its current state, atomically and without pickles.

    Args:
        plan: Its applied steps are native, the others wrapped.
        out: The folder to write.
        command: The command line that led here, for the history.

    Raises:
        CheckpointWriteError: The disk refuses, or what was written cannot be read.
    """
    learner = learner_pipeline(
        plan.observation_space, plan.policy.action_space, custom=plan.learner_pieces()
    )
    plan.note(command)
    with replaced_tree(Path(os.path.abspath(out))) as folder:
        beside: dict[str, Any] = {"not_kept": _write_parts(plan.triple(), learner, folder)}
        why = plan.keep_source(folder)
        if why:
            beside["without_source"] = why
        write_evidence(plan, folder, **beside)


def _write_parts(triple: V2Triple, learner: Any, folder: Path) -> list[list[str]]:
    """Write what acts and what learns; where what is, that has no place there."""
    parts = {
        ENV_TO_MODULE: triple.env_to_module,
        MODULE: triple.module,
        MODULE_TO_ENV: triple.module_to_env,
        LEARNER_CONNECTOR: learner,
    }
    with tempfile.TemporaryDirectory(prefix="rlconnect-") as scratch:
        for name, part in parts.items():
            part.save_to_path(Path(scratch, name))
        lost = write_without_pickles(Path(scratch), folder)
    return [[problem.where, problem.what] for problem in lost]


def write_evidence(plan: MigrationPlan, folder: Path, **beside: Any) -> None:
    """Write how a migration came about, and what its source makes of a few observations."""
    _write_json(folder / MIGRATION_FILE, {**plan.to_dict(), **beside})
    _write_json(folder / CERTIFICATE_FILE, plan.certificate())


def _write_json(file: Path, content: Any) -> None:
    file.write_text(format_json(encode(content)), encoding="utf-8")


def save_start(
    source: Source, out: str | os.PathLike[str], *, policy: str | None = None, **options: Any
) -> None:
    """Write a policy in the form that `AlgorithmConfig.from_migrated` reads.

    An old-stack policy is migrated, with every step verified; a new-stack policy is unchanged.

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
    learner = triple.learner or learner_pipeline(triple.observation_space, triple.action_space)
    notes = {"explore": triple.explore, "training": triple.migration.get("training") or {}}
    out.parent.mkdir(parents=True, exist_ok=True)
    with replaced_tree(out) as folder:
        _write_parts(triple, learner, folder)
        _write_json(folder / MIGRATION_FILE, notes)


def load_migrated(path: str | os.PathLike[str], *, check: bool = False, **options: Any) -> V2Triple:
    """Load a folder written by `save_migrated`, without executing code from it.

    Args:
        path: The folder.
        check: Whether to check it against its certificate.
        **options: Those of `from_checkpoint`: `trust` for custom classes.

    Raises:
        CheckpointError: It is no such folder.
        WeightsError: It does not act as its source did.
    """
    options.pop("model", None)  # the folder always contains the network
    migrated = migrated_in(path, options)
    if check:
        what = f"{os.fspath(path)} does not act as its source did"
        check_stages(compare_with_source(migrated), what)
    return migrated
