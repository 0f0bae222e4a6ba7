"""How a multi-agent episode grows: first observations, then one step of the environment a call."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from time import perf_counter
from typing import Any, Final

import gymnasium as gym
from typing_extensions import override

from ...core.errors import EpisodeError
from .agent_facts import AgentFacts
from .env_step import ALL, NOBODY, Flags, sort_out
from .errors import EpisodeKeyError, MultiAgentEnvError
from .journal import Journal
from .single_agent import first_stretch

_NONE: Final[Mapping[Any, Any]] = {}


class AgentStepping(AgentFacts):
    """Resets and steps of `MultiAgentEpisode`.

    A step in which all agents act and observe is a row of a journal, handed out when somebody
    looks; any other is sorted out agent by agent.
    """

    __slots__ = (
        "_hanging_actions_end",
        "_hanging_extra_model_outputs_end",
        "_hanging_rewards_begin",
        "_hanging_rewards_end",
        "_is_shown",
        "_journal",
        "_last_step_time",
        "_start_time",
        "_stepped",
        "env_t",
        "is_terminated",
        "is_truncated",
    )

    action_space: Any
    observation_space: Any
    _is_shown: bool
    _journal: Journal | None

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
        self._stepped = (*observations,)
        self._start_time = perf_counter()
        self._open_journal()

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
        journal = self._journal
        if journal is not None:
            # All agents act, observe and go on: the step is only written down.
            if (
                flags is None
                and [*observations, *actions, *rewards] == journal.thrice
                and journal.takes(observations, actions, rewards, infos, extra_model_outputs)
            ):
                self.env_t += 1
                self._last_step_time = perf_counter()
                return
            self._hand_out()
        self._add_step(
            observations, actions, rewards, infos or _NONE, extra_model_outputs or _NONE, flags
        )
        self._open_journal()

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
        self._last_step_time = now = perf_counter()
        agents, env_ts = self._agents, self._env_ts
        owed, waiting = self._hanging_rewards_end, self._hanging_actions_end
        waiting_outputs = self._hanging_extra_model_outputs_end
        stepped: list[Hashable] = []
        for agent, single, seen, action, told, own, terminated, truncated in completed:
            reward = rewards.get(agent, 0.0)
            if agent in owed:
                reward = owed.pop(agent) + reward
            single._append_step(seen, action, reward, told, own)
            if flags:
                single.is_terminated, single.is_truncated = terminated, truncated
            single._last_step_time = now
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
                sums = owed if agent in agents else self._hanging_rewards_begin
                sums[agent] = sums.get(agent, 0.0) + reward
        for agent, terminated, truncated in left:
            agents[agent].is_terminated, agents[agent].is_truncated = terminated, truncated
        for agent in arrived:
            self._add_agent(agent, observations[agent], infos.get(agent))
            stepped.append(agent)
        if len(stepped) > 1:
            present = {*stepped}
            stepped = [agent for agent in agents if agent in present]
        self._stepped = (*stepped,)
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
        self._agents[agent] = single
        self._env_ts[agent] = [self.env_t]

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

    # The journal

    def _open_journal(self) -> None:
        """Begin to write steps down as they come, if all agents step together."""
        self._journal = None
        if not (self._is_shown or self._hanging_actions_end or self._hanging_rewards_end):
            self._journal = Journal.of(self._agents, self._stepped)

    @override
    def _hand_out(self) -> None:
        """Give the agents' episodes the steps that are only written down so far."""
        if self._journal is not None and self._journal.rows:
            self._journal.hand_out(self._agents, self._env_ts, self.env_t, self._last_step_time)

    @override
    def _last_row(self) -> dict[Hashable, Any] | None:
        """The last observations; None where an agent's are arrays."""
        journal = self._journal
        if journal is not None and journal.rows:
            return journal.last_observations()
        found = {}
        for agent in self._stepped:
            data = self._agents[agent].observations._data
            if type(data) is not list or not data:
                return None
            found[agent] = data[-1]
        return found
