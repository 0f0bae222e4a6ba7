"""How items of many agents are found: by environment steps, by agents' own, with what hangs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any

from ...core import nest
from ...core.errors import EpisodeError
from . import column_items as items
from .errors import EpisodeKeyError
from .hanging import MISSING, Hanging
from .indexing import (
    Indices,
    as_step,
    clipped,
    is_single,
    out_of_range,
    position_of,
    positions_of,
)
from .journal import Journal
from .look_back_gap import without_gap
from .lookback_buffer import InfiniteLookbackBuffer
from .single_agent import SingleAgentEpisode


class AgentReading:
    """What the getters of `MultiAgentEpisode` are made of.

    An agent's item belongs to the environment step at which the agent observed; its action, reward
    and outputs to the step at which it observed before. What hangs (an action that no observation
    answered yet, and its reward so far) is read like what is complete.

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
    id_: str
    is_shown: bool
    is_terminated: bool
    is_truncated: bool
    journal: Journal | None
    last_step_time: float | None
    len_lookback_buffers: int
    module_ids: dict[Hashable, Any]
    observation_space: Any
    singles: dict[Hashable, SingleAgentEpisode]
    start_time: float | None
    stepped: tuple[Hashable, ...]

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
        found = {}
        for agent in self.stepped:
            data = self.singles[agent].observations.raw
            if type(data) is not list or not data:
                return None
            found[agent] = data[-1]
        return found

    def _knows(self, agent: Hashable) -> bool:
        if agent in self.singles:
            return True
        raise EpisodeKeyError(
            f"episode {self.id_} has no agent {agent!r}",
            expected=f"one of {list(self.singles)}",
            hint="an agent is part of an episode from its first observation on.",
        )

    def _get(
        self,
        what: str,
        indices: Indices,
        agent_ids: Any,
        env_steps: bool,
        neg: bool,
        fill: Any,
        one_hot_discrete: bool,
        return_list: bool,
        key: str | None = None,
    ) -> Any:
        self.hand_out()
        agents = self._named(agent_ids)
        if env_steps:
            return self._by_env_steps(
                what, indices, agents, neg, fill, one_hot_discrete, return_list, key
            )
        if return_list:
            raise EpisodeError(
                "return_list=True goes together with env_steps=True only",
                found="env_steps=False",
                hint="agents' own steps do not line up; ask for env_steps=True.",
            )
        found = {}
        for agent in agents:
            column = self._column(agent, what, key)
            if column is None:
                continue
            if indices is not None:
                column = self._with_hanging(column, agent, what, key)
            values = column.read(indices, neg, fill, one_hot_discrete)
            if is_single(indices) or items_in(values):
                found[agent] = values
        return found

    def _by_env_steps(
        self,
        what: str,
        indices: Indices,
        agents: Sequence[Hashable],
        neg: bool,
        fill: Any,
        one_hot_discrete: bool,
        return_list: bool,
        key: str | None,
    ) -> Any:
        lookback = self.len_lookback_buffers
        length = self.env_t - self.env_t_started + (what in ("observations", "infos"))
        total = lookback + length
        first = self.env_t_started - lookback
        if is_single(indices):
            if return_list:
                raise EpisodeError(
                    "return_list=True needs several steps",
                    expected="a list of ints, a slice or None",
                    found=f"indices={indices}",
                )
            place = position_of(as_step(indices), length, lookback, neg)
            if fill is None and not 0 <= place < total:
                raise out_of_range("environment step", indices, length, lookback)
            wanted: list[int | None] = [first + place if 0 <= place < total else None]
            return {
                agent: values[0]
                for agent in agents
                if (values := self._values(agent, what, key, wanted, fill, one_hot_discrete))
            }
        if indices is None or isinstance(indices, slice):
            start, stop, stride = positions_of(
                slice(None) if indices is None else indices, length, lookback, neg
            )
            if fill is None and not return_list:
                places = clipped(start, stop, stride, total)
                if stride == 1:
                    span = first + places.start, first + max(places.start, places.stop)
                    return {
                        agent: rows
                        for agent in agents
                        if items_in(rows := self._span(agent, what, key, *span, one_hot_discrete))
                    }
                wanted = [first + place for place in places]
            else:
                wanted = [
                    first + place if 0 <= place < total else None
                    for place in range(start, stop, stride)
                ]
        else:
            places_of = [position_of(as_step(step), length, lookback, neg) for step in indices]  # type: ignore[union-attr]  # ints are done
            wanted = [first + place if 0 <= place < total else None for place in places_of]
            if None in wanted and fill is None and not return_list:
                step = list(indices)[wanted.index(None)]  # type: ignore[arg-type]
                raise out_of_range("environment step", step, length, lookback)
        if return_list:
            by_step: list[dict[Hashable, Any]] = [{} for _ in wanted]
            for agent in agents:
                for row, env_t in zip(by_step, wanted, strict=True):
                    value = self._values(agent, what, key, [env_t], fill, one_hot_discrete)
                    if value:
                        row[agent] = value[0]
            return by_step
        found = {}
        for agent in agents:
            values = self._values(agent, what, key, wanted, fill, one_hot_discrete)
            if values:
                column = self._column(agent, what, key)
                is_array = column is not None and column.finalized
                found[agent] = items.stacked(values) if is_array else values
        return found

    def _named(self, agent_ids: Any) -> Sequence[Hashable]:
        if agent_ids is None:
            return list(self.singles)
        if isinstance(agent_ids, Hashable) and agent_ids in self.singles:
            return [agent_ids]
        if isinstance(agent_ids, str) or not isinstance(agent_ids, Collection):
            agent_ids = [agent_ids]
        elif isinstance(agent_ids, (set, frozenset)):
            return [agent for agent in self.singles if agent in agent_ids]
        # An agent that has not come yet has no data, which is no mistake of who asks.
        return [agent for agent in agent_ids if agent in self.singles]

    def _column(self, agent: Hashable, what: str, key: str | None) -> InfiniteLookbackBuffer | None:
        """The buffer of one agent; None where it never had the output."""
        episode = self.singles[agent]
        if what != "extra_model_outputs":
            column: InfiniteLookbackBuffer = getattr(episode, what)
            return column
        hanging = self.hanging.outputs.get(agent)
        found = episode.extra_model_outputs.get(str(key))
        if found is None and hanging and key in hanging:
            return InfiniteLookbackBuffer(lookback=episode.actions.lookback)
        return found

    def _with_hanging(
        self, column: InfiniteLookbackBuffer, agent: Hashable, what: str, key: str | None
    ) -> InfiniteLookbackBuffer:
        hanging = self.hanging.item(agent, what, key)
        if hanging is MISSING:
            return column
        rows = column.rows(0, None)
        if column.finalized:
            longer = nest.joined([rows, items.stacked([hanging])])
        else:
            longer = [*rows, hanging]
        return InfiniteLookbackBuffer.of_parts(
            longer, column.lookback, column.space, column.finalized, False
        )

    def _span(
        self,
        agent: Hashable,
        what: str,
        key: str | None,
        start: int,
        stop: int,
        one_hot_discrete: bool,
    ) -> Any:
        """An agent's items from one environment time to another, without gaps."""
        column = self._column(agent, what, key)
        if column is None:
            return []
        times = self.env_ts[agent]
        first, end = bisect_left(times, start), bisect_left(times, stop)
        total = column.len_incl_lookback()
        if first <= total < end:
            column = self._with_hanging(column, agent, what, key)
        elif (
            self.env_t == self.env_t_started
            and what not in ("observations", "infos")
            and agent not in self.hanging.actions
        ):
            single = self.singles[agent]
            first_step = single.t_started - single.observations.lookback
            column = without_gap(column, first_step, first, end)
            end -= column.len_incl_lookback() < total
        if one_hot_discrete:
            lookback = column.lookback
            return column.read(slice(first - lookback, end - lookback), True, None, True)
        return column.rows(first, end)

    def _values(
        self,
        agent: Hashable,
        what: str,
        key: str | None,
        wanted: Sequence[int | None],
        fill: Any,
        one_hot_discrete: bool,
    ) -> list[Any]:
        """An agent's items at environment times, filled or left out where there is none."""
        column = self._column(agent, what, key)
        if column is None:
            return [fill for _ in wanted] if fill is not None else []
        times = self.env_ts[agent]
        total = column.len_incl_lookback()
        values = []
        for env_t in wanted:
            value = MISSING
            if env_t is not None:
                place = bisect_left(times, env_t)
                if place < len(times) and times[place] == env_t:
                    if place < total:
                        value = column.read(place - column.lookback, True, None, False)
                    elif place == total:
                        value = self.hanging.item(agent, what, key)
            if value is not MISSING:
                values.append(column.encoded_one(value, one_hot_discrete))
            elif fill is not None:
                values.append(column.fill_item(fill, one_hot_discrete))
        return values


def items_in(values: Any) -> int:
    """How many items a list or a column holds."""
    return len(values) if isinstance(values, list) else items.length_of(values)
