"""Steps made elsewhere, given to a multi-agent episode as lists, replayed into it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from ...core.errors import EpisodeError
from .env_step import ALL

if TYPE_CHECKING:
    from .multi_agent import MultiAgentEpisode
    from .single_agent import SingleAgentEpisode

_Rows = Sequence[Mapping[Hashable, Any]]
_NONE: Final[Mapping[Any, Any]] = {}


def replay(
    episode: MultiAgentEpisode,
    observations: _Rows,
    actions: _Rows,
    rewards: _Rows,
    infos: _Rows,
    outputs: _Rows,
    terminateds: Mapping[Hashable, Any] | bool,
    truncateds: Mapping[Hashable, Any] | bool,
    len_lookback_buffer: int | Literal["auto"],
    agent_t_started: Mapping[Hashable, int],
    agent_episode_ids: Mapping[Hashable, str],
) -> None:
    """Fill an empty episode with the steps in lists of dicts by agent.

    The first `len_lookback_buffer` steps lie before `env_t_started`. An agent that is silent at the
    end, though nothing of it hangs, counts as terminated.

    Raises:
        EpisodeError: The lists do not belong to the same steps.
        MultiAgentEnvError: Some step contradicts itself or one before.
    """
    if observations:
        steps = len(rewards)
        if len(observations) != steps + 1 or len(actions) != steps:
            raise EpisodeError(
                f"episode {episode.id_} is given lists that do not belong together",
                expected=f"{steps} rewards, {steps} actions and {steps + 1} observations",
                found=f"{len(actions)} actions and {len(observations)} observations",
            )
        lookback = steps if len_lookback_buffer == "auto" else min(len_lookback_buffer, steps)
        episode._len_lookback_buffers = max(0, lookback)
        episode.env_t -= episode._len_lookback_buffers
        for agent, observation in observations[0].items():
            episode._add_agent(agent, observation, _at(infos, 0).get(agent))
        episode._stepped = (*observations[0],)
        for step in range(steps):
            episode._add_step(
                observations[step + 1],
                actions[step],
                rewards[step],
                _at(infos, step + 1),
                _at(outputs, step),
                None,
            )
    elif actions or rewards:
        raise EpisodeError(
            f"episode {episode.id_} is given steps without observations",
            expected="one observation more than actions and rewards",
            found="none",
        )
    terminated, truncated = _flags(terminateds), _flags(truncateds)
    for agent, single in episode._agents.items():
        single.id_ = agent_episode_ids.get(agent) or single.id_
        times = episode._env_ts[agent]
        _begin_at(
            single,
            min(bisect_left(times, episode.env_t_started), len(times) - 1),
            agent_t_started.get(agent, 0),
        )
        single.is_truncated = bool(truncated.get(ALL) or truncated.get(agent))
        is_silent = times[-1] < episode.env_t and agent not in episode._hanging_actions_end
        single.is_terminated = bool(
            terminated.get(ALL) or terminated.get(agent) or (is_silent and not single.is_truncated)
        )
    episode.is_terminated = bool(terminated.get(ALL))
    episode.is_truncated = bool(truncated.get(ALL))


def _begin_at(single: SingleAgentEpisode, lookback: int, t_started: int) -> None:
    """Make the first steps of an agent look-back."""
    buffers = [single.observations, single.actions, single.rewards, single.infos]
    for buffer in [*buffers, *single.extra_model_outputs.values()]:
        buffer.lookback = lookback
    single.t_started = t_started
    single.t = t_started + len(single.rewards)


def _at(rows: _Rows, step: int) -> Mapping[Hashable, Any]:
    return (rows[step] or _NONE) if step < len(rows) else _NONE


def _flags(flags: Mapping[Hashable, Any] | bool) -> Mapping[Hashable, Any]:
    return flags if isinstance(flags, Mapping) else {ALL: flags}
