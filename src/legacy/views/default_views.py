"""The view requirements every old-stack policy has, before and after its model has a say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Space

from ...core.types import Array
from .views import ViewRequirement

_SCALARS = ("rewards", "terminateds", "truncateds", "infos", "eps_id", "unroll_id", "agent_index")
_MODULE_COLUMNS = ("prev_actions", "prev_rewards", "rewards", "terminateds", "truncateds")
_MODULE_NUMBERS = ("eps_id", "unroll_id", "agent_index", "t")


def default_views(
    observation_space: Space[Any],
    action_space: Space[Any],
    model_views: Mapping[str, Any],
    initial_state: Sequence[Array],
    *,
    max_seq_len: int = 20,
    for_module: bool = False,
) -> dict[str, ViewRequirement]:
    """The views of a policy by the name it sees each column under.

    The model's are `ViewRequirement`s or the arguments for them. One state stands for `max_seq_len`
    steps in training. Policies of an RLModule ask for every column.

    Example:
        >>> views = default_views(Box(-1, 1, (2,)), Box(-1, 1, (1,)), {}, [])
        >>> [name for name, view in views.items() if view.used_for_compute_actions]
        ['obs']
    """
    views: dict[str, ViewRequirement] = {
        "obs": ViewRequirement(space=observation_space),
        "new_obs": ViewRequirement(
            "obs", observation_space, shift=1, used_for_compute_actions=False
        ),
        "actions": ViewRequirement(space=action_space, used_for_compute_actions=False),
        "prev_actions": ViewRequirement(
            "actions", action_space, shift=-1, used_for_compute_actions=False
        ),
        "prev_rewards": ViewRequirement("rewards", shift=-1, used_for_compute_actions=False),
        "t": ViewRequirement(used_for_compute_actions=False),
    }
    views.update({name: ViewRequirement(used_for_compute_actions=False) for name in _SCALARS})
    for name, view in model_views.items():
        views[name] = view if isinstance(view, ViewRequirement) else ViewRequirement(**view)
    for index, state in enumerate(initial_state):
        space = Box(-1.0, 1.0, np.shape(state), np.float32)
        if f"state_in_{index}" not in model_views:
            views[f"state_in_{index}"] = ViewRequirement(
                f"state_out_{index}", space, shift=-1, batch_repeat_value=max_seq_len
            )
        after = views.setdefault(f"state_out_{index}", ViewRequirement(space=space))
        after.used_for_compute_actions = False  # it is what acting gives, whatever the model says
    if for_module:
        for name in (*_MODULE_COLUMNS, *_MODULE_NUMBERS):
            views[name].used_for_compute_actions = True
    return views


def lstm_views(model_config: Mapping[str, Any], action_space: Space[Any]) -> dict[str, Any]:
    """What an LSTM wrapper asks for beside its state, by its settings alone."""
    views: dict[str, Any] = {}
    if model_config.get("lstm_use_prev_action"):
        views["prev_actions"] = {"data_col": "actions", "shift": -1, "space": action_space}
    if model_config.get("lstm_use_prev_reward"):
        views["prev_rewards"] = {"data_col": "rewards", "shift": -1}
    return views
