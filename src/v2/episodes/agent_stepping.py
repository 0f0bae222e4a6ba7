"""How a multi-agent episode grows: first observations, then one step of the environment a call."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Mapping, Sequence
from time import perf_counter
from typing import Any, Final, Literal, TypeAlias

import gymnasium as gym

from ...core.errors import EpisodeError
from .agent_facts import AgentFacts
from .env_step import ALL, NOBODY, Flags, sort_out
from .errors import EpisodeKeyError, MultiAgentEnvError
from .single_agent import SingleAgentEpisode, first_stretch

_Rows: TypeAlias = Sequence[Mapping[Hashable, Any]]
_NONE: Final[Mapping[Any, Any]] = {}


class AgentStepping(AgentFacts):
    """Resets and steps of `MultiAgentEpisode`.

    A step in which all agents act and observe is a row of a journal, handed out when somebody
    looks; any other is sorted out agent by agent.
    """

    __slots__ = ()

    def add_env_reset(
        self,
        *,
        observations: Mapping[Hashable, Any],
        infos: Mapping[Hashable, Any] | None = None,
    ) -> None:
        """Add the first observations.

        Args:
            observations: What the environment's `reset` returned, by agent.
            infos: The infos it returned, by agent.

        Raises:
            EpisodeError: There are first observations already.
        """
        if self.is_done or self.is_reset:
            raise EpisodeError(
                f"episode {self.id_} cannot be reset: it has first observations",
                hint="a new episode of the environment is a new MultiAgentEpisode.",
            )
        for agent, observation in observations.items():
            self._add_agent(agent, observation, (infos or _NONE).get(agent))
        self.stepped = (*observations,)
        self.start_time = perf_counter()
        self.open_journal()

    def add_env_step(
        self,
        observations: Mapping[Hashable, Any],
        actions: Mapping[Hashable, Any],
        rewards: Mapping[Hashable, Any],
        infos: Mapping[Hashable, Any] | None = None,
        *,
        terminateds: Mapping[Hashable, Any] | None = None,
        truncateds: Mapping[Hashable, Any] | None = None,
        extra_model_outputs: Mapping[Hashable, Any] | None = None,
    ) -> None:
        """Add one step of the environment; all arguments are dicts by agent.

        Args:
            observations: Those of the agents that are to act next, or are done now.
            actions: Those of the agents that acted.
            rewards: What agents earned, whether they acted or not.
            infos: The infos that came with the observations.
            terminateds: Which agents terminated; "__all__" for the episode.
            truncateds: Which agents were truncated; they need a last observation.
            extra_model_outputs: By agent what its module returned besides the action.

        Raises:
            EpisodeError: The episode is done.
            MultiAgentEnvError: The data contradicts itself or what was before.
        """
        if self.is_terminated or self.is_truncated:
            raise MultiAgentEnvError(
                f"episode {self.id_} is already done: no step can be added",
                hint="a new episode of the environment is a new MultiAgentEpisode.",
            )
        flags = None
        if (terminateds and terminateds != NOBODY and any(terminateds.values())) or (
            truncateds and truncateds != NOBODY and any(truncateds.values())
        ):
            flags = terminateds or _NONE, truncateds or _NONE
        journal = self.journal
        if journal is not None:
            # All agents act, observe and go on: the step is only written down.
            if (
                flags is None
                and [*observations, *actions, *rewards] == journal.thrice
                and journal.takes(observations, actions, rewards, infos, extra_model_outputs)
            ):
                self.env_t += 1
                self.last_step_time = perf_counter()
                return
            self.hand_out()
        self._add_step(
            observations, actions, rewards, infos or _NONE, extra_model_outputs or _NONE, flags
        )
        self.open_journal()

    def _add_step(
        self,
        observations: Mapping[Hashable, Any],
        actions: Mapping[Hashable, Any],
        rewards: Mapping[Hashable, Any],
        infos: Mapping[Hashable, Any],
        outputs: Mapping[Hashable, Any],
        flags: Flags | None,
    ) -> None:
        """Add a step agent by agent."""
        completed, hanging, arrived, left = sort_out(
            self, observations, actions, rewards, infos, outputs, flags
        )
        for agent in arrived:
            self._space_of(agent, self.observation_space, "observation")
        self.env_t = env_t = self.env_t + 1
        self.last_step_time = now = perf_counter()
        agents, env_ts = self.singles, self.env_ts
        owed, waiting = self.hanging.rewards, self.hanging.actions
        waiting_outputs = self.hanging.outputs
        stepped: list[Hashable] = []
        for agent, single, seen, action, told, own, terminated, truncated in completed:
            reward = rewards.get(agent, 0.0)
            if agent in owed:
                reward = owed.pop(agent) + reward
            single.append_step(seen, action, reward, told, own)
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
                sums = owed if agent in agents else self.hanging.early_rewards
                sums[agent] = sums.get(agent, 0.0) + reward
        for agent, terminated, truncated in left:
            agents[agent].is_terminated, agents[agent].is_truncated = terminated, truncated
        for agent in arrived:
            self._add_agent(agent, observations[agent], infos.get(agent))
            stepped.append(agent)
        if len(stepped) > 1:
            present = {*stepped}
            stepped = [agent for agent in agents if agent in present]
        self.stepped = (*stepped,)
        if flags:
            terminateds, truncateds = flags
            self.is_terminated = bool(terminateds.get(ALL))
            self.is_truncated = bool(truncateds.get(ALL))
            if agents and not self.is_done:
                # As in RLlib: an episode is terminated once all its agents are done, however.
                self.is_terminated = all(single.is_done for single in agents.values())

    def _add_agent(self, agent: Hashable, observation: Any, infos: Any) -> None:
        single = first_stretch(
            agent,
            observation,
            {} if infos is None else infos,
            self._space_of(agent, self.observation_space, "observation"),
            self._space_of(agent, self.action_space, ""),
            self.module_for(agent),
            self.id_,
        )
        self.singles[agent] = single
        self.env_ts[agent] = [self.env_t]

    def _space_of(self, agent: Hashable, spaces: Any, strictly: str) -> gym.Space[Any] | None:
        """An agent's space; where spaces are known, observations of other agents are refused."""
        by_agent: Any = spaces.spaces if isinstance(spaces, gym.spaces.Dict) else spaces
        if not isinstance(by_agent, Mapping):
            one_for_all: gym.Space[Any] = spaces
            return one_for_all
        if strictly and by_agent and agent not in by_agent:
            raise EpisodeKeyError(
                f"episode {self.id_} has no {strictly} space for agent {agent!r}",
                expected=f"one of {list(by_agent)}",
                hint=f"add the agent to {strictly}_space, or do not return data for it.",
            )
        space: gym.Space[Any] | None = by_agent.get(agent)
        return space

    # Steps made elsewhere

    def _replay(
        self,
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
                    f"episode {self.id_} is given lists that do not belong together",
                    expected=f"{steps} rewards, {steps} actions and {steps + 1} observations",
                    found=f"{len(actions)} actions and {len(observations)} observations",
                )
            lookback = steps if len_lookback_buffer == "auto" else min(len_lookback_buffer, steps)
            self.len_lookback_buffers = max(0, lookback)
            self.env_t -= self.len_lookback_buffers
            for agent, observation in observations[0].items():
                self._add_agent(agent, observation, _at(infos, 0).get(agent))
            self.stepped = (*observations[0],)
            for step in range(steps):
                self._add_step(
                    observations[step + 1],
                    actions[step],
                    rewards[step],
                    _at(infos, step + 1),
                    _at(outputs, step),
                    None,
                )
        elif actions or rewards:
            raise EpisodeError(
                f"episode {self.id_} is given steps without observations",
                expected="one observation more than actions and rewards",
                found="none",
            )
        terminated, truncated = _flags(terminateds), _flags(truncateds)
        for agent, single in self.singles.items():
            single.id_ = agent_episode_ids.get(agent) or single.id_
            times = self.env_ts[agent]
            _begin_at(
                single,
                min(bisect_left(times, self.env_t_started), len(times) - 1),
                agent_t_started.get(agent, 0),
            )
            single.is_truncated = bool(truncated.get(ALL) or truncated.get(agent))
            is_silent = times[-1] < self.env_t and agent not in self.hanging.actions
            single.is_terminated = bool(
                terminated.get(ALL)
                or terminated.get(agent)
                or (is_silent and not single.is_truncated)
            )
        self.is_terminated = bool(terminated.get(ALL))
        self.is_truncated = bool(truncated.get(ALL))


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
