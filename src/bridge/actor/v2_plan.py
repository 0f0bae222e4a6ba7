"""Pipelines and a module of the new stack, translated piece by piece into a plan."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from ...core import nest
from ...core.adapters import StackFrames
from ...core.formulas.filters import FrozenFilter
from ...core.step.part import Part, contribution_of, filter_part
from ...core.step.plan import ActPlan, narrowed
from ...core.step.recall import Column, Look
from ...legacy.batches.step_rows import zero_of
from ...v2.connectors.common.flatten_observations import FlattenObservations
from ...v2.connectors.common.frame_stacking import FrameStacking
from ...v2.connectors.env_to_module.add_previous_steps import AddPreviousSteps
from ...v2.connectors.env_to_module.frame_stacking import FrameStackingEnvToModule
from ...v2.connectors.env_to_module.mean_std_filter import MeanStdFilter
from ...v2.connectors.env_to_module.preprocess_observations import PreprocessObservations
from ...v2.connectors.env_to_module.prev_actions_prev_rewards import PrevActionsPrevRewards
from ..loading.agent_pieces import STRUCTURE
from ..triple import V2Triple
from .module_brain import ModuleBrain, state_leaves
from .previous import merged, previous_rows, previous_steps, rows_left_open


def v2_plan(triple: V2Triple) -> ActPlan:
    """The plan of pipelines and a module; pieces without a batched form are named in `missing`.

    Filters are frozen: acting does not move their statistics.
    """
    module = triple.module
    obs, action, missing = [], [], []
    columns: list[Column] = []
    looks: list[Look] = []
    for piece in _pieces(triple.env_to_module):
        if type(piece) is AddPreviousSteps:
            own, seen_by_module = previous_steps(piece)
            columns += own
            looks += seen_by_module
            continue
        parts = _agent_side(piece)
        missing += [type(piece).__name__] if parts is None else []
        obs += parts or []
    columns += [column for part in obs for column in part.columns]
    remembered, differing = merged(columns)
    missing += [f"a second view of {name!r}" for name in differing]
    missing += rows_left_open(obs)
    for piece in _pieces(triple.module_to_env):
        parts = _action_side(piece)
        missing += [type(piece).__name__] if parts is None else []
        action += parts or []
    starts = state_leaves(module)
    return ActPlan(
        triple.name,
        triple.observation_space,
        triple.action_space,
        ModuleBrain(module, triple.timestep),
        tuple(obs),
        tuple(action),
        columns=(
            *remembered,
            *(Column(f"state_out_{n}", 1, each) for n, each in enumerate(starts)),
        ),
        looks=(*looks, *(Look(f"state_in_{n}", f"state_out_{n}") for n in range(len(starts)))),
        observation=nest.map_structure(
            lambda leaf: narrowed(np.asarray(leaf)), zero_of(module.observation_space)
        ),
        flattens_actions=False,
        missing=tuple(missing),
        origin={
            "stack": "new",
            "policy": triple.name,
            "module": type(module).__name__,
            "connectors": [
                type(each).__name__
                for pipeline in (triple.env_to_module, triple.module_to_env)
                for each in _pieces(pipeline)
            ],
        },
    )


def _pieces(pipeline: Any) -> list[Any]:
    found: list[Any] = []
    for piece in [] if pipeline is None else pipeline.connectors:
        found += _pieces(piece) if hasattr(piece, "connectors") else [piece]
    return found


def _agent_side(piece: Any) -> list[Part] | None:
    """The parts a piece amounts to; None if it has no batched form."""
    kind, name = type(piece), type(piece).__name__
    if kind in STRUCTURE:
        return []
    if getattr(piece, "multi_agent", False):
        return None
    if kind is FlattenObservations or kind is PreprocessObservations:
        plan = piece.lone_plan()
        return None if plan is None else [Part(name, plan.transform_batch)]
    if kind is MeanStdFilter:
        return _filter(piece, name)
    if kind in (FrameStacking, FrameStackingEnvToModule):
        space = piece.input_observation_space
        return [Part.of(name, StackFrames(piece.num_frames, "zero").bind(space))]
    if kind is PrevActionsPrevRewards:
        return previous_rows(piece)
    contribution = contribution_of(piece)
    return None if contribution is None else [*contribution.obs]


def _filter(piece: MeanStdFilter, name: str) -> list[Part]:
    settings: dict[str, Any] = {
        "rule": piece.variance_rule,
        "demean": piece.de_mean_to_zero,
        "destd": piece.de_std_to_one,
        "clip": piece.clip_by_value,
    }
    frozen = [FrozenFilter.of(stat, **settings) for stat in piece.stats_of(None)]
    space = piece.input_observation_space
    is_flat = not isinstance(space, (spaces.Dict, spaces.Tuple))
    filters = frozen[0] if is_flat else nest.unflatten_as(zero_of(space), frozen)
    part = filter_part(name, filters)
    return [] if part is None else [part]


def _action_side(piece: Any) -> list[Part] | None:
    if type(piece) in STRUCTURE:
        return []
    if getattr(piece, "multi_agent", False):
        return None
    contribution = contribution_of(piece)
    return None if contribution is None else [*contribution.action]
