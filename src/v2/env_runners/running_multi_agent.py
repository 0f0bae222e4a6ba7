"""The multi-agent episodes that run in a vector of environments, and those that ended."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from typing_extensions import Self, override

from ...core.data.damage import at
from ...core.errors import RlconnectError, SpaceError
from ..envs.multi_agent_envs import AgentTransitions
from ..episodes.errors import MultiAgentEnvError
from ..episodes.multi_agent import MappingFn, MultiAgentEpisode
from .agent_layout import Crew
from .episode_metrics import EndedEpisode
from .filling import relisted
from .observation_watch import explain_dtype
from .running import Running, Sums

_MOST_GAP_STEPS: Final = 100_000
"""Steps without any agent after which an environment counts as stuck."""


@dataclass
class AgentSums(Sums):
    """What an episode and its agents came to in the chunks that earlier calls returned."""

    by_agent: Counter[Hashable] = field(default_factory=Counter)
    by_module: Counter[Hashable] = field(default_factory=Counter)
    agent_steps: Counter[Hashable] = field(default_factory=Counter)

    @override
    def get_state(self) -> list[Any]:
        return [*super().get_state(), *map(dict, (self.by_agent, self.by_module, self.agent_steps))]

    @classmethod
    @override
    def from_state(cls, state: Any) -> Self:
        return cls(*state[:3], *map(Counter, state[3:]))

    @override
    def add(self, episode: MultiAgentEpisode) -> None:
        self.length += len(episode)
        self.seconds += episode.get_duration_s()
        for agent, single in episode.agent_episodes.items():
            if len(single):
                earned = float(single.get_return())
                self.total += earned
                self.by_agent[agent] += earned  # type: ignore[assignment]  # counts may be floats
                self.by_module[single.module_id] += earned  # type: ignore[assignment]
                self.agent_steps[agent] += len(single)

    @override
    def ended(self) -> EndedEpisode:
        return EndedEpisode(self.length, self.total, self.seconds, self.by_agent, self.by_module)


class RunningMultiAgentEpisodes(Running):
    """One running episode of several agents for each environment.

    Args:
        observation_spaces: The space of one observation, by agent.
        action_spaces: The space of one action, by agent.
        mapping_fn: From agents to modules.
        num_envs: How many environments there are.
        keeps_chunks: Whether to keep what earlier calls returned, for `on_episode_end`.

    Attributes:
        to_act: The agents that are to act next, by environment.
        agent_steps: The steps that each agent made in each episode that ended.
        seen: The last observations of each environment.
        gap_steps: Steps since all agents of an environment were done while `"__all__"` was False.
            Its next episode begins with the next observations; if 0, it begins with a reset.
    """

    SUMS = AgentSums

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
        super().__init__(num_envs, keeps_chunks=keeps_chunks)
        self.to_act: list[Sequence[Hashable]] = [()] * num_envs
        self.agent_steps: list[Mapping[Hashable, int]] = []
        self.seen: list[Mapping[Hashable, Any]] = [{}] * num_envs
        self.gap_steps = [0] * num_envs
        self._last_looks: Counter[tuple[Hashable, Hashable]] = Counter()

    @override
    def _new(self) -> MultiAgentEpisode:
        observation_spaces, action_spaces = self._spaces
        return MultiAgentEpisode(
            observation_space=observation_spaces,
            action_space=action_spaces,
            agent_to_module_mapping_fn=self._mapping_fn,
        )

    def begin(self, index: int, observations: Mapping[Hashable, Any], infos: Any) -> None:
        """Add the first observations to a pending episode."""
        try:
            self.episodes[index].add_env_reset(observations=observations, infos=infos)
        except RlconnectError as error:
            raise _in_env(index, error) from error
        self.pending[index] = False
        self.gap_steps[index] = 0
        self.seen[index] = observations
        self.to_act[index] = (*observations,)

    def is_waiting(self, index: int, transitions: AgentTransitions) -> bool:
        """Return True if a pending episode stays pending after a step.

        Raises:
            MultiAgentEnvError: The environment keeps running without agents.
        """
        if not self.gap_steps[index]:
            return False
        if transitions.is_over(index):
            self.gap_steps[index] = 0
            return True
        if transitions.observations[index]:
            return False
        self.gap_steps[index] += 1
        if self.gap_steps[index] > _MOST_GAP_STEPS:
            raise MultiAgentEnvError(
                f"environment {index} keeps running without agents",
                expected="an observation of some agent, or '__all__' set to True",
                found=f"{_MOST_GAP_STEPS} steps without observations after all agents were done",
                hint="set terminateds['__all__'] in the last step of an episode.",
                index=index,
            )
        return True

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
            self._last_looks.update(
                (agent, episode.module_for(agent))
                for agent in observations
                if agent not in episode.singles or episode.env_ts[agent][-1] < episode.env_t
            )
            self.to_act[index] = [
                agent
                for agent in observations
                if not (terminateds.get(agent) or truncateds.get(agent))
            ]
            if episode.is_done and not transitions.is_over(index):
                self.gap_steps[index] = 1
            return bool(episode.is_done)
        self.to_act[index] = (*observations,)
        return False

    def lose(self, index: int) -> None:
        """Close the episode of an environment that failed: it is truncated where it stands."""
        episode = self.episodes[index]
        for single in episode.agent_episodes.values():
            if not single.is_done:
                single.is_truncated = True
        episode.is_truncated = True

    @override
    def replace(self, index: int) -> tuple[MultiAgentEpisode, AgentSums]:
        self.to_act[index] = ()
        return super().replace(index)

    @override
    def close(self, episode: MultiAgentEpisode, sums: AgentSums) -> EndedEpisode:
        ended = super().close(episode, sums)
        if sums.length:
            self.agent_steps.append(sums.agent_steps)
        return ended

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
        # Agents that end as they enter, or without an action, observe without making a step.
        for (agent, module_id), count in self._last_looks.items():
            by_agent[agent] += count
            by_module[module_id] += count
        self._last_looks.clear()
        for episode in (*self.done, *self.episodes):
            for agent, count in observations_of(episode).items():
                by_agent[agent] += count
                by_module[episode.module_for(agent)] += count
        return by_agent, by_module

    @override
    def explain(self, error: Exception) -> None:
        spaces = self._spaces[0]
        for index, observations in enumerate(self.seen):
            for agent, observation in observations.items():
                where = f"modules could not act: agent {agent!r} of environment {index}"
                explain_dtype(error, observation, where)
                shape, obs_shape = getattr(spaces.get(agent), "shape", None), np.shape(observation)
                if shape is not None and obs_shape != shape:
                    reason = f"an observation of shape {obs_shape}"
                elif shape is not None and not np.isfinite(observation).all():
                    reason = "an observation that is not finite"
                else:
                    continue
                raise SpaceError(
                    where,
                    expected=f"finite numbers of shape {shape}",
                    found=reason,
                    hint="look at what the environment's reset() and step() return for it.",
                    index=index,
                    agent_id=agent,
                ) from error

    @override
    def get_state(self) -> dict[str, Any]:
        return {
            **super().get_state(),
            "to_act": [list(agents) for agents in self.to_act],
            "seen": [dict(each) for each in self.seen],
            "gap_steps": list(self.gap_steps),
        }

    @at()
    @override
    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state(state)
        self.to_act, self.seen = list(state["to_act"]), list(state["seen"])
        self.gap_steps = list(state.get("gap_steps", self.gap_steps))

    @override
    def _written(self, episode: MultiAgentEpisode) -> dict[str, Any]:
        return {**episode.get_state(), "agent_to_module_mapping_fn": None}  # The config has it.

    @override
    def _read(self, state: Mapping[str, Any]) -> MultiAgentEpisode:
        episode = MultiAgentEpisode.from_state(state)
        episode.agent_to_module_mapping_fn = self._mapping_fn
        return _relisted(episode)

    @override
    def _following(self, episode: MultiAgentEpisode, lookback: int) -> MultiAgentEpisode:
        return _relisted(episode.cut(len_lookback_buffer=lookback))

    @override
    def take(self, lookback: int | None) -> list[MultiAgentEpisode]:
        finished = super().take(lookback)
        for episode in finished:
            drop_idle_agents(episode)
        return finished


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
    if any([relisted(single) for single in episode.singles.values()]):
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
