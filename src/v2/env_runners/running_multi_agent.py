"""The multi-agent episodes that run in a vector of environments, and those that ended."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from ...core.data.damage import at
from ...core.errors import RlconnectError, SpaceError
from ..envs.multi_agent_envs import ALL, AgentTransitions
from ..episodes.column_items import listed
from ..episodes.errors import MultiAgentEnvError
from ..episodes.multi_agent import MappingFn, MultiAgentEpisode
from .agent_layout import Crew
from .agent_sums import Sums
from .episode_metrics import EndedEpisode


class RunningMultiAgentEpisodes:
    """One running episode for each environment.

    An episode is pending from the end of the one before to its own first observations.

    Args:
        observation_spaces: The space of one observation, by agent.
        action_spaces: The space of one action, by agent.
        mapping_fn: From agents to modules.
        num_envs: How many environments there are.
        keeps_chunks: Whether to keep what earlier calls returned, for `on_episode_end`.

    Attributes:
        episodes: The running ones, by environment.
        pending: Which of them wait for their first observations.
        to_act: The agents that are to act next, by environment.
        done: Those that ended since `take()`.
        chunks: What earlier calls returned of each.
        agent_steps: The steps that each agent made in each episode that ended.
        seen: The last observations of each environment.
    """

    def __init__(
        self,
        observation_spaces: Mapping[Hashable, Any],
        action_spaces: Mapping[Hashable, Any],
        mapping_fn: MappingFn,
        num_envs: int,
        *,
        keeps_chunks: bool = False,
    ) -> None:
        self._spaces = dict(observation_spaces), dict(action_spaces)
        self._mapping_fn = mapping_fn
        self._keeps_chunks = keeps_chunks
        self.episodes = [self._new() for _ in range(num_envs)]
        self.pending = [True] * num_envs
        self.to_act: list[Sequence[Hashable]] = [()] * num_envs
        self.done: list[MultiAgentEpisode] = []
        self.chunks: list[list[MultiAgentEpisode]] = [[] for _ in range(num_envs)]
        self.agent_steps: list[Mapping[Hashable, int]] = []
        self.seen: list[Mapping[Hashable, Any]] = [{}] * num_envs
        self._before = [Sums() for _ in range(num_envs)]

    def _new(self) -> MultiAgentEpisode:
        observation_spaces, action_spaces = self._spaces
        return MultiAgentEpisode(
            observation_space=observation_spaces,
            action_space=action_spaces,
            agent_to_module_mapping_fn=self._mapping_fn,
        )

    def begin(self, index: int, observations: Mapping[Hashable, Any], infos: Any) -> None:
        """Give a pending episode its first observations."""
        try:
            self.episodes[index].add_env_reset(observations=observations, infos=infos)
        except RlconnectError as error:
            raise _in_env(index, error) from error
        self.pending[index] = False
        self.seen[index] = observations
        self.to_act[index] = (*observations,)

    def add(
        self,
        index: int,
        transitions: AgentTransitions,
        actions: Mapping[Hashable, Any],
        outputs: Any,
    ) -> bool:
        """Add a step of one environment to its episode.

        Returns:
            Whether the episode is over.
        """
        observations = self.seen[index] = transitions.observations[index]
        terminateds, truncateds = transitions.terminateds[index], transitions.truncateds[index]
        episode = self.episodes[index]
        try:
            episode.add_env_step(
                observations,
                actions,
                transitions.rewards[index],
                transitions.infos[index],
                terminateds=terminateds,
                truncateds=truncateds,
                extra_model_outputs=outputs,
            )
        except RlconnectError as error:
            raise _in_env(index, error) from error
        if any(terminateds.values()) or any(truncateds.values()):
            self.to_act[index] = [
                agent
                for agent in observations
                if not (terminateds.get(agent) or truncateds.get(agent))
            ]
            is_over = terminateds.get(ALL) or truncateds.get(ALL) or episode.is_done
            return bool(is_over)
        self.to_act[index] = (*observations,)
        return False

    def lose(self, index: int) -> None:
        """Close the episode of an environment that failed: it is truncated where it stands."""
        episode = self.episodes[index]
        for single in episode.agent_episodes.values():
            if not single.is_done:
                single.is_truncated = True
        episode.is_truncated = True

    def end(self, index: int) -> EndedEpisode:
        """Put the episode of an environment to the ones done, and have the next one wait.

        Returns:
            What it came to, with what earlier calls returned of it.
        """
        return self.close(*self.replace(index))

    def replace(self, index: int) -> tuple[MultiAgentEpisode, Sums]:
        """Have the next episode of an environment wait for its first observations.

        Returns:
            The one before, which is to be closed, and what earlier calls returned of it.
        """
        before = self.episodes[index], self._before[index]
        self._before[index] = Sums()
        self.chunks[index] = []
        self.episodes[index] = self._new()
        self.pending[index] = True
        self.to_act[index] = ()
        return before

    def close(self, episode: MultiAgentEpisode, sums: Sums) -> EndedEpisode:
        """Put an episode that has all its steps to the ones done; see `replace`."""
        sums.add(episode)
        if len(episode):
            self.done.append(episode)
        if sums.length:
            self.agent_steps.append(sums.agent_steps)
        return EndedEpisode(sums.length, sums.total, sums.seconds, sums.by_agent, sums.by_module)

    def crew(self, index: int) -> Crew:
        """Who is to act in an environment, in the order in which the agents appeared."""
        episode = self.episodes[index]
        return tuple(
            (agent, episode.module_for(agent))
            for agent in (episode.stepped if self.to_act[index] else ())
            if not episode.singles[agent].is_done
        )

    def observed(self) -> tuple[Counter[Hashable], Counter[Hashable]]:
        """How often each agent, and each module, observed since the last `take()`."""
        by_agent: Counter[Hashable] = Counter()
        by_module: Counter[Hashable] = Counter()
        for episode in (*self.done, *self.episodes):
            for agent, count in observations_of(episode).items():
                by_agent[agent] += count
                by_module[episode.module_for(agent)] += count
        return by_agent, by_module

    def explain(self, error: Exception) -> None:
        """Look for the observation that modules could not act on.

        Args:
            error: What they raised.

        Raises:
            SpaceError: An observation has another shape than its space, or is not finite.
        """
        spaces = self._spaces[0]
        for index, observations in enumerate(self.seen):
            for agent, observation in observations.items():
                shape, obs_shape = getattr(spaces.get(agent), "shape", None), np.shape(observation)
                if shape is not None and obs_shape != shape:
                    reason = f"an observation of shape {obs_shape}"
                elif shape is not None and not np.isfinite(observation).all():
                    reason = "an observation that is not finite"
                else:
                    continue
                raise SpaceError(
                    f"modules could not act: agent {agent!r} of environment {index}",
                    expected=f"finite numbers of shape {shape}",
                    found=reason,
                    hint="look at what the environment's reset() and step() return for it.",
                    index=index,
                    agent_id=agent,
                ) from error

    def get_state(self) -> dict[str, Any]:
        """Give the running episodes, between two calls of `take()`."""
        return {
            "episodes": [_written(episode) for episode in self.episodes],
            "pending": list(self.pending),
            "to_act": [list(agents) for agents in self.to_act],
            "seen": [dict(each) for each in self.seen],
            "before": [sums.get_state() for sums in self._before],
            "chunks": [[_written(chunk) for chunk in chunks] for chunks in self.chunks],
        }

    @at()
    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over what `get_state` gave."""
        self.episodes = [self._read(each) for each in state["episodes"]]
        self.pending = list(state["pending"])
        self.to_act = list(state["to_act"])
        self.seen = list(state["seen"])
        self._before = [Sums.from_state(sums) for sums in state["before"]]
        self.chunks = [[self._read(each) for each in chunks] for chunks in state["chunks"]]

    def _read(self, state: Mapping[str, Any]) -> MultiAgentEpisode:
        episode = MultiAgentEpisode.from_state(state)
        episode.agent_to_module_mapping_fn = self._mapping_fn
        return _relisted(episode)

    def take(self, lookback: int | None) -> list[MultiAgentEpisode]:
        """Give the episodes that are done, and what there is of the running ones.

        Args:
            lookback: How many steps the running ones keep as look-back; None leaves them alone.
        """
        finished, self.done = self.done, []
        if lookback is not None:
            for index, episode in enumerate(self.episodes):
                if len(episode):
                    self.episodes[index] = _relisted(episode.cut(len_lookback_buffer=lookback))
                    self._before[index].add(episode)
                    if self._keeps_chunks:
                        self.chunks[index].append(episode)
                    finished.append(episode)
        for episode in finished:
            drop_idle_agents(episode)
        return finished


