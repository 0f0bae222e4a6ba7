"""Inputs of a legacy policy besides the observation, as columns of the new stack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from gymnasium.spaces import Space
from typing_extensions import override

from ...core import nest
from ...core.columns import Columns
from ...core.trust import trust
from ...legacy.connectors.context import ConnectorContext
from ...legacy.connectors.types import AgentConnectorsOutput
from ...v2.connectors.batch_items import key_of, single_agent_episode_iterator
from ...v2.connectors.connector import ConnectorV2
from .step_records import carried

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
    """Return how many previous states form one state input of the network, by position.

    A recurrent network uses the last state only, and is not listed; attention uses many.
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


@trust
class LegacyColumnsV2(ConnectorV2):
    """Adds the columns of several wrapped policies, behind the piece that adds observations.

    The batch of several modules goes by its first column, so that one must hold all agents. For
    each module id, `columns` has the batch's names of columns by the policy's views. The
    observations of `stacked` modules are more than the last one.
    """

    def __init__(
        self,
        input_observation_space: Space[Any] | None = None,
        input_action_space: Space[Any] | None = None,
        *,
        columns: Mapping[str, Mapping[str, str]],
        stacked: Sequence[str] = (),
    ) -> None:
        super().__init__(input_observation_space, input_action_space)
        self.columns = columns
        self.stacked = stacked

    @override
    def __call__(
        self,
        *,
        batch: dict[str, Any],
        episodes: Sequence[Any],
        shared_data: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        for episode in single_agent_episode_iterator(episodes):
            output = carried(shared_data, episode)
            view_columns = self.columns.get(episode.module_id, {})
            add_view_columns(
                batch, episode, output, view_columns, episode.module_id in self.stacked
            )
        return batch


def add_view_columns(
    batch: dict[str, Any],
    episode: Any,
    output: Any,
    columns: Mapping[str, str],
    is_stacked: bool,
) -> None:
    """Add the other inputs of a policy to the last observation of an episode.

    `columns` maps the policy's views to names in the batch. Until the policy's agent connectors
    have all run, nothing is added. With `is_stacked`, the observation itself is replaced.
    """
    if not isinstance(output, AgentConnectorsOutput):
        return
    key, built = key_of(episode), output.sample_batch
    for view, column in columns.items():
        if view in built:
            batch.setdefault(column, {})[key] = [nest.taken(built[view], 0)]
    if is_stacked:
        batch.setdefault(Columns.OBS, {})[key] = [nest.taken(built[Columns.OBS], 0)]
