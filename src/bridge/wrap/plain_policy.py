"""A legacy policy as plain data, to be a module's setting, and made live again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from ...core.data.budget import allowance, checked_bytes, checked_dtype, checked_shape
from ...core.vault.plain import Plainer
from ...legacy.policy.policy import Policy

_MOST_PARTS: Final = 2_000_000
_STRUCTURE: Final = "shape_and_dtype"
_IN_NUMPY: Final = "acts_in_numpy"


def policy_to_data(policy: Policy) -> dict[str, Any]:
    """What a policy computes with, as plain data and arrays; its connectors are left out.

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
        held, kind = part[_STRUCTURE]
        shape, dtype = checked_shape(held, "a weight"), checked_dtype(kind, "a weight")
        allowance().spend(checked_bytes(shape, dtype), "a weight")
        return np.zeros(shape, dtype)
    return part
