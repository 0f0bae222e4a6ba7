"""Pipelines for several agents as one pipeline a module: what its agents' observations meet.

An actor knows which module plays an agent and runs one plan a module, so regrouping falls away and
each piece becomes the one that a single agent would have. Agents of one module share it: they must
be seen alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from ...core import nest
from ...core.errors import PieceError
from ...core.step.part import moves_only, says_its_part
from ...v2.connectors.common.agent_to_module_mapping import (
    AgentToModuleMapping,
    ModuleToAgentUnmapping,
)
from ...v2.connectors.env_to_module.adapt_observations import AdaptObservations
from ...v2.connectors.env_to_module.env_to_module_pipeline import EnvToModulePipeline
from ...v2.connectors.env_to_module.mean_std_filter import MeanStdFilter
from ...v2.connectors.module_to_env.module_to_env_pipeline import ModuleToEnvPipeline
from ...v2.connectors.module_to_env.normalize_and_clip_actions import NormalizeAndClipActions

REGROUPING: Final = (AgentToModuleMapping, ModuleToAgentUnmapping)
_KEPT_BY_AGENT: Final = (AdaptObservations, MeanStdFilter)
"""Pieces with a state: of each agent by itself, or of episodes, with which it begins anew."""


def module_pipelines(to_module: Any, to_env: Any, module_id: Any) -> tuple[Any, Any]:
    """Both pipelines as they are for one module.

    Pieces of another kind, or agents of the module that are treated differently, are refused.
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
    # What a piece does to one agent, as data, depends on nothing of the others.
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
