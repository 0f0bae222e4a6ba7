"""Pipelines and a module of the new stack, translated piece by piece into a plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from ...core import nest
from ...core.step.part import NOTHING, Contribution, Part, contribution_of, moves_only
from ...core.step.plan import ActPlan, narrowed
from ...core.step.recall import Column, Look
from ...legacy.batches.step_rows import zero_of
from ..triple import V2Triple
from .module_brain import ModuleBrain, state_leaves


def v2_plan(triple: V2Triple) -> ActPlan:
    """The plan of pipelines and a module; pieces without a batched form are named in `missing`.

    Filters are frozen: acting does not move their statistics.
    """
    module = triple.module
    obs: list[Part] = []
    action: list[Part] = []
    columns: list[Column] = []
    looks: list[Look] = []
    missing: list[str] = []
    for piece in _pieces(triple.env_to_module):
        contribution = _contribution(piece, missing)
        obs += contribution.obs
        columns += contribution.columns
        looks += contribution.looks or ()
    columns += [column for part in obs for column in part.columns]
    remembered, differing = merged(columns)
    missing += [f"a second view of {name!r}" for name in differing]
    missing += rows_left_open(obs)
    for piece in _pieces(triple.module_to_env):
        action += _contribution(piece, missing).action
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
            *(Column(f"state_out_{n}", 1, state) for n, state in enumerate(starts)),
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
                type(state).__name__
                for pipeline in (triple.env_to_module, triple.module_to_env)
                for state in _pieces(pipeline)
            ],
        },
    )


def _pieces(pipeline: Any) -> list[Any]:
    pieces: list[Any] = []
    for piece in [] if pipeline is None else pipeline.connectors:
        pieces += _pieces(piece) if hasattr(piece, "connectors") else [piece]
    return pieces


def _contribution(piece: Any, missing: list[str]) -> Contribution:
    """Return the contribution of a piece; pieces without a batched form are added to `missing`."""
    if moves_only(piece):
        return NOTHING
    contribution = None if getattr(piece, "multi_agent", False) else contribution_of(piece)
    if contribution is None:
        missing.append(type(piece).__name__)
        return NOTHING
    missing += contribution.missing
    return contribution


FLATTENING: Final = ("FlattenObservations", "PreprocessObservations")


def rows_left_open(parts: Sequence[Part]) -> list[str]:
    """Names of parts that stack earlier steps without a flattening piece behind them."""
    behind = [part.name for part in parts[1:]] + [""]
    pairs = zip(parts, behind, strict=False)
    return [part.name for part, after in pairs if part.looks and after not in FLATTENING]


def merged(columns: Iterable[Column]) -> tuple[list[Column], list[str]]:
    """Columns by name, each as deep as the deepest; names that start in different ways."""
    by_name: dict[str, Column] = {}
    differing: list[str] = []
    for column in columns:
        earlier = by_name.setdefault(column.name, column)
        by_name[column.name] = replace(earlier, depth=max(earlier.depth, column.depth))
        starts = nest.flatten(earlier.initial), nest.flatten(column.initial)
        if not all(np.array_equal(*pair) for pair in zip(*starts, strict=True)):
            differing.append(column.name)
    return list(by_name.values()), differing
