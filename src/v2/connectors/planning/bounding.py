"""Rows of actions in their bounds: what `NormalizeAndClipActions` does to each item."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from ....core import nest
from ....core.formulas.actions import ActionPlan
from ....core.types import Nest
from ..item_rows import Unserved
from ..module_to_env.normalize_and_clip_actions import NormalizeAndClipActions

Bounds: TypeAlias = list[tuple[ActionPlan, list[int]]]
"""How actions are bounded, each way with its rows; a single way is for all rows."""


def bounds_of(piece: NormalizeAndClipActions, agents: Sequence[Any]) -> Bounds:
    """How the actions of several agents are bounded.

    Args:
        piece: Knows their spaces.
        agents: Whose row it is.
    """
    plans = {agent: piece.plan_of(agent) for agent in {*agents}}
    if len(plans) == 1 or not any(_changes(piece, plan) for plan in plans.values()):
        return [(plans[agents[0]], [])]
    places: dict[Any, list[int]] = {}
    for place, agent in enumerate(agents):
        places.setdefault(agent, []).append(place)
    return [(plans[agent], own) for agent, own in places.items()]


def bounded_by(piece: NormalizeAndClipActions, bounds: Bounds, actions: Nest) -> Nest:
    """Actions of several agents in the bounds of each.

    Raises:
        Unserved: They make no array.
    """
    if len(bounds) == 1:
        return bounded(piece, bounds[0][0], actions)
    if type(actions) is not np.ndarray:
        raise Unserved
    made = [(own, bounded(piece, plan, actions[own])) for plan, own in bounds]
    found = np.empty_like(actions, dtype=made[0][1].dtype)
    for own, part in made:
        if part.dtype != found.dtype:
            raise Unserved
        found[own] = part
    return found


def bounded(piece: NormalizeAndClipActions, plan: ActionPlan, actions: Nest) -> Nest:
    """Actions in their bounds; the environment gets arrays of its own.

    Raises:
        Unserved: They are numbers one by one.
    """
    own = nest.mapped(np.ndarray.copy, actions)
    if not _changes(piece, plan):
        return own
    if any(leaf.ndim < 2 for leaf in nest.flatten(own)):  # rows and parts
        raise Unserved  # Numbers one by one are of other types than in an array.
    return plan.unsquash(own) if piece.normalize_actions else plan.clip(own)


def _changes(piece: NormalizeAndClipActions, plan: ActionPlan) -> bool:
    return plan.unsquashes if piece.normalize_actions else plan.clips
