"""Records of many agents on their way through connectors that work on all of them at once.

A record an agent costs more to make than most connectors cost to run. While one connector after
the other works on all agents (`AgentConnector.transform_all`), whose the records are and what
they hold travel in two lists; records are made for connectors that want them, and at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

import numpy as np
from typing_extensions import Self

from ..core import nest
from ..core.types import Nest
from .sample_batch import SampleBatch
from .types import (
    ActionConnectorDataType,
    AgentConnectorDataType,
    AgentConnectorsOutput,
    PolicyOutputType,
)


class Records:
    """Records of many agents, in two lists.

    Attributes:
        slots: The (env_id, agent_id) of each.
        data: What each holds.

    Example:
        >>> records = Records.of([AgentConnectorDataType("env", "agent", {"rewards": 1.0})])
        >>> records.with_data([{"rewards": 2.0}]).as_list()
        [AgentConnectorDataType('env', 'agent', {'rewards': 2.0})]
    """

    def __init__(self, slots: list[tuple[Any, Any]], data: list[Any]) -> None:
        self.slots = slots
        self.data = data
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

    def with_data(self, data: list[Any]) -> Records:
        """Records of the same agents that hold something else."""
        return Records(self.slots, data)

    def as_list(self) -> list[AgentConnectorDataType]:
        """One record an agent."""
        if self._list is None:
            pairs = zip(self.slots, self.data, strict=True)
            self._list = [AgentConnectorDataType(*slot, data) for slot, data in pairs]
        return self._list


class BuiltRecords(Records):
    """Records of which each is one row of the same columns: what the agent connectors end in.

    Args:
        slots: The (env_id, agent_id) of each.
        raw: The columns of each as they came.
        columns: What the policy looks at, one row a record.
    """

    def __init__(
        self, slots: list[tuple[Any, Any]], raw: list[dict[str, Any]], columns: dict[str, Any]
    ) -> None:
        super().__init__(slots, raw)
        self.raw = raw
        self.columns = columns

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
            cut = {name: _cut(column, rows) for name, column in self._built.columns.items()}
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
        >>> output_rows((np.array([3, 4]), [], {"vf_preds": np.array([0.5, 0.25])}), 2)[1]
        (np.int64(4), [], {'vf_preds': np.float64(0.25)})
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


def _cut(column: Any, rows: slice) -> Any:
    if isinstance(column, np.ndarray):
        return column[rows]
    return nest.map_structure(lambda leaf: leaf[rows], column)
