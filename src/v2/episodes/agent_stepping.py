"""How a multi-agent episode grows agent by agent."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import gymnasium as gym

from ...core.errors import EpisodeError
from .env_step import ALL, Flags, sort_out
from .errors import EpisodeKeyError
from .single_agent import SingleAgentEpisode
from .stepping import append_step
from .stretches import first_stretch

if TYPE_CHECKING:
    from .multi_agent import MultiAgentEpisode

_Rows: TypeAlias = Sequence[Mapping[Hashable, Any]]
_NONE: Final[Mapping[Any, Any]] = {}


def add_step(
    episode: MultiAgentEpisode,
    observations: Mapping[Hashable, Any],
    actions: Mapping[Hashable, Any],
    rewards: Mapping[Hashable, Any],
    infos: Mapping[Hashable, Any],
    outputs: Mapping[Hashable, Any],
    flags: Flags | None,
) -> None:
    """Add a step agent by agent."""
    completed, hanging, arrived, idle_ends = sort_out(
        episode, observations, actions, rewards, infos, outputs, flags
    )
    for agent in arrived:
        _space_of(episode, agent, episode.observation_space, "observation")
    episode.env_t = env_t = episode.env_t + 1
    episode.last_step_time = now = perf_counter()
    agents, env_ts = episode.singles, episode.env_ts
    owed, waiting = episode.hanging.rewards, episode.hanging.actions
    waiting_outputs = episode.hanging.outputs
    stepped: list[Hashable] = []
    for agent, single, observation, action, info, agent_outputs, terminated, truncated in completed:
        reward = rewards.get(agent, 0.0)
        if agent in owed:
            reward = owed.pop(agent) + reward
        append_step(single, observation, action, reward, info, agent_outputs)
        if flags:
            single.is_terminated, single.is_truncated = terminated, truncated
        single.last_step_time = now
        env_ts[agent].append(env_t)
        if agent in waiting:
            del waiting[agent]
            waiting_outputs.pop(agent, None)
        stepped.append(agent)
    for agent in hanging:
        waiting[agent] = actions[agent]
        waiting_outputs[agent] = {**(outputs.get(agent) or _NONE)}
    # Who observed completed a step, unless somebody came or somebody is done.
    paid: Any = {*stepped} if arrived or flags else observations
    for agent, reward in rewards.items():
        if agent not in paid:
            sums = owed if agent in agents else episode.hanging.early_rewards
            sums[agent] = sums.get(agent, 0.0) + reward
    for agent, terminated, truncated in idle_ends:
        agents[agent].is_terminated, agents[agent].is_truncated = terminated, truncated
    for agent in arrived:
        add_agent(episode, agent, observations[agent], infos.get(agent))
        stepped.append(agent)
    if len(stepped) > 1:
        present = {*stepped}
        stepped = [agent for agent in agents if agent in present]
    episode.stepped = (*stepped,)
    if flags:
        terminateds, truncateds = flags
        episode.is_terminated = bool(terminateds.get(ALL))
        episode.is_truncated = bool(truncateds.get(ALL))
        if agents and not episode.is_done and all(single.is_done for single in agents.values()):
            episode.is_terminated = True  # as in RLlib, however its agents ended


def add_agent(episode: MultiAgentEpisode, agent: Hashable, observation: Any, infos: Any) -> None:
    """Add an agent with its first observation."""
    single = first_stretch(
        SingleAgentEpisode,
        agent,
        observation,
        {} if infos is None else infos,
        _space_of(episode, agent, episode.observation_space, "observation"),
        _space_of(episode, agent, episode.action_space, ""),
        episode.module_for(agent),
        episode.id_,
    )
    episode.singles[agent] = single
    episode.env_ts[agent] = [episode.env_t]


def _space_of(
    episode: MultiAgentEpisode, agent: Hashable, spaces: Any, strictly: str
) -> gym.Space[Any] | None:
    """An agent's space; where spaces are known, observations of other agents are refused."""
    by_agent: Any = spaces.spaces if isinstance(spaces, gym.spaces.Dict) else spaces
    if not isinstance(by_agent, Mapping):
        one_for_all: gym.Space[Any] = spaces
        return one_for_all
    if strictly and by_agent and agent not in by_agent:
        raise EpisodeKeyError(
            f"episode {episode.id_} has no {strictly} space for agent {agent!r}",
            expected=f"one of {list(by_agent)}",
            hint=f"add the agent to {strictly}_space, or do not return data for it.",
        )
    space: gym.Space[Any] | None = by_agent.get(agent)
    return space


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

    The first `len_lookback_buffer` steps lie before `env_t_started`. An agent that is silent
    at the end, though nothing of it hangs, counts as terminated.

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
        episode.len_lookback_buffers = max(0, lookback)
        episode.env_t -= episode.len_lookback_buffers
        for agent, observation in observations[0].items():
            add_agent(episode, agent, observation, _at(infos, 0).get(agent))
        episode.stepped = (*observations[0],)
        for step in range(steps):
            add_step(
                episode,
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
    for agent, single in episode.singles.items():
        single.id_ = agent_episode_ids.get(agent) or single.id_
        times = episode.env_ts[agent]
        _begin_at(
            single,
            min(bisect_left(times, episode.env_t_started), len(times) - 1),
            agent_t_started.get(agent, 0),
        )
        single.is_truncated = bool(truncated.get(ALL) or truncated.get(agent))
        is_silent = times[-1] < episode.env_t and agent not in episode.hanging.actions
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
