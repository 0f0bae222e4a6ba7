"""Environments of several agents: what `step` and `reset` take and give, and making one of many."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import gymnasium as gym
from gymnasium.spaces import Space
from typing_extensions import override

from ...core.errors import ConfigError, SpaceError, UnknownNameError
from .context import EnvContext
from .registry import env_creator_of

ByAgent: TypeAlias = dict[Any, Any]
"""A dict by agent id."""

ENV_STATE: Final = "state"
"""The key under which an observation may carry the state of the whole environment."""


class UnknownAgentError(SpaceError, UnknownNameError, KeyError):
    """An environment declares no space for that agent."""


class MultiAgentEnv(gym.Env[Any, Any]):
    """An environment in which several agents act, at the same time or in turns.

    A subclass says who may take part (`possible_agents`), who does now (`agents`), and the spaces
    by agent. `reset` returns observations and infos by agent; only agents with an observation act
    next. `step` takes actions by agent, and returns observations, rewards, terminateds, truncateds
    and infos by agent; the flags also hold "__all__", for the whole episode.

    Attributes:
        agents: The ids of the agents that take part now.
        possible_agents: The ids of all that may ever take part.
        observation_spaces: The space of one observation, by agent.
        action_spaces: The space of one action, by agent.
        observation_space: One space that is every agent's, or a Dict by agent.
        action_space: One space that is every agent's, or a Dict by agent.

    Example:
        >>> class Echo(MultiAgentEnv):
        ...     def __init__(self, config=None):
        ...         super().__init__()
        ...         self.agents = self.possible_agents = ["left", "right"]
        ...         self.observation_spaces = dict.fromkeys(self.agents, gym.spaces.Discrete(2))
        ...         self.action_spaces = self.observation_spaces
        ...
        ...     def reset(self, *, seed=None, options=None):
        ...         return {"left": 0, "right": 0}, {}
        ...
        ...     def step(self, action_dict):
        ...         swapped = {"left": action_dict["right"], "right": action_dict["left"]}
        ...         return swapped, {"left": 0.0, "right": 1.0}, {"__all__": True}, {}, {}
        >>> Echo().get_action_space("left"), Echo().num_agents
        (Discrete(2), 2)
    """

    observation_spaces: Any = None
    action_spaces: Any = None
    observation_space: Any = None
    action_space: Any = None
    agents: list[Any]
    possible_agents: list[Any]

    def __init__(self) -> None:
        super().__init__()
        if not hasattr(self, "agents"):  # Older code names them in a set of this name.
            self.agents = sorted(getattr(self, "_agent_ids", ()), key=str)
        if not hasattr(self, "possible_agents"):
            self.possible_agents = list(self.agents)

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ByAgent, ByAgent]:
        """Begin a new episode.

        Args:
            seed: For the environment's own randomness.
            options: Whatever the environment understands.

        Returns:
            The first observations and the infos, by agent.
        """
        super().reset(seed=seed, options=options)
        return {}, {}

    @override
    def step(  # type: ignore[override]  # by agent, where gymnasium has single values
        self, action_dict: ByAgent
    ) -> tuple[ByAgent, ByAgent, ByAgent, ByAgent, ByAgent]:
        """Let agents act.

        Args:
            action_dict: The actions of those that had an observation.

        Returns:
            Observations of those that are to act next (or are done now), rewards, terminateds,
            truncateds and infos, by agent; the flags also for "__all__".
        """
        raise NotImplementedError(f"{type(self).__name__} does not define step(action_dict)")

    @override
    def render(self) -> Any:
        """Show the environment, if it can be shown."""
        return None

    def get_observation_space(self, agent_id: Hashable) -> Space[Any]:
        """Give the space of an agent's observations.

        Raises:
            UnknownAgentError: None is declared.
        """
        return self._space_of(agent_id, "observation")

    def get_action_space(self, agent_id: Hashable) -> Space[Any]:
        """Give the space of an agent's actions.

        Raises:
            UnknownAgentError: None is declared.
        """
        return self._space_of(agent_id, "action")

    def _space_of(self, agent_id: Hashable, kind: str) -> Space[Any]:
        by_agent = getattr(self, f"{kind}_spaces")
        if by_agent is None:
            by_agent = getattr(self, f"{kind}_space")
        if isinstance(by_agent, gym.spaces.Dict):
            by_agent = by_agent.spaces
        if isinstance(by_agent, Space):
            return by_agent
        if by_agent is not None and agent_id in by_agent:
            space: Space[Any] = by_agent[agent_id]
            return space
        raise UnknownAgentError(
            f"{type(self).__name__} declares no {kind} space for agent {agent_id!r}",
            expected=f"one of {list(by_agent)}" if by_agent else f"self.{kind}_spaces by agent",
            found="" if by_agent else "neither",
            hint=f"set self.{kind}_spaces in its constructor, with all possible_agents.",
        )

    @property
    def num_agents(self) -> int:
        """How many agents take part now."""
        return len(self.agents)

    @property
    def max_num_agents(self) -> int:
        """How many agents may ever take part."""
        return len(self.possible_agents)

    def get_agent_ids(self) -> set[Hashable]:
        """Give the agents that take part now."""
        return set(getattr(self, "_agent_ids", None) or self.agents)

    def with_agent_groups(
        self,
        groups: Mapping[Any, Sequence[Hashable]],
        obs_space: Space[Any] | None = None,
        act_space: Space[Any] | None = None,
    ) -> MultiAgentEnv:
        """Let groups of agents act as one agent each: see `GroupAgentsWrapper`.

        Args:
            groups: Ids of members by the group's id.
            obs_space: The space of each group's observations; the tuple of its members' if None.
            act_space: The space of each group's actions; the tuple of its members' if None.
        """
        from .grouped_agents import GroupAgentsWrapper  # it is one of these

        return GroupAgentsWrapper(self, groups, obs_space, act_space)


def spaces_by_agent(env: Any) -> tuple[dict[Any, Space[Any]], dict[Any, Space[Any]]]:
    """All agents' observation and action spaces.

    Raises:
        UnknownAgentError: An agent has none.
    """
    inner = env.unwrapped
    agents = listed_agents(inner)
    return (
        {agent: inner.get_observation_space(agent) for agent in agents},
        {agent: inner.get_action_space(agent) for agent in agents},
    )


def listed_agents(env: Any) -> list[Any]:
    """All agents that may ever take part, as far as the environment tells."""
    return list(env.possible_agents) or list(env.agents) or declared_agents(env)


def declared_agents(env: Any) -> list[Hashable]:
    """The agents that an environment which lists none has spaces for."""
    for spaces in (env.observation_spaces, env.observation_space):
        if isinstance(spaces, (Mapping, gym.spaces.Dict)):
            return list(spaces)
    return []


def make_multi_agent(env_name_or_creator: str | Callable[[EnvContext], Any]) -> type[MultiAgentEnv]:
    """Make a class of environments in which each agent plays a single-agent environment of its own.

    Args:
        env_name_or_creator: A registered name, a gymnasium id, or a function that takes an
            `EnvContext` and makes an environment.

    Returns:
        A class whose constructor takes a config; its "num_agents" says how many agents there are.

    Example:
        >>> Carts = make_multi_agent("CartPole-v1")
        >>> carts = Carts({"num_agents": 2})
        >>> observations, infos = carts.reset(seed=0)
        >>> list(observations), carts.step({0: 1, 1: 0})[1]
        ([0, 1], {0: 1.0, 1: 1.0})
    """
    creator = env_creator_of(env_name_or_creator)

    class MultiEnv(MultiAgentEnv):
        """One environment for each agent; agents are numbers from 0 on."""

        def __init__(self, config: Mapping[str, Any] | None = None) -> None:
            super().__init__()
            context = config if isinstance(config, EnvContext) else EnvContext(config)
            settings = {name: value for name, value in context.items() if name != "num_agents"}
            env_context = context.copy_with_overrides(env_config=settings)
            count = context.get("num_agents", 1)
            if not isinstance(count, int) or count < 1:
                raise ConfigError(
                    "make_multi_agent: num_agents", expected="a number from 1 on", found=repr(count)
                )
            self.envs = [creator(env_context) for _ in range(count)]
            self.agents = list(range(count))
            self.possible_agents = list(self.agents)
            self.observation_spaces = {
                agent: env.observation_space for agent, env in enumerate(self.envs)
            }
            self.action_spaces = {agent: env.action_space for agent, env in enumerate(self.envs)}
            self.terminateds: set[Hashable] = set()
            self.truncateds: set[Hashable] = set()

        @override
        def reset(
            self, *, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[ByAgent, ByAgent]:
            self.terminateds, self.truncateds = set(), set()
            resets = [env.reset(seed=seed, options=options) for env in self.envs]
            return (
                {agent: observation for agent, (observation, _) in enumerate(resets)},
                {agent: info for agent, (_, info) in enumerate(resets)},
            )

        @override
        def step(  # type: ignore[override]  # by agent
            self, action_dict: ByAgent
        ) -> tuple[ByAgent, ByAgent, ByAgent, ByAgent, ByAgent]:
            if not action_dict:
                raise SpaceError(
                    "an environment of make_multi_agent() was stepped without actions",
                    expected=f"actions of some of the agents {self.agents}",
                    found="none",
                )
            steps = {
                agent: self.envs[self._place_of(agent)].step(action)
                for agent, action in action_dict.items()
            }
            observations, rewards, terminateds, truncateds, infos = (
                {agent: step[place] for agent, step in steps.items()} for place in range(5)
            )
            self.terminateds.update(agent for agent, is_set in terminateds.items() if is_set)
            self.truncateds.update(agent for agent, is_set in truncateds.items() if is_set)
            done = self.terminateds | self.truncateds
            terminateds["__all__"] = len(done) == len(self.envs)
            truncateds["__all__"] = len(self.truncateds) == len(self.envs)
            return observations, rewards, terminateds, truncateds, infos

        def _place_of(self, agent: Hashable) -> int:
            if isinstance(agent, int) and 0 <= agent < len(self.envs):
                return agent
            raise UnknownAgentError(
                f"there is no agent {agent!r}", expected=f"one of {self.agents}"
            )

        @override
        def render(self) -> Any:
            return self.envs[0].render()

        @override
        def close(self) -> None:
            for env in self.envs:
                env.close()

    return MultiEnv
