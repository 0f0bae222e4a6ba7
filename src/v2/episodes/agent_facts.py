"""What a multi-agent episode knows of itself: its agents, its length, its returns, its end."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable
from typing import Any, ClassVar

from ...core.errors import EpisodeError
from ...core.text.visible import visible
from .agent_ids import AgentIds
from .agent_reading import AgentReading
from .custom_data import CustomData
from .env_step import ALL
from .lookback_buffer import InfiniteLookbackBuffer


class AgentFacts(CustomData, AgentReading):
    """The properties and counts of `MultiAgentEpisode`."""

    __slots__ = ()

    SKIP_ENV_TS_TAG: ClassVar = "S"
    """Stands for environment steps at which an agent has no step of its own."""

    @property
    def agent_ids(self) -> AgentIds:
        """All agents that observed something so far."""
        return AgentIds(self.singles)

    @property
    def agent_episode_ids(self) -> dict[Hashable, str]:
        """The ids of the agents' own episodes."""
        return {agent: single.id_ for agent, single in self.singles.items()}

    @property
    def agent_t_started(self) -> dict[Hashable, int]:
        """The agents' own steps at which their stretches start."""
        return {agent: single.t_started for agent, single in self.singles.items()}

    @property
    def env_t_to_agent_t(self) -> dict[Hashable, InfiniteLookbackBuffer]:
        """For each agent its own step at each environment step, "S" where it has none; a copy."""
        self.hand_out()
        return {agent: self._agent_steps_of(agent) for agent in self.singles}

    def _agent_steps_of(self, agent: Hashable) -> InfiniteLookbackBuffer:
        first = self.env_t_started - self.len_lookback_buffers
        steps: list[Any] = [self.SKIP_ENV_TS_TAG] * (self.env_t - first + 1)
        single, times = self.singles[agent], self.env_ts[agent]
        agent_t = single.t_started - single.observations.lookback
        begin = bisect_left(times, first)
        agent_ts = range(agent_t + begin, agent_t + len(times))
        if len(agent_ts) and times[-1] - times[begin] == len(agent_ts) - 1:
            steps[times[begin] - first : times[-1] - first + 1] = agent_ts
        else:
            for env_t, own_t in zip(times[begin:], agent_ts, strict=True):
                steps[env_t - first] = own_t
        return InfiniteLookbackBuffer(steps, self.len_lookback_buffers)

    def get_agents_that_stepped(self) -> AgentIds:
        """The agents of the last observations, those that are done now among them."""
        return AgentIds(self.stepped)

    def get_agents_to_act(self) -> AgentIds:
        """The agents of the last observations that are not done."""
        if self.is_done:
            return AgentIds()
        agents = self.singles
        return AgentIds(agent for agent in self.stepped if not agents[agent].is_done)

    def module_for(self, agent_id: Hashable) -> Any:
        """The id of an agent's module; the mapping function is asked once for each agent."""
        mapping = self.module_ids
        if agent_id not in mapping:
            mapping[agent_id] = self.agent_to_module_mapping_fn(agent_id, self)
        return mapping[agent_id]

    # What it is

    @property
    def is_reset(self) -> bool:
        """Whether there are first observations."""
        return bool(self.singles)

    @property
    def is_done(self) -> bool:
        """Whether it is over, by termination or by truncation."""
        return self.is_terminated or self.is_truncated

    @property
    def is_numpy(self) -> bool:
        """Whether the agents' steps are arrays."""
        return any(single.is_numpy for single in self.singles.values())

    def __len__(self) -> int:
        return self.env_t - self.env_t_started

    def env_steps(self) -> int:
        """How many steps of the environment it has."""
        return len(self)

    def agent_steps(self) -> int:
        """How many steps of their own its agents have together."""
        self.hand_out()
        return sum(len(single) for single in self.singles.values())

    def get_return(self, include_hanging_rewards: bool = False) -> float:
        """The sum of all agents' rewards.

        Args:
            include_hanging_rewards: Whether to count rewards that belong to no step yet, or came
                before the agent's first observation.
        """
        self.hand_out()
        total = sum(single.get_return() for single in self.singles.values())
        if include_hanging_rewards:
            total += sum(self.hanging.rewards.values())
            total += sum(self.hanging.early_rewards.values())
        return total

    def get_duration_s(self) -> float:
        """Seconds from the reset to the last step."""
        if self.start_time is None or self.last_step_time is None:
            return 0.0
        return self.last_step_time - self.start_time

    def get_terminateds(self) -> dict[Hashable, bool]:
        """Which agents are terminated, and under "__all__" whether the episode is; then all are."""
        over = self.is_terminated
        flags = {agent: single.is_terminated or over for agent, single in self.singles.items()}
        return {**flags, ALL: over}

    def get_truncateds(self) -> dict[Hashable, bool]:
        """Which agents are truncated, and under "__all__" whether the episode is."""
        flags = {agent: single.is_truncated for agent, single in self.singles.items()}
        return {**flags, ALL: self.is_truncated}

    def validate(self) -> None:
        """Check that all data of each agent belongs to the same steps.

        Raises:
            EpisodeError: It does not.
        """
        self.hand_out()
        for agent, single in self.singles.items():
            single.validate()
            found, times = single.observations.len_incl_lookback(), len(self.env_ts[agent])
            if found != times:
                raise EpisodeError(
                    f"episode {self.id_}: agent {agent!r} has observations of no step",
                    expected=f"{times} observations",
                    found=str(found),
                )

    def print(self) -> None:
        """Print a table of which agent observed at which step."""
        self.hand_out()
        names = {agent: visible(agent) for agent in self.singles}
        width = max(map(len, names.values()), default=2)
        steps = range(self.env_t_started, self.env_t + 1)
        print("ts".ljust(width), *(f"{step:<3}" for step in steps))
        for agent in self.singles:
            seen = set(self.env_ts[agent])
            print(names[agent].ljust(width), *("x  " if step in seen else "   " for step in steps))
