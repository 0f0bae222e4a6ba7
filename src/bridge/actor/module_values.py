"""What a module of the new stack estimates beside its actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from ...core import array_namespace as xp
from ...core import nest
from ...core.columns import Columns
from ...core.types import Array
from ...v2.connectors.stateful_modules import is_stateful
from ...v2.modules.apis import ValueFunctionAPI
from ...v2.modules.dqn import DefaultDQNRLModule
from ..wrap.policy_module import LegacyPolicyModule

_NO_FETCHES = (Columns.ACTIONS, Columns.ACTIONS_FOR_ENV, Columns.STATE_OUT)


def values_of(rl_module: Any, batch: Mapping[str, Any]) -> dict[str, Array]:
    """Values `(B,)` as "vf_preds", those of all actions as "qf_preds"; whatever it estimates.

    A wrapped policy puts its own out when it acts.
    """
    columns: dict[str, Array] = {}
    if isinstance(rl_module, LegacyPolicyModule):
        return columns
    module: Any = rl_module
    with torch.no_grad():
        if isinstance(rl_module, ValueFunctionAPI) and not module.inference_only:
            columns[Columns.VF_PREDS] = xp.to_numpy(module.compute_values(dict(batch))).reshape(-1)
        if isinstance(rl_module, DefaultDQNRLModule):
            values = xp.to_numpy(module.compute_q_values(dict(batch))["qf_preds"])
            columns["qf_preds"] = values[:, 0] if is_stateful(module) else values
    return columns


def fetches_of(outputs: Mapping[str, Any]) -> dict[str, Any]:
    """What a module put out beside actions and states, as arrays."""
    return {
        name: nest.map_structure(xp.to_numpy, column)
        for name, column in outputs.items()
        if name not in _NO_FETCHES
    }
