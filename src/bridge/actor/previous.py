"""Pieces of the new stack that tell of earlier actions and rewards, as columns of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from gymnasium import spaces

from ...core import array_namespace as xp
from ...core import nest
from ...core.step.part import Part
from ...core.step.recall import Column, Look
from ...core.types import Nest
from ...legacy.batches.step_rows import zero_of
from ...v2.connectors.common.flatten_observations import FlattenObservations
from ...v2.connectors.env_to_module.add_previous_steps import AddPreviousSteps
from ...v2.connectors.env_to_module.preprocess_observations import PreprocessObservations
from ...v2.connectors.env_to_module.prev_actions_prev_rewards import PrevActionsPrevRewards

FLATTENING: Final = (FlattenObservations.__name__, PreprocessObservations.__name__)


def previous_rows(piece: PrevActionsPrevRewards) -> list[Part] | None:
    """What puts earlier actions, one-hot, and rewards into observations, flat as their space.

    An action before the first one is a number that no action has: its row is all zeros.
    """
    space = piece.input_action_space
    actions, rewards = piece.n_prev_actions, piece.n_prev_rewards
    if not isinstance(space, spaces.Discrete) or space.start != 0 or min(actions, rewards) < 1:
        return None  # modules count actions from 0, and the piece refuses what its space lacks
    columns = (
        Column("actions", actions, np.asarray(-1, np.int32)),
        Column("rewards", rewards, np.float32(0)),
    )
    looks = (
        Look(piece.PREV_ACTIONS_KEY, "actions", tuple(range(1 - actions, 1))),
        Look(piece.PREV_REWARDS_KEY, "rewards", tuple(range(1 - rewards, 1))),
    )

    def formula(obs: Nest, past: Mapping[str, Any], choices: Any) -> Nest:
        taken = past[piece.PREV_ACTIONS_KEY].reshape((-1, actions, 1))
        return {
            piece.ORIG_OBS_KEY: obs,
            piece.PREV_ACTIONS_KEY: xp.cast(taken == choices, np.float32).reshape((-1, width)),
            piece.PREV_REWARDS_KEY: past[piece.PREV_REWARDS_KEY].reshape((-1, rewards)),
        }

    choices = np.arange(int(space.n), dtype=np.int32)
    width = actions * len(choices)
    return [Part(type(piece).__name__, formula, (choices,), columns=columns, looks=looks)]


def rows_left_open(parts: Sequence[Part]) -> list[str]:
    """Parts with earlier steps whose rows nobody flattens: modules see those one by one."""
    behind = [part.name for part in parts[1:]] + [""]
    pairs = zip(parts, behind, strict=False)
    return [part.name for part, after in pairs if part.looks and after not in FLATTENING]


def previous_steps(piece: AddPreviousSteps) -> tuple[list[Column], list[Look]]:
    """What hands a module its last action and reward as they are."""
    columns, looks = [], []
    if piece.actions is not None:
        columns.append(Column("actions", 1, zero_of(piece.input_action_space)))
        looks.append(Look(piece.actions, "actions"))
    if piece.rewards is not None:
        columns.append(Column("rewards", 1, np.float32(0)))
        looks.append(Look(piece.rewards, "rewards"))
    return columns, looks


def merged(columns: Iterable[Column]) -> tuple[list[Column], list[str]]:
    """Columns by name, each as deep as the deepest; names that start in different ways."""
    found: dict[str, Column] = {}
    differing: list[str] = []
    for column in columns:
        known = found.setdefault(column.name, column)
        found[column.name] = replace(known, depth=max(known.depth, column.depth))
        starts = nest.flatten(known.initial), nest.flatten(column.initial)
        if not all(np.array_equal(*pair) for pair in zip(*starts, strict=True)):
            differing.append(column.name)
    return list(found.values()), differing
