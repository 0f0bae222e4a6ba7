"""Continue training a migrated policy: its sizes, spaces, pieces and weights as settings."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.data.budget import one_load
from ...core.data.checked import mapping
from ...core.data.damage import at
from ...core.errors import CheckpointNotFoundError, ConfigError
from ...core.vault.file_names import (
    ENV_TO_MODULE,
    LEARNER_CONNECTOR,
    MIGRATION_FILE,
    MODULE,
    MODULE_TO_ENV,
)
from ...core.vault.files.reading import part_of
from ...core.vault.own.own_format import read_document
from ...core.vault.save_manifest import of_one_save
from ..connectors.connector import ConnectorV2
from ..connectors.env_to_module.env_to_module_pipeline import ORDER as TO_MODULE
from ..connectors.env_to_module.env_to_module_pipeline import EnvToModulePipeline
from ..connectors.learner.learner_connector_pipeline import ORDER as LEARNING
from ..connectors.learner.learner_connector_pipeline import LearnerConnectorPipeline
from ..connectors.module_to_env.module_to_env_pipeline import ModuleToEnvPipeline
from ..modules.apis import ValueFunctionAPI
from ..modules.rl_module import RLModule
from ..modules.spec import RLModuleSpec
from ..saving.parts import read_parts

if TYPE_CHECKING:
    from .algorithm_config import AlgorithmConfig


@of_one_save
def take_migrated(
    config: AlgorithmConfig, path: str | os.PathLike[str], trust: Any = None
) -> AlgorithmConfig:
    """Configure an algorithm to continue from a migrated folder.

    Raises:
        CheckpointNotFoundError: The path is not a migrated folder.
        ConfigError: Its module cannot be trained by this algorithm.
    """
    folder = Path(os.path.abspath(path))
    if not os.path.isfile(folder / MIGRATION_FILE) or not os.path.isdir(folder / MODULE):
        raise CheckpointNotFoundError(
            f"{folder} holds no migrated policy",
            expected=f"a folder that `migrate` wrote, with {MIGRATION_FILE}",
            hint=f"write one: rlconnect.migrate({str(path)!r}, out=FOLDER).",
        )
    with one_load():
        kinds: dict[str, Any] = {
            ENV_TO_MODULE: EnvToModulePipeline,
            MODULE: RLModule,
            MODULE_TO_ENV: ModuleToEnvPipeline,
            LEARNER_CONNECTOR: LearnerConnectorPipeline,
        }
        to_module, module, to_env, learner = read_parts(
            *((kind, part_of(folder, name), {"trust": trust}) for name, kind in kinds.items())
        )
        with at(MIGRATION_FILE):
            migration = mapping(read_document(part_of(folder, MIGRATION_FILE)))
            learning = mapping(migration.get("training") or {})
    _check_trainable(config, module)
    spec = RLModuleSpec.from_module(module)
    spec.load_state_path = str(folder / MODULE)
    known = type(config).SECTIONS["training"].settings
    usable = {name for name, setting in known.items() if not setting.instead}  # SAC has no `lr`
    settings = {str(name): each for name, each in learning.items() if name in usable}
    if (size := settings.pop("train_batch_size_per_learner", None)) is not None:
        # The total of all learners, as before; a per-learner size would override later settings.
        settings |= {"train_batch_size": size, "train_batch_size_per_learner": None}
    first, last = _around(to_module.connectors, TO_MODULE)
    return (
        config.environment(
            observation_space=to_module.input_observation_space,
            action_space=to_module.input_action_space,
        )
        .env_runners(
            num_env_runners=0,
            explore=bool(migration.get("explore", True)),
            env_to_module_connector=_copies(first),
            env_to_module_connector_end=_copies(last),
            module_to_env_connector=_copies(to_env.connectors),
            add_default_connectors_to_module_to_env_pipeline=False,
        )
        .learners(
            num_learners=0, learner_connector=_copies(_around(learner.connectors, LEARNING)[0])
        )
        .rl_module(rl_module_spec=spec)
        .training(**settings)
    )


def _check_trainable(config: AlgorithmConfig, module: Any) -> None:
    required = [*getattr(config.learner_class, "rl_module_required_apis", list)()]
    if getattr(config, "use_critic", False) or hasattr(config, "vf_loss_coeff"):
        required.append(ValueFunctionAPI)
    missing = [api.__name__ for api in dict.fromkeys(required) if not isinstance(module, api)]
    if module.inference_only or missing:
        raise ConfigError(
            f"{type(config).__name__} cannot continue from this policy",
            expected=f"a module with {' and '.join(missing)}" if missing else "a complete module",
            found=f"{type(module).__name__}{', which only acts' if module.inference_only else ''}",
            hint="teach a new network with rlconnect teach, or go on in Ray with the policy's own "
            "algorithm: rlconnect migrate PATH --out DIR --to ray.",
        )


def _around(
    pieces: Sequence[ConnectorV2], defaults: Sequence[type[ConnectorV2]]
) -> tuple[list[ConnectorV2], list[ConnectorV2]]:
    """The pieces in front of the default ones, and those behind them."""
    places = [place for place, piece in enumerate(pieces) if type(piece) in defaults]
    if not places:
        return list(pieces), []
    return list(pieces[: places[0]]), list(pieces[places[-1] + 1 :])


def _copies(pieces: Sequence[ConnectorV2]) -> Callable[..., list[ConnectorV2]]:
    """Return a function that copies the pieces for each runner."""
    return lambda *given: [copy.deepcopy(piece) for piece in pieces]
