"""What a multi-agent episode holds and knows: its agents' steps, lengths, returns and ends."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from typing import Any, ClassVar

from typing_extensions import override

from ...core.errors import EpisodeError
from ...core.text.visible import visible
from ...core.types import Nest
from .agent_reading import read_column, read_outputs
from .env_step import ALL
from .episode import Episode
from .errors import EpisodeKeyError
from .hanging import Hanging
from .indexing import Indices
from .journal import Journal
from .lookback_buffer import InfiniteLookbackBuffer
from .single_agent import SingleAgentEpisode


class AgentIds(set[Any]):
    """A set that iterates in the order of its ids' first appearance.

    RLlib returns plain sets, whose order depends on the hashes of strings and so on the process.

    Example:
        >>> ids = AgentIds(["pawn", "king"])
        >>> list(ids), ids == {"king", "pawn"}
        (['pawn', 'king'], True)
    """

    def __init__(self, ids: Iterable[Hashable] = ()) -> None:
        self._order = dict.fromkeys(ids)
        super().__init__(self._order)

    @override
    def __iter__(self) -> Iterator[Any]:
        """The ids in order; such as were added to the set itself come last."""
        if len(self._order) == len(self) and all(map(self.__contains__, self._order)):
            return iter(self._order)
        ordered = [agent for agent in self._order if agent in self]
        return iter(
            [*ordered, *(agent for agent in super().__iter__() if agent not in self._order)]
        )

    @override
    def __reduce__(self) -> Any:
        return type(self), (list(self),)

    @override
    def __repr__(self) -> str:
        return f"{{{', '.join(map(repr, self))}}}" if self else "set()"


class AgentColumns(Episode):
    """All of a multi-agent episode but how it grows and is cut.

    The rest of this package reads and fills these attributes; users look at `agent_episodes`.

    Attributes:
        singles: The agents' episodes, without the steps that are only in the journal.
        env_ts: For each agent the environment steps of its observations, look-back included.
        stepped: The agents of the last observations.
        hanging: What waits for the agents' next observations.
        journal: Steps that no agent's episode has yet, while all agents step together.
        is_shown: Whether somebody may hold the agents' episodes, so that no step may wait.
        module_ids: The modules of the agents that have one already.
    """

    __slots__ = (
        "action_space",
        "agent_to_module_mapping_fn",
        "custom_data",
        "env_t",
        "env_t_started",
        "env_ts",
        "hanging",
        "id_",
        "is_shown",
        "is_terminated",
        "is_truncated",
        "journal",
        "last_step_time",
        "len_lookback_buffers",
        "module_ids",
        "observation_space",
        "singles",
        "start_time",
        "stepped",
    )

    action_space: Any
    agent_to_module_mapping_fn: Callable[[Any, Any], Any]
    env_t: int
    env_t_started: int
    env_ts: dict[Hashable, list[int]]
    hanging: Hanging
    is_shown: bool
    journal: Journal | None
    len_lookback_buffers: int
    module_ids: dict[Hashable, Any]
    observation_space: Any
    singles: dict[Hashable, SingleAgentEpisode]
    stepped: tuple[Hashable, ...]

    SKIP_ENV_TS_TAG: ClassVar = "S"
    """Stands for environment steps at which an agent has no step of its own."""

    def be_empty(self, begin: int, end: int, lookback: int) -> None:
        """Have no agents, from one environment step to another."""
        self.env_t_started, self.env_t = begin, end
        self.len_lookback_buffers = lookback
        self.singles, self.env_ts = {}, {}
        self.hanging = Hanging()
        self.stepped = ()
        self.journal = None
        self.is_shown = False
        self.is_terminated = self.is_truncated = False
        self.start_time = self.last_step_time = None
        self.custom_data = {}

    def open_journal(self) -> None:
        """Begin to write steps down as they come, if all agents step together."""
        self.journal = None
        if not (self.is_shown or self.hanging.actions or self.hanging.rewards):
            self.journal = Journal.of(self.singles, self.stepped)

    def hand_out(self) -> None:
        """Give the agents' episodes the steps that are only written down so far."""
        if self.journal is not None and self.journal.rows:
            self.journal.hand_out(self.singles, self.env_ts, self.env_t, self.last_step_time)

    def last_row(self) -> dict[Hashable, Any] | None:
        """The last observations; None where an agent's are arrays."""
        journal = self.journal
        if journal is not None and journal.rows:
            return journal.last_observations()
        by_agent = {}
        for agent in self.stepped:
            data = self.singles[agent].observations.raw
            if type(data) is not list or not data:
                return None
            by_agent[agent] = data[-1]
        return by_agent

    @property
    def agent_episodes(self) -> dict[Hashable, SingleAgentEpisode]:
        """The agents' own episodes, in the order the agents appeared."""
        self.hand_out()
        # From here on somebody may hold them, so each step goes straight into them.
        self.is_shown = True
        self.journal = None
        return self.singles

    # Reading and writing

    def get_observations(
        self,
        indices: Indices = None,
        agent_ids: Collection[Hashable] | Hashable | None = None,
        *,
        env_steps: bool = True,
        neg_index_as_lookback: bool = False,
        fill: Nest = None,
        one_hot_discrete: bool = False,
        return_list: bool = False,
    ) -> Nest:
        """Observations at some steps, by agent.

        Args:
            indices: One step, a list of steps, a slice, or None for all of the episode.
            agent_ids: One agent or several; all by default.
            env_steps: Whether the steps are those of the environment instead of each agent's own.
            neg_index_as_lookback: Whether -1 is the last step of look-back instead of the last one.
            fill: Stands for steps at which an agent has nothing; without it they are left out.
            one_hot_discrete: Whether Discrete and MultiDiscrete parts come as one-hot vectors.
            return_list: Whether to return a list with one dict for each environment step.

        Returns:
            A dict of agents that have anything at these steps: one item, or many as a list (or as
            arrays once the episode is numpy). With `return_list` a list of dicts of items.

        Raises:
            EpisodeIndexError: A single step does not exist and there is no `fill`.
            EpisodeKeyError: There is no such agent.
        """
        is_last = type(indices) is int and indices == -1 and env_steps and not return_list
        if is_last and agent_ids is None and not (neg_index_as_lookback or one_hot_discrete):
            row = self.last_row() if fill is None else None
            if row is not None:
                return row
        how = (
            indices,
            agent_ids,
            env_steps,
            neg_index_as_lookback,
            fill,
            one_hot_discrete,
            return_list,
        )
        return read_column(self, "observations", how)

    def get_infos(
        self,
        indices: Indices = None,
        agent_ids: Collection[Hashable] | Hashable | None = None,
        *,
        env_steps: bool = True,
        neg_index_as_lookback: bool = False,
        fill: Nest = None,
        return_list: bool = False,
    ) -> Nest:
        """Infos at some steps, by agent; one with each observation."""
        how = indices, agent_ids, env_steps, neg_index_as_lookback, fill, False, return_list
        return read_column(self, "infos", how)

    def get_actions(
        self,
        indices: Indices = None,
        agent_ids: Collection[Hashable] | Hashable | None = None,
        *,
        env_steps: bool = True,
        neg_index_as_lookback: bool = False,
        fill: Nest = None,
        one_hot_discrete: bool = False,
        return_list: bool = False,
    ) -> Nest:
        """Actions at some steps, by agent; those that hang are among them."""
        how = (
            indices,
            agent_ids,
            env_steps,
            neg_index_as_lookback,
            fill,
            one_hot_discrete,
            return_list,
        )
        return read_column(self, "actions", how)

    def get_rewards(
        self,
        indices: Indices = None,
        agent_ids: Collection[Hashable] | Hashable | None = None,
        *,
        env_steps: bool = True,
        neg_index_as_lookback: bool = False,
        fill: float | None = None,
        return_list: bool = False,
    ) -> Nest:
        """Rewards at some steps, by agent; those that add up for an action that hangs too."""
        how = indices, agent_ids, env_steps, neg_index_as_lookback, fill, False, return_list
        return read_column(self, "rewards", how)

    def get_extra_model_outputs(
        self,
        key: str | None = None,
        indices: Indices = None,
        agent_ids: Collection[Hashable] | Hashable | None = None,
        *,
        env_steps: bool = True,
        neg_index_as_lookback: bool = False,
        fill: Nest = None,
        return_list: bool = False,
    ) -> Nest:
        """One of the modules' outputs besides actions, by agent; without a key all, by key.

        Raises:
            EpisodeKeyError: No agent has such an output.
        """
        how = indices, agent_ids, env_steps, neg_index_as_lookback, fill, False, return_list
        return read_outputs(self, key, how)

    @override
    def overwrite(
        self, name: str, key: str | None, new_data: Any, at_indices: Indices, neg: bool
    ) -> None:
        self.hand_out()
        for agent in new_data:
            if agent not in self.singles:
                raise EpisodeKeyError(
                    f"episode {self.id_} has no agent {agent!r}",
                    expected=f"one of {list(self.singles)}",
                    hint="an agent is part of an episode from its first observation on.",
                )
        columns = [self.singles[agent].column(name, key) for agent in new_data]
        for column, data in zip(columns, new_data.values(), strict=True):
            column.set(data, at_indices=at_indices, neg_index_as_lookback=neg)

    # What it is

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
    def is_numpy(self) -> bool:
        """Whether the agents' steps are arrays."""
        return any(single.is_numpy for single in self.singles.values())

    def __len__(self) -> int:
        return self.env_t - self.env_t_started

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

    def get_terminateds(self) -> dict[Hashable, bool]:
        """Return which agents are terminated, and under "__all__" whether the episode is.

        As in RLlib, this includes agents that were truncated in the step that ended the episode.
        Their own episodes are truncated only, so that values are bootstrapped.
        """
        flags = {
            agent: single.is_terminated
            or (self.is_terminated and single.is_truncated and self.env_ts[agent][-1] == self.env_t)
            for agent, single in self.singles.items()
        }
        return {**flags, ALL: self.is_terminated}

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
            count, times = single.observations.len_incl_lookback(), len(self.env_ts[agent])
            if count != times:
                raise EpisodeError(
                    f"episode {self.id_}: agent {agent!r} has observations of no step",
                    expected=f"{times} observations",
                    found=str(count),
                )

    def print(self) -> None:
        """Print a table of which agent observed at which step."""
        self.hand_out()
        names = {agent: visible(agent) for agent in self.singles}
        width = max(map(len, names.values()), default=2)
        steps = range(self.env_t_started, self.env_t + 1)
        print("ts".ljust(width), *(f"{step:<3}" for step in steps))
        for agent in self.singles:
            observed_at = set(self.env_ts[agent])
            print(
                names[agent].ljust(width),
                *("x  " if step in observed_at else "   " for step in steps),
            )
