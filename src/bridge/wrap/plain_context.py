"""What legacy connectors know of their policy, as plain data for a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from ...core.spaces.codec import space_from_data, space_to_data
from ...core.trust import NOTHING, Trust
from ...core.vault.plain import Plainer
from ...legacy.connectors.context import ConnectorContext
from ...legacy.views.views import ViewRequirement

_MOST_PARTS: Final = 200_000
_VIEW: Final = (
    "data_col",
    "index",
    "batch_repeat_value",
    "used_for_compute_actions",
    "used_for_training",
)


def context_to_data(ctx: ConnectorContext) -> dict[str, Any]:
    """A context as plain data and arrays; classes that its config names become their names."""
    config = ctx.config if isinstance(ctx.config, Mapping) else ctx.config.to_dict()
    views = ctx.view_requirements
    return {
        "config": Plainer(most=_MOST_PARTS)(dict(config)),
        "initial_states": [np.asarray(part) for part in ctx.initial_states],
        "observation_space": _space_data(ctx.observation_space),
        "original_space": _space_data(getattr(ctx.observation_space, "original_space", None)),
        "action_space": _space_data(ctx.action_space),
        "view_requirements": None
        if views is None
        else {name: _view_data(view) for name, view in views.items()},
        "is_policy_recurrent": ctx.is_policy_recurrent,
    }


def context_from_data(data: Mapping[str, Any], trust: Trust = NOTHING) -> ConnectorContext:
    """The context that `context_to_data` described."""
    space, original = _space(data["observation_space"]), _space(data["original_space"])
    if original is not None:
        space.original_space = original
    views = data["view_requirements"]
    return ConnectorContext(
        data["config"],
        list(data["initial_states"]),
        space,
        _space(data["action_space"]),
        None if views is None else {name: _view(held) for name, held in views.items()},
        bool(data["is_policy_recurrent"]),
        trust,
    )


def _view_data(view: ViewRequirement) -> dict[str, Any]:
    held = {name: getattr(view, name) for name in _VIEW}
    return {**held, "shift": view.shift_arr.tolist(), "space": _space_data(view.space)}


def _view(held: Mapping[str, Any]) -> ViewRequirement:
    return ViewRequirement(**{**held, "space": _space(held["space"])})


def _space_data(space: Any) -> Any:
    return None if space is None else space_to_data(space)


def _space(data: Any) -> Any:
    return None if data is None else space_from_data(data)
