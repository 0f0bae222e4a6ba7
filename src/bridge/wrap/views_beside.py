"""What a legacy policy looks at beside the observation, in terms of the new stack's columns."""

from __future__ import annotations

from typing import Any, Final

from ...core.columns import Columns
from ...legacy.connectors.context import ConnectorContext

_ONLY_OBSERVATIONS: Final = ("_enable_rl_module_api", "enable_rl_module_and_learner")
_RESERVED: Final = frozenset(
    value for name, value in vars(Columns).items() if name.isupper() and isinstance(value, str)
)


def columns_beside(ctx: ConnectorContext) -> dict[str, str]:
    """The columns of earlier actions, rewards, frames by the names of their views.

    A view with the name of one of the new stack's own columns gets a prefix. States are not among
    them: modules carry these. An RLModule inside an old policy lists every column there is, and
    looks at observations only.
    """
    if Columns.EPS_ID in _needed(ctx) and any(map(ctx.setting, _ONLY_OBSERVATIONS)):
        return {}
    return {
        name: f"legacy_{name}" if name in _RESERVED else name
        for name, view in _needed(ctx).items()
        if name not in (Columns.OBS, Columns.SEQ_LENS)
        and not name.startswith("state_in_")
        and (view.data_col or name) != Columns.INFOS
    }


def windows_of(ctx: ConnectorContext) -> dict[int, int]:
    """How many earlier states make one state that the network takes, by its place.

    A recurrent network takes the last one as it is, and is not listed; attention takes many.
    """
    return {
        int(name.rpartition("_")[2]): len(view.shift_arr)
        for name, view in (ctx.view_requirements or {}).items()
        if name.startswith("state_in_") and len(view.shift_arr) > 1
    }


def is_observation_stacked(ctx: ConnectorContext) -> bool:
    """Whether what the network takes as observation is more than the last one."""
    view: Any = (ctx.view_requirements or {}).get(Columns.OBS)
    if view is None:
        return False
    return (view.data_col or Columns.OBS) != Columns.OBS or view.shift_arr.tolist() != [0]


def _needed(ctx: ConnectorContext) -> dict[str, Any]:
    views = (ctx.view_requirements or {}).items()
    return {name: view for name, view in views if view.used_for_compute_actions}
