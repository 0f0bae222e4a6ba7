"""Load new-stack checkpoints for inference: of Ray's algorithms and runners, or ours."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from ...core import nest
from ...core.columns import DEFAULT_MODULE_ID
from ...core.data.budget import one_load
from ...core.data.checked import count, mapping
from ...core.data.damage import at
from ...core.errors import CheckpointNotFoundError, CorruptCheckpointError, PieceError
from ...core.step.part import moves_only, says_its_part
from ...core.vault.chosen import chosen
from ...core.vault.decode.load_limits import limits_in_force
from ...core.vault.decoding import Decoding
from ...core.vault.file_names import (
    CERTIFICATE_FILE,
    COMPONENT_JSON,
    ENV_RUNNER,
    ENV_TO_MODULE,
    LEARNER_CONNECTOR,
    MIGRATION_FILE,
    MODULE,
    MODULE_TO_ENV,
)
from ...core.vault.files.places import is_elsewhere, on_disk
from ...core.vault.files.reading import part_of, read_json
from ...core.vault.layout import locate
from ...core.vault.own.own_format import read_document
from ...core.vault.save_manifest import of_one_save
from ...v2.connectors.common.agent_to_module_mapping import (
    AgentToModuleMapping,
    LostMapping,
    ModuleToAgentUnmapping,
)
from ...v2.connectors.env_to_module.adapt_observations import AdaptObservations
from ...v2.connectors.env_to_module.env_to_module_pipeline import EnvToModulePipeline
from ...v2.connectors.env_to_module.mean_std_filter import MeanStdFilter
from ...v2.connectors.module_to_env.module_to_env_pipeline import (
    ModuleToEnvPipeline,
    module_to_env_pipeline,
)
from ...v2.connectors.module_to_env.normalize_and_clip_actions import NormalizeAndClipActions
from ...v2.modules.multi_rl_module import MultiRLModule
from ...v2.modules.rl_module import RLModule
from ...v2.saving.parts import read_parts
from ..triple import V2Triple
from .mapping import Casting, PolicyMapping
from .options import words_of
from .triple_places import has_pipelines, module_in, runner_in

REGROUPING: Final = (AgentToModuleMapping, ModuleToAgentUnmapping)
_KEPT_BY_AGENT: Final = (AdaptObservations, MeanStdFilter)
"""Pieces with a state per agent; other state belongs to episodes, which restart."""


def module_pipelines(to_module: Any, to_env: Any, module_id: Any) -> tuple[Any, Any]:
    """Return both pipelines for one module.

    Other piece classes, or agents of the module that are treated differently, raise an error.
    """
    _refuse_others((*to_module.connectors, *to_env.connectors))
    agents = _agents_of(to_module, module_id)
    both = []
    for pipeline, kind in ((to_module, EnvToModulePipeline), (to_env, ModuleToEnvPipeline)):
        by_agent = [[_of_agent(p, agent) for p in _pieces_of(pipeline, agent)] for agent in agents]
        for agent, pieces in zip(agents[1:], by_agent[1:], strict=True):
            _check_alike(module_id, agents[0], by_agent[0], agent, pieces)
        agent_obs = _part(pipeline.input_observation_space, agents[0])
        both.append(
            kind(agent_obs, _part(pipeline.input_action_space, agents[0]), connectors=by_agent[0])
        )
    return both[0], both[1]


def has_own_pieces(*pipelines: Any) -> bool:
    """Whether there is more to pipelines than the default pieces as they always are."""
    return any(not _is_default(piece) for line in pipelines for piece in line.connectors)


def _is_default(piece: Any) -> bool:
    if type(piece) is NormalizeAndClipActions:
        return bool(piece.normalize_actions) and not piece.clip_actions
    return moves_only(piece) or type(piece) in REGROUPING


def _refuse_others(pieces: Iterable[Any]) -> None:
    others = [type(piece).__name__ for piece in pieces if not _is_taken_apart(piece)]
    if others:
        raise PieceError(
            "several modules lie behind pieces of another kind",
            expected="pieces that treat each agent by itself",
            found=", ".join(others),
            hint="act by the pipelines: load_triple(path), then a MultiAgentEnvRunner.",
        )


def _is_taken_apart(piece: Any) -> bool:
    """True if one agent's share of a piece is known."""
    if type(piece) in REGROUPING or type(piece) in _KEPT_BY_AGENT:
        return True
    # The computation of a piece for one agent, as data, is independent of the other agents.
    return says_its_part(piece) and not piece.get_state()


