"""Multi-agent episodes get their steps from a block of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import nest
from ...core.columns import Columns
from ...core.types import Nest
from ..envs.multi_agent_envs import ALL
from ..episodes.column_items import listed, stacked
from ..episodes.lookback_buffer import InfiniteLookbackBuffer
from ..episodes.multi_agent import MultiAgentEpisode
from ..episodes.single_agent import SingleAgentEpisode
from ..episodes.stepping import begin_outputs
from ..metrics.names import WEIGHTS_SEQ_NO
from .agent_block import AgentStretch, BlockOfAgents

_TAKEN = (Columns.OBS, Columns.ACTIONS)


def fill(
    episode: MultiAgentEpisode,
    stretch: AgentStretch,
    block: BlockOfAgents,
    weights_seq_no: int,
    *,
    is_final: bool,
) -> bool:
    """Add the steps of a stretch to its episode.

    Args:
        episode: Has the first observations.
        stretch: Which steps.
        block: Where they are.
        weights_seq_no: The number of the weights that gave them.
        is_final: Whether nobody adds steps any more, so that columns become arrays at once.

    Returns:
        Whether all observations are built alike.
    """
    episode.hand_out()
    steps = slice(stretch.start, stretch.stop)
    count = stretch.stop - stretch.start
    infos = [by_env[stretch.env] for by_env in block.infos[steps]]
    is_told = any(infos)
    rewards = zip(*[by_env[stretch.env] for by_env in block.rewards[steps]], strict=True)
    env_ts = range(episode.env_t + 1, episode.env_t + count + 1)
    time = block.times[stretch.stop - 1]
    is_alike = True
    for (agent, module_id), earned in zip(stretch.crew, rewards, strict=True):
        single = episode.singles[agent]
        row = block.rows[module_id][stretch.env, agent]
        columns = {
            name: nest.taken(by_env, (row, steps))
            for name, by_env in block.columns[module_id].items()
        }
        columns[WEIGHTS_SEQ_NO] = np.full(count, weights_seq_no)
        is_alike &= _extend(single, columns, stretch.last[agent], is_final)
        single.rewards.extend([*earned])
        agent_infos = (
            [by_env.get(agent) if by_env else None for by_env in infos]
            if is_told
            else [None] * count
        )
        single.infos.extend([{} if by_env is None else by_env for by_env in agent_infos])
        single.t += count
        single.last_step_time = time
        episode.env_ts[agent].extend(env_ts)
        if stretch.ending is not None:
            over, cut = stretch.ending.terminateds, stretch.ending.truncateds
            single.is_terminated = bool(over.get(ALL) or over.get(agent))
            single.is_truncated = bool(cut.get(ALL) or cut.get(agent))
    episode.stepped = tuple(agent for agent, _ in stretch.crew)
    episode.env_t += count
    episode.last_step_time = time
    if stretch.ending is not None:
        episode.is_terminated = bool(stretch.ending.terminateds.get(ALL))
        episode.is_truncated = bool(stretch.ending.truncateds.get(ALL))
    episode.open_journal()
    return is_alike


def _extend(
    single: SingleAgentEpisode, columns: dict[str, Nest], last: Any, is_final: bool
) -> bool:
    """Add steps to an agent's episode.

    Args:
        single: The episode.
        columns: Observations that were acted on, actions and outputs.
        last: The observation after them.
        is_final: Whether columns become arrays, if the last observation is like those before.

    Returns:
        Whether it is, as far as that was looked at.
    """
    outputs = single.extra_model_outputs
    names = [name for name in columns if name not in _TAKEN]
    if len(outputs) != len(names):
        begin_outputs(single, dict.fromkeys(names), 0)
    # The first observation is there already.
    after = nest.taken(columns[Columns.OBS], slice(1, None))
    is_alike = True
    if is_final:
        try:
            _complete(single.observations, after, stacked([last]))
        except ValueError:
            is_final = is_alike = False
    if is_final:
        _complete(single.actions, columns[Columns.ACTIONS])
        for name in names:
            _complete(outputs[name], columns[name])
    else:
        single.observations.extend([*listed(after), last])
        single.actions.extend(listed(columns[Columns.ACTIONS]))
        for name in names:
            outputs[name].extend(listed(columns[name]))
    return is_alike


def _complete(column: InfiniteLookbackBuffer, *rows: Nest) -> None:
    """Put rows behind the items of a column, which becomes arrays."""
    data = column.raw
    before = [stacked(data) if type(data) is list else data] if column.len_incl_lookback() else []
    column.data = nest.joined([*before, *rows])
