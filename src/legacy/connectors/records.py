"""Records of many agents on their way through connectors that work on all of them at once.

A record an agent costs more to make than most connectors cost to run. While one connector after
the other works on all agents (`AgentConnector.transform_all`), whose the records are and what
they hold travel in two lists; records are made for connectors that want them, and at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import repeat
from operator import itemgetter
from typing import Any, Final

import numpy as np
from typing_extensions import Self

from ...core import nest
from ...core.arrays.batching import unbatch
from ...core.errors import SpaceError
from ...core.types import Array, Nest
from ..batches.sample_batch import SampleBatch
from ..batches.step_rows import stack_arrays
from .types import (
    ActionConnectorDataType,
    AgentConnectorDataType,
    AgentConnectorsOutput,
    PolicyOutputType,
)

_OBSERVATION: Final = itemgetter("new_obs")


class Records:
    """Records of many agents, in two lists.

    Args:
        slots: The (env_id, agent_id) of each.
        data: What each holds.
        observations: A batch of what stands for "new_obs" in `data`, None where that itself does.

    Example:
        >>> records = Records.of([AgentConnectorDataType("env", "agent", {"rewards": 1.0})])
        >>> records.with_data([{"rewards": 2.0}]).as_list()
        [AgentConnectorDataType('env', 'agent', {'rewards': 2.0})]
    """

    def __init__(
        self, slots: list[tuple[Any, Any]], data: list[Any], observations: Nest = None
    ) -> None:
        self.slots = slots
        self._data = data
        self._more: Sequence[Mapping[str, Any]] = ()
        self._observations = observations
        self._listed: list[Any] | None = None
        self._stacked: Array | None = None
        self._is_own = False
        self._list: list[AgentConnectorDataType] | None = None

    @classmethod
    def of(cls, records: Sequence[AgentConnectorDataType]) -> Self:
        """Records that somebody made; `as_list` hands these very ones out."""
        slots = [(record.env_id, record.agent_id) for record in records]
        made = cls(slots, [record.data for record in records])
        made._list = list(records)
        return made

    def __len__(self) -> int:
        return len(self.slots)

    @property
    def data(self) -> list[Any]:
        """What each holds."""
        observations = self._observations
        data = self.other_columns()
        if observations is not None:
            is_array = isinstance(observations, np.ndarray)
            rows: Any = observations if is_array else unbatch(observations)
            pairs = zip(data, rows, strict=True)
            self._data = data = [{**columns, "new_obs": row} for columns, row in pairs]
            self._observations = None
        return data

    def other_columns(self) -> list[Any]:
        """What each holds beside the observation: its "new_obs" may be an earlier one."""
        if self._more:
            pairs = zip(self._data, self._more, strict=True)
            self._data, self._more = [{**columns, **more} for columns, more in pairs], ()
        return self._data

    def column(self, name: str) -> list[Any]:
        """One of the other columns: the value of each.

        Raises:
            KeyError: A record lacks it.
        """
        value_of = itemgetter(name)
        if self._more:
            with suppress(KeyError):
                return list(map(value_of, self._more))
        return list(map(value_of, self.other_columns()))

    def observations(self) -> Nest:
        """The "new_obs" of each: a batch, where a connector left one, else a list.

        Raises:
            KeyError: A record has none.
            TypeError: A record holds something else than columns.
        """
        if self._observations is not None:
            return self._observations
        if self._listed is None:
            self._listed = list(map(_OBSERVATION, self._data))
        return self._listed

    def stacked(self) -> Array | None:
        """The same as one array; None where they are no arrays of one shape."""
        if self._observations is not None:
            return self._observations if isinstance(self._observations, np.ndarray) else None
        if self._stacked is None and set(map(type, self.observations())) == {np.ndarray}:
            with suppress(SpaceError):
                self._stacked = stack_arrays(self.observations())
        return self._stacked

    def has_plain_observations(self) -> bool:
        """Whether there is a "new_obs" in each record, and no "obs" beside it."""
        try:
            self.observations()
            return bool(self._data) and not any(["obs" in data for data in self._data])
        except (KeyError, TypeError):
            return False

    def with_data(self, data: list[Any]) -> Records:
        """Records of the same agents that hold something else."""
        return Records(self.slots, data)

    def with_observations(self, observations: Nest) -> Records:
        """The same records with other observations, `(len(self), ...)` a leaf."""
        made = self._twin()
        made._observations, made._listed, made._stacked = observations, None, None
        return made

    def with_columns(self, columns: Sequence[Mapping[str, Any]]) -> Records:
        """The same records with more columns for each.

        Raises:
            TypeError: They hold no columns.
        """
        if self._more or any(["new_obs" in more for more in columns]):
            pairs = zip(self.data, columns, strict=True)
            made = self.with_data([{**data, **more} for data, more in pairs])
        else:
            made = self._twin()
            # As they are now: whoever made them may change them before somebody looks.
            made._data, made._more = list(map(dict.copy, self._data)), columns
        made._is_own = True
        return made

    def _twin(self) -> Records:
        twin = Records(self.slots, self._data, self._observations)
        twin._more, twin._is_own = self._more, self._is_own
        twin._listed, twin._stacked = self._listed, self._stacked
        return twin

    def as_list(self) -> list[AgentConnectorDataType]:
        """One record an agent."""
        if self._list is None:
            pairs = zip(self.slots, self.data, strict=True)
            self._list = [AgentConnectorDataType(*slot, data) for slot, data in pairs]
        return self._list


class BuiltRecords(Records):
    """Records of which each is one row of the same columns: what the agent connectors end in.

    Args:
        records: The records with the columns as they came.
        columns: What the policy looks at, one row a record.
    """

    def __init__(self, records: Records, columns: dict[str, Any]) -> None:
        super().__init__(records.slots, records._data, records._observations)
        self._more = records._more
        self.columns = columns
        if not records._is_own:
            self.data  # noqa: B018  # now, for the same reason as in with_columns()

    @property
    def raw(self) -> list[dict[str, Any]]:
        """The columns of each as they came."""
        return self.data

    def as_list(self) -> list[AgentConnectorDataType]:
        """One record an agent, whose data is an `AgentConnectorsOutput`."""
        if self._list is None:
            made: list[AgentConnectorDataType] = []
            # Filled in place: constructors would cost more than all columns.
            new, append = object.__new__, made.append
            for row, slot in enumerate(self.slots):
                record = new(RowRecord)
                record.env_id, record.agent_id = slot
                record._row, record._built = row, self
                append(record)
            self._list = made
        return self._list


class RowRecord(AgentConnectorDataType):
    """A record whose output is made when somebody asks for it."""

    __slots__ = ("_built", "_output", "_row")

    _built: BuiltRecords
    _output: Any
    _row: int

    @property
    def data(self) -> Any:
        """The columns as they came, and the batch of one row: a view of that of all agents."""
        try:
            return self._output
        except AttributeError:
            rows = slice(self._row, self._row + 1)
            cut = {name: nest.taken(column, rows) for name, column in self._built.columns.items()}
            raw = self._built.raw[self._row]
            self._output = AgentConnectorsOutput(raw, SampleBatch.of(cut))
            return self._output

    @data.setter
    def data(self, data: Any) -> None:
        self._output = data


def answers_of(
    slots: Sequence[tuple[Any, Any]], asked: Sequence[Any], output: PolicyOutputType
) -> list[ActionConnectorDataType]:
    """What a policy answered for many agents, as one record an agent.

    Args:
        slots: The (env_id, agent_id) of each.
        asked: What the policy was asked with, for each.
        output: Actions, states and fetches, a leading batch axis on each leaf.
    """
    rows = zip(slots, asked, output_rows(output, len(slots)), strict=True)
    return [ActionConnectorDataType(*slot, raw, row) for slot, raw, row in rows]


def output_rows(output: PolicyOutputType, count: int) -> list[PolicyOutputType]:
    """What a policy answered for many agents, as one answer an agent.

    Example:
        >>> rows = output_rows((np.array([[3], [4]]), [], {"fair": np.array([[1], [0]])}), 2)
        >>> rows[1]
        (array([4]), [], {'fair': array([0])})
    """
    actions, states, fetches = output
    names = list(fetches)
    state_rows = zip(*states, strict=True) if states else repeat((), count)
    fetch_rows = zip(*fetches.values(), strict=True) if fetches else repeat((), count)
    rows = zip(_nest_rows(actions), state_rows, fetch_rows, strict=True)
    return [
        (action, list(state), dict(zip(names, values, strict=True)))
        for action, state, values in rows
    ]


def _nest_rows(values: Nest) -> Iterable[Any]:
    if isinstance(values, np.ndarray):
        return values
    leaves = zip(*nest.flatten(values), strict=True)
    return [nest.unflatten_as(values, row) for row in leaves]
