"""How items of many agents are found: by environment steps, by agents' own, with what hangs.

An agent's item belongs to the environment step at which the agent observed; its action, reward and
outputs to the step at which it observed before. What hangs (an action that no observation answered
yet, and its reward so far) is read like what is complete.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Hashable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ...core import nest
from ...core.errors import EpisodeError
from . import column_items as items
from .errors import EpisodeKeyError
from .hanging import MISSING
from .indexing import Indices, as_step, clipped, is_single, out_of_range, position_of, positions_of
from .look_back_gap import without_gap
from .lookback_buffer import InfiniteLookbackBuffer

if TYPE_CHECKING:
    from .agent_columns import AgentColumns


How: TypeAlias = tuple[Indices, Any, bool, bool, Any, bool, bool]
"""What is read of a column: the arguments of `AgentColumns.get_observations`, in order."""


def read_column(episode: AgentColumns, what: str, how: How, key: str | None = None) -> Any:
    """One column of several agents; see `AgentColumns.get_observations`.

    Args:
        episode: The episode.
        what: The column: "observations", "infos", "actions", "rewards", "extra_model_outputs".
        how: Which of it, and in which form.
        key: The extra model output, where the column is one.
    """
    indices, agent_ids, env_steps, neg, fill, one_hot_discrete, return_list = how
    episode.hand_out()
    columns = [
        _Column(episode, agent, what, key, fill, one_hot_discrete)
        for agent in _named(episode, agent_ids)
    ]
    if env_steps:
        return _by_env_steps(episode, columns, what, indices, neg, fill, return_list)
    if return_list:
        raise EpisodeError(
            "return_list=True goes together with env_steps=True only",
            found="env_steps=False",
            hint="agents' own steps do not line up; ask for env_steps=True.",
        )
    by_agent = {}
    for column in columns:
        buffer = column.buffer if indices is None else column.with_hanging()
        if buffer is not None:
            values = buffer.read(indices, neg, fill, one_hot_discrete)
            if is_single(indices) or items.length_of(values):
                by_agent[column.agent] = values
    return by_agent


def _by_env_steps(
    episode: AgentColumns,
    columns: Sequence[_Column],
    what: str,
    indices: Indices,
    neg: bool,
    fill: Any,
    return_list: bool,
) -> Any:
    lookback = episode.len_lookback_buffers
    length = len(episode) + (what in ("observations", "infos"))
    total, first = lookback + length, episode.env_t_started - lookback
    is_one = is_single(indices)
    if is_one and return_list:
        raise EpisodeError(
            "return_list=True needs several steps",
            expected="a list of ints, a slice or None",
            found=f"indices={indices}",
        )
    places: Sequence[int]
    if indices is None or isinstance(indices, slice):
        steps = slice(None) if indices is None else indices
        start, stop, stride = positions_of(steps, length, lookback, neg)
        places = range(start, stop, stride)
        if fill is None and not return_list:
            places = clipped(start, stop, stride, total)
            if stride == 1:
                span = first + places.start, first + max(places.start, places.stop)
                spans = [(column.agent, column.span(*span)) for column in columns]
                return {agent: rows for agent, rows in spans if items.length_of(rows)}
    else:
        asked: Any = [indices] if is_one else indices
        places = [position_of(as_step(step), length, lookback, neg) for step in asked]
        if fill is None and not return_list:
            for step, place in zip(asked, places, strict=True):
                if not 0 <= place < total:
                    raise out_of_range("environment step", step, length, lookback)
    env_ts = [first + place if 0 <= place < total else None for place in places]
    if return_list:
        by_step: list[dict[Hashable, Any]] = [{} for _ in env_ts]
        for column in columns:
            for row, env_t in zip(by_step, env_ts, strict=True):
                for value in column.values([env_t]):
                    row[column.agent] = value
        return by_step
    by_agent = {}
    for column in columns:
        values = column.values(env_ts)
        if values:
            is_array = column.buffer is not None and column.buffer.finalized
            many = items.stacked(values) if is_array and not is_one else values
            by_agent[column.agent] = values[0] if is_one else many
    return by_agent


def _named(episode: AgentColumns, agent_ids: Any) -> Sequence[Hashable]:
    if agent_ids is None:
        return list(episode.singles)
    if isinstance(agent_ids, Hashable) and agent_ids in episode.singles:
        return [agent_ids]
    if isinstance(agent_ids, str) or not isinstance(agent_ids, Collection):
        agent_ids = [agent_ids]
    elif isinstance(agent_ids, (set, frozenset)):
        return [agent for agent in episode.singles if agent in agent_ids]
    # An agent that has not come yet has no data, which is no mistake of who asks.
    return [agent for agent in agent_ids if agent in episode.singles]


class _Column:
    """One agent's items of a column, with what hangs.

    Attributes:
        buffer: None where the agent never had the output.
        times: The environment steps of the items.
    """

    __slots__ = ("agent", "buffer", "episode", "fill", "key", "one_hot", "times", "what")

    def __init__(
        self,
        episode: AgentColumns,
        agent: Hashable,
        what: str,
        key: str | None,
        fill: Any,
        one_hot: bool,
    ) -> None:
        self.episode, self.agent, self.what, self.key = episode, agent, what, key
        self.fill, self.one_hot = fill, one_hot
        self.times = episode.env_ts[agent]
        single = episode.singles[agent]
        self.buffer: InfiniteLookbackBuffer | None
        if key is None:
            self.buffer = single.column(what)
        else:
            self.buffer = single.extra_model_outputs.get(key)
            if self.buffer is None and self._hanging() is not MISSING:
                self.buffer = InfiniteLookbackBuffer(lookback=single.actions.lookback)

    def _hanging(self) -> Any:
        return self.episode.hanging.item(self.agent, self.what, self.key)

    def with_hanging(self) -> InfiniteLookbackBuffer | None:
        """The items, and behind them the one that hangs."""
        column, hanging = self.buffer, self._hanging()
        if column is None or hanging is MISSING:
            return column
        rows, is_array = column.rows(0, None), column.finalized
        longer = nest.joined([rows, items.stacked([hanging])]) if is_array else [*rows, hanging]
        return column.of_parts(longer, column.lookback, column.space, is_array, False)

    def span(self, start: int, stop: int) -> Any:
        """The items from one environment step to another, without gaps."""
        column, episode = self.buffer, self.episode
        if column is None:
            return []
        first, end = bisect_left(self.times, start), bisect_left(self.times, stop)
        total = column.len_incl_lookback()
        if first <= total < end:
            column = self.with_hanging() or column
        elif (
            not len(episode)
            and self.what not in ("observations", "infos")
            and self.agent not in episode.hanging.actions
        ):
            single = episode.singles[self.agent]
            first_step = single.t_started - single.observations.lookback
            column = without_gap(column, first_step, first, end)
            end -= column.len_incl_lookback() < total
        if self.one_hot:
            lookback = column.lookback
            return column.read(slice(first - lookback, end - lookback), True, None, True)
        return column.rows(first, end)

    def values(self, wanted: Sequence[int | None]) -> list[Any]:
        """The items at environment steps, filled or left out where there is none."""
        column, times, fill = self.buffer, self.times, self.fill
        if column is None:
            return [fill for _ in wanted] if fill is not None else []
        total = column.len_incl_lookback()
        outputs = []
        for env_t in wanted:
            value = MISSING
            if env_t is not None:
                place = bisect_left(times, env_t)
                if place < len(times) and times[place] == env_t:
                    value = column.item_at(place) if place < total else self._hanging()
            if value is not MISSING:
                outputs.append(items.one_hot(value, column.space) if self.one_hot else value)
            elif fill is not None:
                outputs.append(items.filled_item(fill, column.space, self.one_hot))
        return outputs


def read_outputs(episode: AgentColumns, key: str | None, how: How) -> Any:
    """One of the modules' outputs besides actions, by agent; without a key all, by key.

    Args:
        episode: The episode.
        key: The output.
        how: Which of it, and in which form.
    """
    episode.hand_out()
    keys: dict[str, None] = {}
    for agent, single in episode.singles.items():
        keys |= dict.fromkeys(single.extra_model_outputs)
        keys |= dict.fromkeys(episode.hanging.outputs.get(agent) or ())
    if key is not None:
        if key not in keys:
            raise EpisodeKeyError(
                f"episode {episode.id_} has no extra model output {key!r}",
                expected=f"one of {sorted(map(str, keys))}",
                hint="modules write outputs by returning them from their forward methods.",
            )
        return read_column(episode, "extra_model_outputs", how, key)
    by_step = how[-1]
    by_step_and_agent: list[dict[Hashable, dict[str, Any]]] = [] if by_step else [{}]
    for name in keys:
        read = read_column(episode, "extra_model_outputs", how, name)
        rows = read if by_step else [read]
        by_step_and_agent = by_step_and_agent or [{} for _ in rows]
        for target, row in zip(by_step_and_agent, rows, strict=True):
            for agent, value in row.items():
                target.setdefault(agent, {})[name] = value
    return by_step_and_agent if by_step else by_step_and_agent[0]
