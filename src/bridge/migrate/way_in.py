"""Acting by a new-stack checkpoint, whoever wrote it: Ray's algorithms, its runners, or us."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from ...core.budget import one_load
from ...core.columns import DEFAULT_MODULE_ID
from ...core.damage import at
from ...core.errors import CheckpointNotFoundError, UnknownNameError
from ...core.trust import together
from ...core.vault.files import part_of
from ...core.vault.limits import DEFAULT_LIMITS
from ...core.vault.one_save import of_one_save
from ...core.vault.zipped import is_zip, unzipped
from ...v2.env_to_module.env_to_module_pipeline import EnvToModulePipeline
from ...v2.module_to_env.module_to_env_pipeline import ModuleToEnvPipeline
from ...v2.modules.multi_rl_module import MultiRLModule
from ...v2.modules.rl_module import RLModule
from ..wrap.triple import V2Triple
from .checkpoint import ENV_TO_MODULE, MODULE, MODULE_TO_ENV

_RUNNERS: Final = ("env_runner/", "eval_env_runner/", "")
"""Where pipelines lie: below an algorithm, or in the folder itself."""

_MODULES: Final = (MODULE, f"env_runner/{MODULE}", f"learner_group/learner/{MODULE}")
"""Where a module lies, likewise."""


@of_one_save
def load_triple(
    path: str | os.PathLike[str],
    module_id: str | None = None,
    *,
    model: Any = None,
    **options: Any,
) -> V2Triple:
    """Load the pipelines and the module of a new-stack checkpoint; nothing of it runs.

    Args:
        path: An algorithm's or env-runner's folder that Ray or rlconnect wrote, or what `migrate`
            wrote for either.
        module_id: Which module, where it is about several; all of them as one if None.
        model: The module's network as data, where its class is not here.
        **options: As for `from_checkpoint`: `trust` for classes of your own.

    Returns:
        `(env_to_module, module, module_to_env)`.

    Raises:
        CheckpointNotFoundError: The folder has no pipelines, or no module.
        UnknownNameError: It has no module of that id.
    """
    if is_zip(path):
        with unzipped(path, DEFAULT_LIMITS) as unpacked:
            return load_triple(unpacked, module_id, model=model, **options)
    folder = Path(path)
    runner = next((n for n in _RUNNERS if part_of(folder, n + ENV_TO_MODULE).is_dir()), None)
    parts = (part_of(folder, name) for name in _MODULES)
    place = next((own for own in parts if own.is_dir()), None)
    if runner is None or place is None:
        raise CheckpointNotFoundError(
            f"{folder} holds no {'pipelines' if runner is None else 'module'} of the new stack",
            hint="RLModule.from_checkpoint(path) loads modules saved alone.",
        )
    with one_load():

        def part(cls: Any, name: str, at_place: Path, **more: Any) -> Any:
            with at(name):
                return cls.from_checkpoint(at_place, **options, **more)

        before, after = (part_of(folder, runner + name) for name in (ENV_TO_MODULE, MODULE_TO_ENV))
        to_module, module, to_env = together(
            lambda: part(EnvToModulePipeline, ENV_TO_MODULE, before),
            lambda: part(RLModule, MODULE, place, model=model),
            lambda: part(ModuleToEnvPipeline, MODULE_TO_ENV, after),
        )
        return to_module, _chosen(module, module_id, folder), to_env


def _chosen(module: Any, module_id: str | None, folder: Path) -> Any:
    if not isinstance(module, MultiRLModule):
        return module
    names = list(module.keys())
    if module_id is None:
        # One agent's pipelines work on a module, not on a dict with one in it.
        return module[DEFAULT_MODULE_ID] if names == [DEFAULT_MODULE_ID] else module
    if module_id not in names:
        raise UnknownNameError(
            f"no module {module_id!r} in {folder}", expected=", ".join(map(repr, names))
        )
    return module[module_id]
