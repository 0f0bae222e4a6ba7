"""The episode of several agents in one environment, who need not all act at each step."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from time import perf_counter
from typing import Any, Final, Literal

import gymnasium as gym
from typing_extensions import Self, override

from ...core.columns import DEFAULT_MODULE_ID
from ...core.errors import EpisodeError
from . import agent_stretches
from .agent_access import AgentAccess
from .agent_facts import AgentFacts
from .agent_state import pickle_of, restore_pickle, restore_state, state_of
from .env_step import ALL, NOBODY, sort_out
from .errors import EpisodeItemError, EpisodeKeyError, MultiAgentEnvError
from .history import replay
from .indexing import Steps
from .journal import Journal
from .single_agent import SingleAgentEpisode, first_stretch

_NONE: Final[Mapping[Any, Any]] = {}

MappingFn = Callable[[Any, Any], Any]


def default_mapping(agent_id: Hashable, episode: object, **_: object) -> str:
    """The module of any agent where nobody says otherwise."""
    return DEFAULT_MODULE_ID


class MultiAgentEpisode(AgentFacts, AgentAccess):
    """What several agents saw, did and earned in one environment, by environment step.

    Each agent has a `SingleAgentEpisode` of its own, which starts with its first observation and
    steps when it observes again. In between its action *hangs*, and its rewards add up.

    Args:
        id_: Its id; a random one by default.
        observations: Those of steps already made, one dict of agents for each.
        observation_space: The space of one observation by agent, as a Dict space or a dict.
        infos: One dict of agents with each dict of observations.
        actions: One dict of agents for each step.
        action_space: The space of one action by agent.
        rewards: One dict of agents for each step.
        terminateds: Which agents are terminated now; "__all__", or True, for the episode.
        truncateds: Which agents are truncated now.
        extra_model_outputs: By agent what its module returned besides the action, for each step.
        env_t_started: The environment step of the whole episode at which this stretch starts.
        agent_t_started: The agents' own steps at which their stretches start.
        len_lookback_buffer: How many of the given steps are look-back; "auto" takes all of them.
        agent_episode_ids: The ids of the agents' episodes; random ones by default.
        agent_module_ids: The modules of agents that are not to be mapped.
        agent_to_module_mapping_fn: Called once for each agent as `fn(agent_id, episode)`, returns
            the id of its module.

    Example:
        >>> episode = MultiAgentEpisode()
        >>> episode.add_env_reset(observations={"a": 0, "b": 10})
        >>> episode.add_env_step({"a": 1}, {"a": 5, "b": 6}, {"a": 1.0, "b": 0.5})
        >>> episode.get_observations(-1), episode.get_agents_to_act()
        ({'a': 1}, {'a'})
        >>> episode.get_actions(-1)  # b's hangs
        {'a': 5, 'b': 6}
    """

    __slots__ = (
        "_agent_to_module_mapping",
        "_agents",
        "_custom_data",
        "_env_ts",
        "_hanging_actions_end",
        "_hanging_extra_model_outputs_end",
        "_hanging_rewards_begin",
        "_hanging_rewards_end",
        "_is_shown",
        "_journal",
        "_last_step_time",
        "_len_lookback_buffers",
        "_start_time",
        "_stepped",
        "action_space",
        "agent_to_module_mapping_fn",
        "env_t",
        "env_t_started",
        "id_",
        "is_terminated",
        "is_truncated",
        "observation_space",
    )

    def __init__(
        self,
        id_: str | None = None,
        *,
        observations: Sequence[Mapping[Hashable, Any]] | None = None,
        observation_space: Any = None,
        infos: Sequence[Mapping[Hashable, Any]] | None = None,
        actions: Sequence[Mapping[Hashable, Any]] | None = None,
        action_space: Any = None,
        rewards: Sequence[Mapping[Hashable, Any]] | None = None,
        terminateds: Mapping[Hashable, Any] | bool = False,
        truncateds: Mapping[Hashable, Any] | bool = False,
        extra_model_outputs: Sequence[Mapping[Hashable, Any]] | None = None,
        env_t_started: int | None = None,
        agent_t_started: Mapping[Hashable, int] | None = None,
        len_lookback_buffer: int | Literal["auto"] = "auto",
        agent_episode_ids: Mapping[Hashable, str] | None = None,
        agent_module_ids: Mapping[Hashable, str] | None = None,
        agent_to_module_mapping_fn: MappingFn | None = None,
    ) -> None:
        self.id_ = id_ or os.urandom(16).hex()
        self.agent_to_module_mapping_fn = agent_to_module_mapping_fn or default_mapping
        self._agent_to_module_mapping: dict[Hashable, Any] = dict(agent_module_ids or {})
        self.observation_space = {} if observation_space is None else observation_space
        self.action_space = {} if action_space is None else action_space
        self.env_t_started = self.env_t = env_t_started or 0
        self._agents = {}
        # For each agent the environment steps of its observations, look-back included.
        self._env_ts = {}
        self._hanging_actions_end = {}
        self._hanging_extra_model_outputs_end = {}
        self._hanging_rewards_end = {}
        self._hanging_rewards_begin: dict[Hashable, float] = {}
        self._len_lookback_buffers = 0
        self._stepped: tuple[Hashable, ...] = ()
        self._journal: Journal | None = None
        self._is_shown = False
        self.is_terminated = self.is_truncated = False
        self._start_time: float | None = None
        self._last_step_time: float | None = None
        self._custom_data: dict[Any, Any] = {}
        replay(
            self,
            observations or [],
            actions or [],
            rewards or [],
            infos or [],
            extra_model_outputs or [],
            terminateds,
            truncateds,
            len_lookback_buffer,
            agent_t_started or {},
            agent_episode_ids or {},
        )

    # Stepping

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
        journal = self._journal
        # All agents act, observe and go on: the step is only written down.
        if (
            journal is not None
            and [*observations, *actions, *rewards] == journal.thrice
            and (not terminateds or terminateds == NOBODY or not any(terminateds.values()))
            and (not truncateds or truncateds == NOBODY or not any(truncateds.values()))
            and not (self.is_terminated or self.is_truncated)
            and journal.takes(observations, actions, rewards, infos, extra_model_outputs)
        ):
            self.env_t += 1
            self._last_step_time = perf_counter()
            return
        if self.is_terminated or self.is_truncated:
            raise MultiAgentEnvError(
                f"episode {self.id_} is already done: no step can be added",
                hint="a new episode of the environment is a new MultiAgentEpisode.",
            )
        self._hand_out()
        self._add_step(
            observations,
            actions,
            rewards,
            infos or _NONE,
            terminateds or _NONE,
            truncateds or _NONE,
            extra_model_outputs or _NONE,
        )
        self._open_journal()

    def _add_step(
        self,
        observations: Mapping[Hashable, Any],
        actions: Mapping[Hashable, Any],
        rewards: Mapping[Hashable, Any],
        infos: Mapping[Hashable, Any],
        terminateds: Mapping[Hashable, Any],
        truncateds: Mapping[Hashable, Any],
        outputs: Mapping[Hashable, Any],
    ) -> None:
        """Add a step agent by agent."""
        completed, hanging, arrived, left, is_anybody_done = sort_out(
            self, observations, actions, rewards, infos, terminateds, truncateds, outputs
        )
        for agent in arrived:
            self._space_of(agent, self.observation_space, "observation")
        self.env_t += 1
        self._last_step_time = now = perf_counter()
        owed, waiting = self._hanging_rewards_end, self._hanging_actions_end
        stepped: list[Hashable] = []
        for agent, single, seen, action, told, own, terminated, truncated in completed:
            reward = rewards.get(agent, 0.0)
            if agent in owed:
                reward = owed.pop(agent) + reward
            single._append_step(seen, action, reward, told, own)
            if is_anybody_done:
                single.is_terminated, single.is_truncated = terminated, truncated
            single._last_step_time = now
            self._env_ts[agent].append(self.env_t)
            if agent in waiting:
                del waiting[agent]
                self._hanging_extra_model_outputs_end.pop(agent, None)
            stepped.append(agent)
        for agent in hanging:
            waiting[agent] = actions[agent]
            self._hanging_extra_model_outputs_end[agent] = dict(outputs.get(agent) or _NONE)
        present = set(stepped)
        for agent, reward in rewards.items():
            if agent not in present:
                sums = owed if agent in self._agents else self._hanging_rewards_begin
                sums[agent] = sums.get(agent, 0.0) + reward
        for agent, terminated, truncated in left:
            single = self._agents[agent]
            single.is_terminated, single.is_truncated = terminated, truncated
        for agent in arrived:
            self._add_agent(agent, observations[agent], infos.get(agent))
            stepped.append(agent)
        if len(stepped) > 1:
            present.update(arrived)
            stepped = [agent for agent in self._agents if agent in present]
        self._stepped = (*stepped,)
        if is_anybody_done:
            self.is_terminated = bool(terminateds.get(ALL))
            self.is_truncated = bool(truncateds.get(ALL))
            if self._agents and not self.is_done:
                # As in RLlib: an episode is terminated once all its agents are done, however.
                self.is_terminated = all(single.is_done for single in self._agents.values())

    def _add_agent(
        self,
        agent: Hashable,
        observation: Any,
        infos: Any,
    ) -> None:
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

    # Handing out what the journal holds

    def _open_journal(self) -> None:
        """Begin to write steps down as they come, if all agents step together."""
        self._journal = None
        if not (self._is_shown or self._hanging_actions_end or self._hanging_rewards_end):
            self._journal = Journal.of(self._agents, self._stepped)

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

    @property
    def agent_episodes(self) -> dict[Hashable, SingleAgentEpisode]:
        """The agents' own episodes, in the order the agents appeared."""
        self._hand_out()
        # From here on somebody may hold them, so each step goes straight into them.
        self._is_shown = True
        self._journal = None
        return self._agents

    def to_numpy(self) -> Self:
        """Turn the agents' lists of items into arrays, in place; infos stay lists.

        Returns:
            The episode itself.
        """
        self._hand_out()
        self._journal = None
        for single in self._agents.values():
            single.to_numpy()
        return self

    # Taking apart and putting together

    def cut(self, len_lookback_buffer: int = 0) -> Self:
        """The episode that goes on where this one stops: same ids, no step yet.

        What hangs goes on hanging in it.

        Args:
            len_lookback_buffer: How many of the last environment steps it gets as look-back.

        Raises:
            EpisodeError: The episode is done.
        """
        return agent_stretches.successor(self, len_lookback_buffer)

    def concat_episode(self, other: MultiAgentEpisode) -> None:
        """Append the steps of the episode that goes on where this one stops.

        Args:
            other: Comes from `cut()`; done flags and custom data are taken over from it.

        Raises:
            EpisodeError: It does not go on here: another id, time or joining observation.
        """
        agent_stretches.append_successor(self, other)

    def slice(self, slice_: Steps, *, len_lookback_buffer: int | None = None) -> Self:
        """A stretch of environment steps as an episode of its own; `episode[a:b]` does the same.

        Actions whose answer lies behind its end hang. Changing one of the two episodes never
        changes the other. Done flags stay if it reaches the end.

        Args:
            slice_: The steps; bounds beyond the episode are moved to its ends.
            len_lookback_buffer: How many steps before it it gets as look-back, if there are so
                many; by default as many as this episode has.

        Raises:
            EpisodeItemError: It has a step other than 1.
        """
        return agent_stretches.stretch(self, slice_, len_lookback_buffer)

    def __getitem__(self, item: Steps) -> Self:
        if isinstance(item, slice):
            return self.slice(item)
        raise EpisodeItemError(
            f"a MultiAgentEpisode has no item {item!r}",
            expected="a slice: episode[a:b]",
            hint="get_observations(i), get_actions(i), ... return single steps.",
        )

    # As data

    def get_state(self) -> dict[str, Any]:
        """All of it as plain data and arrays, by RLlib's names."""
        return state_of(self)

    @staticmethod
    def from_state(state: Mapping[str, Any]) -> MultiAgentEpisode:
        """The episode that `get_state` described, RLlib's or ours."""
        episode = MultiAgentEpisode()
        restore_state(episode, state)
        return episode

    def __getstate__(self) -> tuple[Any, ...]:
        return pickle_of(self)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        restore_pickle(self, *state)

    @override
    def __repr__(self) -> str:
        self._hand_out()
        returns = {agent: single.get_return() for agent, single in self._agents.items()}
        return f"MAEps(len={len(self)} done={self.is_done} Rs={returns} id_={self.id_})"
