"""The episode of several agents in one environment, who need not all act at each step."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from time import perf_counter
from typing import Any, Final, Literal

from typing_extensions import Self, override

from ...core.columns import DEFAULT_MODULE_ID
from ...core.data.damage import at
from ...core.errors import EpisodeError
from . import agent_stretches
from .agent_columns import AgentColumns
from .agent_state import pickle_of, restore_pickle, restore_state, state_of
from .agent_stepping import add_agent, add_step, replay
from .env_step import NOBODY
from .errors import MultiAgentEnvError
from .indexing import Steps

MappingFn = Callable[[Any, Any], Any]

_NONE: Final[Mapping[Any, Any]] = {}


def default_mapping(agent_id: Hashable, episode: object, **_: object) -> str:
    """The module of any agent where nobody says otherwise."""
    return DEFAULT_MODULE_ID


class MultiAgentEpisode(AgentColumns):
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

    __slots__ = ()

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
        self.module_ids = dict(agent_module_ids or {})
        self.observation_space = {} if observation_space is None else observation_space
        self.action_space = {} if action_space is None else action_space
        self.be_empty(env_t_started or 0, env_t_started or 0, 0)
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

    def like(self, begin: int, end: int, lookback: int) -> Self:
        """An episode of the same id without agents, from one environment step to another."""
        part = type(self).__new__(type(self))
        part.id_ = self.id_
        part.agent_to_module_mapping_fn = self.agent_to_module_mapping_fn
        part.module_ids = self.module_ids.copy()
        part.observation_space, part.action_space = self.observation_space, self.action_space
        part.be_empty(begin, end, lookback)
        return part

    # Growing

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
            add_agent(self, agent, observation, (infos or _NONE).get(agent))
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
        add_step(
            self,
            observations,
            actions,
            rewards,
            infos or _NONE,
            extra_model_outputs or _NONE,
            flags,
        )
        self.open_journal()

    def to_numpy(self) -> Self:
        """Turn the agents' lists of items into arrays, in place; infos stay lists.

        Returns:
            The episode itself.
        """
        self.hand_out()
        self.journal = None
        for single in self.singles.values():
            single.to_numpy()
        return self

    # Taking apart and putting together

    @override
    def cut(self, len_lookback_buffer: int = 0) -> Self:
        return agent_stretches.successor(self, len_lookback_buffer)

    @override
    def concat_episode(self, other: MultiAgentEpisode) -> None:
        agent_stretches.append_successor(self, other)

    @override
    def slice(self, slice_: Steps, *, len_lookback_buffer: int | None = None) -> Self:
        return agent_stretches.stretch(self, slice_, len_lookback_buffer)

    # As data

    def get_state(self) -> dict[str, Any]:
        """All of it as plain data and arrays, by RLlib's names."""
        return state_of(self)

    @staticmethod
    @at()
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
        self.hand_out()
        returns = {agent: single.get_return() for agent, single in self.singles.items()}
        return f"MAEps(len={len(self)} done={self.is_done} Rs={returns} id_={self.id_})"

    def _repr_html_(self) -> str:
        from ...core.pages.figure import columns_html

        title = repr(self)  # steps are handed out to the agents
        agents = {f"agent {name}": each.get_data_dict() for name, each in self.singles.items()}
        return columns_html(title, agents)
