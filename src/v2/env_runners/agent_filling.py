"""Multi-agent episodes get their steps from a block of rows."""

from __future__ import annotations

import numpy as np

from ...core import nest
from ...core.columns import Columns
from ..envs.multi_agent_envs import ALL
from ..episodes.multi_agent import MultiAgentEpisode
from ..metrics.names import WEIGHTS_SEQ_NO
from .agent_block import AgentStretch, BlockOfAgents
from .filling import extend


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
        # The first observation is there already.
        after = nest.taken(columns[Columns.OBS], slice(1, None))
        is_alike &= extend(single, (after, [stretch.last[agent]]), columns, is_final)
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