def _written(episode: MultiAgentEpisode) -> dict[str, Any]:
    return {**episode.get_state(), "agent_to_module_mapping_fn": None}  # The config has it.


def observations_of(episode: MultiAgentEpisode) -> dict[Hashable, int]:
    """How often each agent of an episode observed after its first moment."""
    episode.hand_out()
    began = episode.env_t_started
    counts = {
        agent: len(times) - bisect_right(times, began) for agent, times in episode.env_ts.items()
    }
    return {agent: count for agent, count in counts.items() if count}


def _relisted(episode: MultiAgentEpisode) -> MultiAgentEpisode:
    """The same episode with lists of items in place of arrays, as running ones have."""
    is_changed = False
    for single in episode.singles.values():
        buffers = (single.observations, single.actions, single.rewards, single.infos)
        for buffer in (*buffers, *single.extra_model_outputs.values()):
            if buffer.finalized:
                buffer.data = listed(buffer.raw)
                is_changed = True
    if is_changed:
        episode.open_journal()
    return episode


def drop_idle_agents(episode: MultiAgentEpisode) -> None:
    """Take agents that made no step out of an episode that is handed over."""
    singles = episode.agent_episodes
    idle = [agent for agent, single in singles.items() if not len(single)]
    for agent in idle:
        del singles[agent]
    if idle:
        episode.stepped = tuple(agent for agent in episode.stepped if agent in singles)


def _in_env(index: int, error: RlconnectError) -> MultiAgentEnvError:
    """The same error, saying which environment it was."""
    facts = {"agent_id": error.agent_id} if hasattr(error, "agent_id") else {}
    return MultiAgentEnvError(
        f"environment {index}: {error.message}",
        expected=error.expected,
        found=error.found,
        hint=error.hint,
        index=index,
        **facts,
    )