def _agents_of(pipeline: Any, module_id: Any) -> list[Any]:
    """The agents that a module plays, as far as spaces name them."""
    mapping = next((p for p in pipeline.connectors if type(p) is AgentToModuleMapping), None)
    space = pipeline.input_observation_space
    agents = list(space.spaces) if isinstance(space, spaces.Dict) else []
    if mapping is not None:
        chosen = mapping.agent_to_module_mapping_fn
        agents = [agent for agent in agents if chosen(agent, None) == module_id]
    if mapping is None or not agents:
        raise PieceError(
            f"no agent is known to be played by module {module_id!r}",
            expected="an AgentToModuleMapping, and spaces by agent",
            found=str(space),
            hint="act by the pipelines: load_triple(path), then a MultiAgentEnvRunner.",
        )
    return agents


def _pieces_of(pipeline: Any, agent: Any) -> list[Any]:
    return [
        piece
        for piece in pipeline.connectors
        if type(piece) not in REGROUPING and agent in (getattr(piece, "agent_ids", None) or [agent])
    ]


def _of_agent(piece: Any, agent: Any) -> Any:
    """A piece as a single agent would have it."""
    args, settings = piece.get_ctor_args_and_kwargs()
    changed = {
        "input_observation_space": _part(piece.input_observation_space, agent),
        "input_action_space": _part(piece.input_action_space, agent),
        "multi_agent": False,
        "agent_ids": None,
    }
    settings = {name: changed.get(name, value) for name, value in settings.items()}
    rebuilt = type(piece)(*args, **settings)
    if type(piece) is MeanStdFilter:
        rebuilt.stats_of(None)[:] = piece.stats_of(agent if piece.multi_agent else None)
    return rebuilt


def _part(space: Any, agent: Any) -> Any:
    return space.spaces[agent] if isinstance(space, spaces.Dict) and agent in space.spaces else None


def _check_alike(
    module_id: Any, first: Any, pieces: list[Any], other: Any, others: list[Any]
) -> None:
    same = len(pieces) == len(others) and all(map(_is_alike, pieces, others))
    if not same:
        raise PieceError(
            f"agents {first!r} and {other!r} of module {module_id!r} meet different pieces",
            expected="the same spaces and filters for all agents of a module",
            hint="act by the pipelines: load_triple(path), then a MultiAgentEnvRunner.",
        )


