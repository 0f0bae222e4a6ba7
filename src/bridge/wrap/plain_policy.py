"""A policy, and what its connectors know of it, as plain data for a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from ...core.data.budget import allowance, checked_bytes, checked_dtype, checked_shape
from ...core.spaces.own_layout import space_from_data, space_to_data
from ...core.trust import NOTHING, Trust
from ...core.vault.plain import Plainer
from ...legacy.connectors.context import ConnectorContext
from ...legacy.policy.policy import Policy
from ...legacy.views.views import ViewRequirement

_MOST_CONTEXT_PARTS: Final = 200_000
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
        "config": Plainer(most=_MOST_CONTEXT_PARTS)(dict(config)),
        "initial_states": [np.asarray(part) for part in ctx.initial_states],
        "observation_space": saved_space(ctx.observation_space),
        "original_space": saved_space(getattr(ctx.observation_space, "original_space", None)),
        "action_space": saved_space(ctx.action_space),
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
        None if views is None else {name: _view(settings) for name, settings in views.items()},
        bool(data["is_policy_recurrent"]),
        trust,
    )


def _view_data(view: ViewRequirement) -> dict[str, Any]:
    settings = {name: getattr(view, name) for name in _VIEW}
    return {**settings, "shift": view.shift_arr.tolist(), "space": saved_space(view.space)}


def _view(settings: Mapping[str, Any]) -> ViewRequirement:
    return ViewRequirement(**{**settings, "space": _space(settings["space"])})


def saved_space(space: Any) -> Any:
    """A space as plain data, None as None."""
    return None if space is None else space_to_data(space)


def _space(data: Any) -> Any:
    return None if data is None else space_from_data(data)


_MOST_PARTS: Final = 2_000_000
_STRUCTURE: Final = "shape_and_dtype"
_IN_NUMPY: Final = "acts_in_numpy"


def policy_to_data(policy: Policy) -> dict[str, Any]:
    """Return the computation of a policy as plain data and arrays, without its connectors.

    Classes that the config of a checkpoint names become their names.
    """
    state = policy.get_state()
    state["connector_configs"] = {"agent": None, "action": None}
    data: dict[str, Any] = Plainer(most=_MOST_PARTS)(state)
    acts_in_numpy = policy.networks.numpy is not None
    return {**data, "name": policy.name, "noise": policy.noise, _IN_NUMPY: acts_in_numpy}


def policy_from_data(
    data: Mapping[str, Any], *, custom: Mapping[str, Any] | None = None, device: str = "cpu"
) -> Policy:
    """The policy that `policy_to_data` described, without connectors.

    Weights may be left out by `without_weights`; `custom` are options of `Policy.from_checkpoint`
    for what is the user's own, `custom_models` say.
    """
    state = {**data, "weights": {name: _array(part) for name, part in data["weights"].items()}}
    acts_in_numpy = state.pop(_IN_NUMPY)
    options = {"name": state.pop("name"), "noise": state.pop("noise"), "device": device}
    policy = Policy.from_state(state, **options, **(custom or {}))
    if not acts_in_numpy:  # Its last digits are torch's.
        policy.networks.numpy = None
    policy.agent_connectors = policy.action_connectors = None
    return policy


def without_weights(data: Mapping[str, Any]) -> dict[str, Any]:
    """The same data with the shapes of weights in place of their numbers."""
    return {**data, "weights": {name: _shape(part) for name, part in data["weights"].items()}}


def _shape(part: Any) -> Any:
    if _is_shape(part):  # It was loaded from a file that kept shapes alone.
        return part
    return {_STRUCTURE: [list(np.shape(part)), str(np.asarray(part).dtype)]}


def _is_shape(part: Any) -> bool:
    return isinstance(part, Mapping) and _STRUCTURE in part


def _array(part: Any) -> Any:
    if _is_shape(part):
        plain_shape, kind = part[_STRUCTURE]
        shape, dtype = checked_shape(plain_shape, "a weight"), checked_dtype(kind, "a weight")
        allowance().spend(checked_bytes(shape, dtype), "a weight")
        return np.zeros(shape, dtype)
    return part
