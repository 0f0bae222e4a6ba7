"""Several agents of an environment as one that sees, acts and earns for all of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final

import gymnasium as gym
from gymnasium.spaces import Space
from typing_extensions import override

from ...core.errors import ConfigError, EpisodeError
from .multi_agent_env import ByAgent, MultiAgentEnv, listed_agents

GROUP_INFO: Final = "_group_info"
GROUP_REWARDS: Final = "_group_rewards"


class GroupAgentsWrapper(MultiAgentEnv):
    """Lets groups of agents act as one agent each, under the group's id.

    A group sees a tuple of what its members see and acts by a tuple of their actions, in the order
    of its list. It earns the sum of their rewards, and is done when all of them are. Its info holds
    the members' infos under "_group_info", and their rewards under "_group_rewards".

    Args:
        env: The environment; all members of a group act at the same time in it.
        groups: Ids of members by the group's id. Who is in no group stays as it is.
        obs_space: The space of each group's observations; the tuple of its members' if None.
        act_space: The space of each group's actions; the tuple of its members' if None.

    Raises:
        ConfigError: An agent is in two groups, or a group has the id of an agent outside of it.

    Example:
        >>> from rlconnect.v2 import make_multi_agent
        >>> carts = make_multi_agent("CartPole-v1")({"num_agents": 3})
        >>> team = GroupAgentsWrapper(carts, {"team": [0, 1]})
        >>> observations, infos = team.reset(seed=0)
        >>> list(observations), team.step({"team": (0, 1), 2: 0})[1]
        (['team', 2], {'team': 2.0, 2: 1.0})
    """

    def __init__(
        self,
        env: MultiAgentEnv,
        groups: Mapping[Any, Sequence[Hashable]],
        obs_space: Space[Any] | None = None,
        act_space: Space[Any] | None = None,
    ) -> None:
        self.env = env
        self.groups = {group: list(members) for group, members in groups.items()}
        self.agent_id_to_group = _owners(self.groups)
        agents = listed_agents(env) or [*self.agent_id_to_group]
        _expect_members(self.groups, agents)
        self.observation_spaces = self._spaces(agents, env.get_observation_space, obs_space)
        self.action_spaces = self._spaces(agents, env.get_action_space, act_space)
        self.observation_space = obs_space or gym.spaces.Dict(self.observation_spaces)
        self.action_space = act_space or gym.spaces.Dict(self.action_spaces)
        self.possible_agents = [*self.observation_spaces]
        super().__init__()
        self.metadata = {**self.metadata, **(getattr(env, "metadata", None) or {})}
        self.render_mode = getattr(env, "render_mode", None)

    @property
    def agents(self) -> list[Any]:  # type: ignore[override]  # who takes part is the inner one's
        """The groups and single agents that take part now."""
        listed = self.env.agents or listed_agents(self.env) or self.agent_id_to_group
        return [*dict.fromkeys(self.agent_id_to_group.get(agent, agent) for agent in listed)]

    @override
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ByAgent, ByAgent]:
        observations, infos = self.env.reset(seed=seed, options=options)
        return self._grouped(observations), self._grouped_infos(infos, {})

    @override
    def step(  # type: ignore[override]  # by agent, where gymnasium has single values
        self, action_dict: ByAgent
    ) -> tuple[ByAgent, ByAgent, ByAgent, ByAgent, ByAgent]:
        observations, rewards, terminateds, truncateds, infos = self.env.step(
            self._members_actions(action_dict)
        )
        earned = self._grouped(rewards)
        sums = {
            key: sum(member_rewards) if key in self.groups else member_rewards
            for key, member_rewards in earned.items()
        }
        return (
            self._grouped(observations),
            sums,
            self._grouped_flags(terminateds),
            self._grouped_flags(truncateds),
            self._grouped_infos(infos, earned),
        )

    def _members_actions(self, actions: ByAgent) -> ByAgent:
        by_member: ByAgent = {}
        for key, action in actions.items():
            members = self.groups.get(key)
            if members is None:
                by_member[key] = action
                continue
            if len(action) != len(members):
                raise EpisodeError(
                    f"group {key!r} has {len(members)} members and was given {len(action)} actions",
                    hint="give one action for each member, in the order of the group's list.",
                )
            by_member.update(zip(members, action, strict=True))
        return by_member

    def _grouped(self, items: ByAgent) -> ByAgent:
        """Items by group, as tuples, and of single agents as they are.

        Raises:
            EpisodeError: Some of a group have an item and some have none.
        """
        grouped: ByAgent = {}
        for agent, item in items.items():
            group = self.agent_id_to_group.get(agent)
            if group is None:
                grouped[agent] = item
            elif group not in grouped:
                members = self.groups[group]
                missing = [member for member in members if member not in items]
                if missing:
                    raise EpisodeError(
                        f"of group {group!r}, {agent!r} takes part in this step and "
                        f"{missing[0]!r} does not",
                        hint="group agents that act at the same time, and are done together.",
                    )
                grouped[group] = tuple(items[member] for member in members)
        return grouped

    def _grouped_flags(self, flags: ByAgent) -> ByAgent:
        grouped: ByAgent = {}
        for agent, flag in flags.items():
            group = self.agent_id_to_group.get(agent, agent)
            grouped[group] = bool(flag) and grouped.get(group, True)
        return grouped

    def _grouped_infos(self, infos: ByAgent, earned: ByAgent) -> ByAgent:
        grouped: ByAgent = {
            agent: info for agent, info in infos.items() if agent not in self.agent_id_to_group
        }
        for group, members in self.groups.items():
            group_infos: ByAgent = {}
            if any(member in infos for member in members):
                group_infos[GROUP_INFO] = [infos.get(member, {}) for member in members]
            if group in earned:
                group_infos[GROUP_REWARDS] = list(earned[group])
            if group_infos:
                grouped[group] = group_infos
        return grouped

    def _spaces(
        self,
        agents: Sequence[Hashable],
        space_of: Callable[[Hashable], Space[Any]],
        group_space: Space[Any] | None,
    ) -> dict[Any, Space[Any]]:
        grouped: dict[Any, Space[Any]] = {}
        for agent in agents:
            group = self.agent_id_to_group.get(agent)
            if group is None:
                grouped[agent] = space_of(agent)
            elif group not in grouped:
                grouped[group] = group_space or gym.spaces.Tuple(map(space_of, self.groups[group]))
        return grouped

    @override
    def render(self) -> Any:
        return self.env.render()

    @override
    def close(self) -> None:
        self.env.close()


def _owners(groups: Mapping[Any, Sequence[Hashable]]) -> dict[Hashable, Any]:
    owners: dict[Hashable, Any] = {}
    for group, members in groups.items():
        for member in members:
            if member in owners:
                raise ConfigError(
                    f"agent {member!r} is in two groups: {owners[member]!r} and {group!r}",
                    hint="name each agent once.",
                )
            owners[member] = group
    return owners


def _expect_members(groups: Mapping[Any, Sequence[Hashable]], agents: Sequence[Any]) -> None:
    for group, members in groups.items():
        for member in members:
            if member not in agents:
                raise ConfigError(
                    f"group {group!r} has a member {member!r} that is no agent",
                    expected=f"some of {[*agents]}",
                    hint="name agents as the environment does.",
                )
        if group in agents and group not in members:
            raise ConfigError(
                f"{group!r} is a group and an agent outside of it",
                hint="give the group another id.",
            )