def _is_alike(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if one.get_ctor_args_and_kwargs() != other.get_ctor_args_and_kwargs():
        return False
    states = nest.flatten(one.get_state()), nest.flatten(other.get_state())
    return len(states[0]) == len(states[1]) and all(map(np.array_equal, *states))


STEPS: Final = "num_env_steps_sampled_lifetime"
"""Name of the step counter in RLlib's env runners."""
POLICY: Final = "policy"
"""The id of a policy that was saved alone."""


@of_one_save
def load_triple(
    path: str | os.PathLike[str], module_id: str | None = None, **options: Any
) -> V2Triple:
    """Load the pipelines and the module of a new-stack checkpoint, without executing its code.

    Args:
        path: An algorithm's or env-runner's folder that Ray or rlconnect wrote, or what `migrate`
            wrote for either.
        module_id: The module, if there are several; all of them combined if None.
        **options: Those of `RLModule.from_checkpoint`: `trust` for custom classes.

    Raises:
        CheckpointNotFoundError: The folder has no pipelines, or no module.
        UnknownNameError: It has no module of that id.
    """
    if is_elsewhere(path):
        with on_disk(path, limits_in_force()) as unpacked:
            return load_triple(unpacked, module_id, **options)
    folder = Path(path)
    runner, place = runner_in(folder), module_in(folder)
    if runner is None or place is None:
        raise CheckpointNotFoundError(
            f"{folder} holds no {'pipelines' if runner is None else 'module'} of the new stack",
            hint="RLModule.from_checkpoint(path) loads modules saved alone.",
        )
    words = words_of(options)
    to_module, module, to_env = read_parts(
        (EnvToModulePipeline, part_of(folder, runner + ENV_TO_MODULE), words),
        (RLModule, place, options),
        (ModuleToEnvPipeline, part_of(folder, runner + MODULE_TO_ENV), words),
    )
    return V2Triple(to_module, _chosen(module, module_id, folder), to_env)


@of_one_save
def migrated_in(path: str | os.PathLike[str], options: Mapping[str, Any]) -> V2Triple:
    """Return the policy in a migrated folder, with its metadata."""
    from ...v2.connectors.learner.learner_connector_pipeline import LearnerConnectorPipeline

    kinds = {
        ENV_TO_MODULE: EnvToModulePipeline,
        MODULE: RLModule,
        MODULE_TO_ENV: ModuleToEnvPipeline,
        LEARNER_CONNECTOR: LearnerConnectorPipeline,
    }
    folder = Path(path)
    with one_load():
        migration = read_beside(folder, MIGRATION_FILE)
        if not os.path.isdir(part_of(folder, LEARNER_CONNECTOR)):
            del kinds[LEARNER_CONNECTOR]
        parts = ((kind, part_of(folder, name), options) for name, kind in kinds.items())
        to_module, module, to_env, *learner = read_parts(*parts)
        return V2Triple(
            to_module,
            module,
            to_env,
            name=str(migration.get("policy") or DEFAULT_MODULE_ID),
            explore=bool(migration.get("explore", True)),
            migration=migration,
            certificate=read_beside(folder, CERTIFICATE_FILE),
            learner=learner[0] if learner else None,
        )


def read_beside(folder: Path, name: str) -> Any:
    """A JSON document of a migrated folder."""
    try:
        content = read_document(part_of(folder, name))
    except CheckpointNotFoundError:
        raise CorruptCheckpointError(
            f"{folder} holds no migrated policy",
            expected=f"a file {name}",
            found="none",
            hint="pass a folder that `migrate` wrote.",
        ) from None
    with at(name):
        return mapping(content)


def triples_in(
    path: str | os.PathLike[str],
    module_ids: Sequence[str] | None,
    mapping: PolicyMapping,
    options: Mapping[str, Any],
) -> dict[str, V2Triple]:
    """The modules of a checkpoint by id, each with what a single agent of it passes.

    `mapping` says which module plays an agent, where code knew it.
    """
    if has_pipelines(path):
        before, module, after = load_triple(path, **options)
    else:
        before, module, after = None, RLModule.from_checkpoint(path, **options), None
    modules = dict(module.items()) if hasattr(module, "items") else {_id_in(path): module}
    by_id = chosen(modules, module_ids, path, kind="module")
    regroups = before is not None and bool(before[AgentToModuleMapping])
    if regroups:
        _set_mapping((before, after), Casting(list(modules), mapping), is_given=mapping is not None)
    return triples_of(by_id, before, after, _steps_sampled(path))


def triples_of(
    modules: Mapping[str, Any], before: Any, after: Any, timestep: int = 0
) -> dict[str, V2Triple]:
    """Return modules by id, each with the pipelines of a single agent.

    If the pipeline `before` all modules is missing, the default pieces are used. Agents of one
    module that are treated differently raise an error.
    """
    regroups = before is not None and bool(before[AgentToModuleMapping])
    is_own = regroups and has_own_pieces(before, after)
    triples = {}
    for name, module in modules.items():
        pipelines = (before, after)
        if is_own:
            pipelines = module_pipelines(before, after, name)
        elif before is None or regroups:
            spaces = module.observation_space, module.action_space
            pipelines = None, module_to_env_pipeline(*spaces)
        triples[name] = V2Triple(pipelines[0], module, pipelines[1], name, timestep)
    return triples


def _set_mapping(pipelines: Sequence[Any], casting: Casting, *, is_given: bool) -> None:
    """Let pieces ask the caller's mapping; or, where theirs is lost, the names of the modules."""
    for piece in (piece for line in pipelines for piece in line.connectors):
        mapping_fn = getattr(piece, "agent_to_module_mapping_fn", None)
        if mapping_fn is not None and (is_given or isinstance(mapping_fn, LostMapping)):
            piece.agent_to_module_mapping_fn = lambda agent, *rest, **more: casting(agent)


def _id_in(path: Any) -> str:
    """Return the id of a policy that was saved alone."""
    file = Path(path) / COMPONENT_JSON
    data = read_json(file, limits_in_force()) if os.path.isfile(file) else {}
    name = data.get(POLICY)
    return name if isinstance(name, str) and name else DEFAULT_MODULE_ID


def _steps_sampled(path: Any) -> int:
    """Return the number of steps sampled by an algorithm's runner or an actor; 0 for others."""
    file = Path(path) / COMPONENT_JSON
    if not os.path.isdir(Path(path, ENV_RUNNER)):
        data = read_json(file, limits_in_force()) if os.path.isfile(file) else {}
        with at(COMPONENT_JSON, STEPS):
            return count(data.get(STEPS, 0))
    runner = locate(Path(path), limits_in_force()).child(ENV_RUNNER)
    if runner is None:
        return 0
    state = Decoding(Path(path), limits_in_force()).attempt(runner.state_file, "state", "its state")
    with at(ENV_RUNNER, STEPS):
        return count(state.get(STEPS, 0)) if state else 0


def _chosen(module: Any, module_id: str | None, folder: Path) -> Any:
    if not isinstance(module, MultiRLModule):
        return module
    names = list(module.keys())
    if module_id is None:
        # One agent's pipelines work on a module, not on a dict with one in it.
        return module[DEFAULT_MODULE_ID] if names == [DEFAULT_MODULE_ID] else module
    return chosen(dict(module.items()), [module_id], folder, kind="module")[module_id]
