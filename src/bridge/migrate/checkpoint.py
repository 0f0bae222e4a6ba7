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
from typing import Any, Final

from ...core.arrays.batching import unbatch
from ...core.arrays.stage_differences import Differences, StageComparison
from ...core.columns import DEFAULT_MODULE_ID
from ...core.data.budget import one_load
from ...core.data.damage import at
from ...core.errors import WeightsError
from ...core.trust import together
from ...core.vault.convert import write_without_pickles
from ...core.vault.files.json_text import format_json
from ...core.vault.files.reading import part_of
from ...core.vault.layout import ENV_TO_MODULE, LEARNER, MIGRATION_FILE, MODULE, MODULE_TO_ENV
from ...core.vault.one_save import of_one_save
from ...core.vault.own.document import encode
from ...core.vault.saved_tree import replaced_tree
from ...v2.connectors.env_to_module.env_to_module_pipeline import EnvToModulePipeline
from ...v2.connectors.learner.defaults import learner_pipeline
from ...v2.connectors.learner.learner_connector_pipeline import LearnerConnectorPipeline
from ...v2.connectors.module_to_env.module_to_env_pipeline import ModuleToEnvPipeline
from ...v2.modules.rl_module import RLModule
from ..proof.v2_stages import without_checks
from ..proof.verify import staged
from ..triple import V2Triple
from .observation_form import in_form_of
from .plan import MigrationPlan
from .saved_plan import read_beside

_CERTIFICATE: Final = "certificate.json"


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
        LEARNER: learner,
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
    """Write how a migration came about, and what its source makes of a few observations.

    Args:
        plan: The migration.
        folder: Where its parts lie.
        **beside: What else is to be told of it.
    """
    for name, content in (
        (MIGRATION_FILE, {**plan.to_dict(), **beside}),
        (_CERTIFICATE, plan.certificate()),
    ):
        (folder / name).write_text(format_json(encode(content)), encoding="utf-8")


@of_one_save
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
    folder = Path(path)
    options.pop("model", None)  # its network lies in the folder, whatever it is
    with one_load():
        migration = read_beside(folder, MIGRATION_FILE)

        def part(cls: Any, name: str) -> Any:
            with at(name):
                return cls.from_checkpoint(part_of(folder, name), **options)

        has_learner = part_of(folder, LEARNER).is_dir()
        to_module, module, to_env, learner = together(
            lambda: part(EnvToModulePipeline, ENV_TO_MODULE),
            lambda: part(RLModule, MODULE),
            lambda: part(ModuleToEnvPipeline, MODULE_TO_ENV),
            lambda: part(LearnerConnectorPipeline, LEARNER) if has_learner else None,
        )
        explore = bool(migration.get("explore", True))
        certificate = read_beside(folder, _CERTIFICATE)
        found = V2Triple(
            to_module,
            module,
            to_env,
            name=str(migration.get("policy") or DEFAULT_MODULE_ID),
            explore=explore,
            migration=migration,
            certificate=certificate,
            learner=learner,
        )
    if check:
        for stage in compare_with_source(found):
            if not stage.is_equal:
                raise WeightsError(
                    f"{folder} does not act as its source did",
                    expected=f"stage {stage.name!r} within 1e-5",
                    found=stage.note or f"a difference of {stage.largest:.2g}",
                    stage=stage.name,
                )
    return found


@at(_CERTIFICATE)
def compare_with_source(
    migrated: V2Triple, *, absolute: float = 1e-5, relative: float = 1e-5
) -> tuple[StageComparison, ...]:
    """What a migrated policy makes of its certificate's observations, beside what its source did.

    Args:
        migrated: The policy.
        absolute: The tolerance for numbers near 0.
        relative: The tolerance as a share of the number.

    Raises:
        WeightsError: There is nothing to compare with.
    """
    certificate = migrated.certificate
    if "observations" not in certificate:
        raise WeightsError(
            "this policy has no parity certificate",
            found=str(certificate.get("missing", "none was saved")),
        )
    rows = [list(unbatch(step)) for step in certificate["observations"]]
    stages = staged(without_checks(migrated))
    slots = [f"certificate-{number}" for number in range(len(rows[0]))]
    stages.reset(slots)
    differences = Differences(absolute, relative)
    for number, (seen, wanted) in enumerate(zip(rows, certificate["steps"], strict=True)):
        rewards = None if number == 0 else [0.0] * len(slots)
        found = stages.step(slots, seen, rewards)
        space = migrated.env_to_module.input_observation_space
        differences.add(found, in_form_of(wanted, found, space))
    stages.reset(slots)
    return differences.stages()
