"""From checkpoints and live policies to players."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...core.checked import count
from ...core.columns import DEFAULT_MODULE_ID
from ...core.damage import at
from ...core.errors import UnknownNameError
from ...core.vault import open_checkpoint
from ...core.vault.files import part_of, read_json
from ...core.vault.limits import DEFAULT_LIMITS
from ...core.vault.one_save import of_one_save
from ...core.vault.zipped import is_zip, unzipped
from ...legacy.policy import Policy
from .legacy_plan import legacy_plan
from .pipeline_player import PipelinePlayer
from .player import PlannedPlayer, Player
from .saving import METADATA, STEPS, mapping_of
from .several import saved_several


def player_of(policy: Policy) -> Player:
    """What plays a copy of a policy of the old stack: its plan, or its connectors."""
    from ...legacy.defaults import create_connectors_for_policy

    own = copy.deepcopy(policy)
    if own.agent_connectors is None or own.action_connectors is None:
        create_connectors_for_policy(own, own.config)
    plan = legacy_plan(own)
    return PipelinePlayer(own, plan) if plan.missing else PlannedPlayer(plan, own, legacy_plan)


def triple_player(triple: Any) -> Player:
    """What plays copies of pipelines and a module: their plan, or they themselves."""
    from .episode_player import EpisodePlayer
    from .v2_plan import v2_plan

    own = copy.deepcopy(triple)
    plan = v2_plan(own)
    return EpisodePlayer(own, plan) if plan.missing else PlannedPlayer(plan, own, v2_plan)


@of_one_save
def players_of(
    path: str | os.PathLike[str], policy_ids: Sequence[str] | None, **options: Any
) -> tuple[dict[str, Player], Any]:
    """The players of a checkpoint by policy id, and who plays whom if that was saved."""
    if is_zip(path):
        with unzipped(path, DEFAULT_LIMITS) as folder:
            return players_of(folder, policy_ids, **options)
    several = saved_several(path, policy_ids)
    if several is not None:
        folders, content = several
        alone = {name: players_of(each, None, **options)[0] for name, each in folders.items()}
        return {name: next(iter(each.values())) for name, each in alone.items()}, mapping_of(
            content
        )
    if part_of(path, "rl_module").is_dir() and _has_pipelines(path):
        return _module_players(path, policy_ids, options), None  # a runner's, or a saved actor's
    checkpoint = open_checkpoint(path)
    if checkpoint.modules and not checkpoint.policies:
        return _module_players(path, policy_ids, options), None
    loaded = Policy.from_checkpoint(path, policy_ids, **options)
    policies = loaded if isinstance(loaded, dict) else {loaded.name: loaded}
    players = {name: player_of(each) for name, each in policies.items()}
    return players, mapping_of(checkpoint.extra)


def _module_players(
    path: Any, policy_ids: Sequence[str] | None, options: Mapping[str, Any]
) -> dict[str, Player]:
    """Players of a new-stack checkpoint: with its pipelines where it holds them."""
    from ...v2.module_to_env.defaults import module_to_env_pipeline
    from ...v2.modules.rl_module import RLModule
    from .agent_pieces import has_own_pieces, module_pipelines
    from .v2_plan import Triple

    if _has_pipelines(path):
        from ..migrate.way_in import load_triple

        to_module, module, to_env = load_triple(path, **options)
    else:
        to_module, module, to_env = None, RLModule.from_checkpoint(path, **options), None
    modules = dict(module.items()) if hasattr(module, "items") else {DEFAULT_MODULE_ID: module}
    names = list(modules) if policy_ids is None else list(policy_ids)
    for name in names:
        if name not in modules:
            raise UnknownNameError(
                f"no module {name!r} in {path}", expected=", ".join(map(repr, modules))
            )
    found = {}
    timestep = _steps_sampled(path)
    for name in names:
        own = modules[name]
        before, after = to_module, to_env
        if len(modules) > 1 and to_module is not None and has_own_pieces(to_module, to_env):
            before, after = module_pipelines(to_module, to_env, name)
        elif to_env is None or len(modules) > 1:
            before = None
            after = module_to_env_pipeline(own.observation_space, own.action_space)
        found[name] = triple_player(Triple(before, own, after, name, timestep))
    return found


def _steps_sampled(path: Any) -> int:
    """How many steps an algorithm's runner or an actor had sampled; 0 of another folder."""
    file = Path(path) / METADATA
    if not (Path(path) / "env_runner").is_dir():
        said = read_json(file, DEFAULT_LIMITS) if file.is_file() else {}
        with at(METADATA, STEPS):
            return count(said.get(STEPS, 0))
    for component in open_checkpoint(path).components:
        if component.path == "env_runner" and component.state:
            with at(component.path, STEPS):
                return count(component.state.get(STEPS, 0))
    return 0


def _has_pipelines(path: Any) -> bool:
    folders = ("env_runner/", "eval_env_runner/", "")
    return any(part_of(path, f"{each}env_to_module_connector").is_dir() for each in folders)
