"""PettingZoo's environments as multi-agent environments.

Nothing of PettingZoo is imported: an object with the methods of its `ParallelEnv` or `AECEnv` will
do. Both adapters end an episode when no agent is left, and call it truncated if any of the last
agents was, so that the value of what they saw last is counted.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

import gymnasium as gym
from typing_extensions import override

from ...core.errors import EpisodeError
from .multi_agent_env import ByAgent, MultiAgentEnv

_ALL: Final = "__all__"


class _PettingZoo(MultiAgentEnv):
    """What both adapters share: who may take part, and their spaces."""

    def __init__(self, env: Any) -> None:
        super().__init__()
        self._inner = env
        self.possible_agents = list(env.possible_agents)
        self.agents = list(self.possible_agents)
        self.observation_spaces = {
            agent: env.observation_space(agent) for agent in self.possible_agents
        }
        self.action_spaces = {agent: env.action_space(agent) for agent in self.possible_agents}
        self.observation_space = gym.spaces.Dict(self.observation_spaces)
        self.action_space = gym.spaces.Dict(self.action_spaces)
        self.metadata = {**self.metadata, **(getattr(env, "metadata", None) or {})}
        self.render_mode = getattr(env, "render_mode", None)

    def _with_all(self, terminateds: ByAgent, truncateds: ByAgent) -> None:
        """Say by the flags of the last agents whether the episode is over.

        It is when nobody is left, or when who is still listed is done: not every game keeps its
        list of agents up to date.
        """
        is_over = all(terminateds.get(agent) or truncateds.get(agent) for agent in self.agents)
        is_cut = is_over and any(truncateds.values())
        truncateds[_ALL] = is_cut
        terminateds[_ALL] = is_over and not is_cut

    @override
    def render(self) -> Any:
        return self._inner.render()

    @override
    def close(self) -> None:
        self._inner.close()

    @property
    def get_sub_environments(self) -> Any:
        """The environment of PettingZoo."""
        return self._inner


class ParallelPettingZooEnv(_PettingZoo):
    """An environment of PettingZoo in which all agents act at once.

    Args:
        env: A `ParallelEnv`.

    Attributes:
        par_env: The same.
    """

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.par_env = env

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ByAgent, ByAgent]:
        observations, infos = self.par_env.reset(seed=seed, options=options)
        self.agents = list(self.par_env.agents)
        return dict(observations), dict(infos or {})

    @override
    def step(  # type: ignore[override]  # by agent
        self, action_dict: ByAgent
    ) -> tuple[ByAgent, ByAgent, ByAgent, ByAgent, ByAgent]:
        returned = self.par_env.step(action_dict)
        observations, rewards, terminateds, truncateds, infos = map(dict, returned)
        self.agents = list(self.par_env.agents)
        self._with_all(terminateds, truncateds)
        return observations, rewards, terminateds, truncateds, infos


class PettingZooEnv(_PettingZoo):
    """An environment of PettingZoo in which agents act one after the other.

    Each step is one agent's; the agent whose turn it is then gets an observation and the reward
    since its own last step. Agents that are done get their last observation when their turn comes.

    Args:
        env: An `AECEnv`.

    Attributes:
        env: The same.
    """

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.env = env

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ByAgent, ByAgent]:
        self.env.reset(seed=seed, options=options)
        self.agents = list(self.env.agents)
        agent = self.env.agent_selection
        return {agent: self.env.observe(agent)}, {agent: self.env.infos.get(agent) or {}}

    @override
    def step(  # type: ignore[override]  # by agent
        self, action_dict: ByAgent
    ) -> tuple[ByAgent, ByAgent, ByAgent, ByAgent, ByAgent]:
        agent = self.env.agent_selection
        if agent not in action_dict:
            raise EpisodeError(
                f"it is the turn of agent {agent!r}",
                expected="its action",
                found=f"actions of {list(action_dict)}",
            )
        self.env.step(action_dict[agent])
        observations: ByAgent = {}
        rewards: dict[Hashable, float] = {}
        terminateds: ByAgent = {}
        truncateds: ByAgent = {}
        infos: ByAgent = {}
        while self.env.agents:
            agent = self.env.agent_selection
            (
                observations[agent],
                rewards[agent],
                terminateds[agent],
                truncateds[agent],
                infos[agent],
            ) = self.env.last()
            if not (terminateds[agent] or truncateds[agent]):
                break
            self.env.step(None)  # As PettingZoo has it: who is done steps once more, with nothing.
        self.agents = list(self.env.agents)
        self._with_all(terminateds, truncateds)
        return observations, rewards, terminateds, truncateds, infos
