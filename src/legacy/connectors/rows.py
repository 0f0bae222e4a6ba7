"""One step of some agents as columns: what built-in connectors work on, be it one agent or many.

A connector that works on all agents together (`transform_all`) changes columns; records are made
for connectors that want them, and at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any, Final

import numpy as np
from typing_extensions import Self

from ...core import nest
from ...core.arrays.batching import batch as batch_items
from ...core.arrays.batching import unbatch
from ...core.types import Nest
from ..batches.sample_batch import SampleBatch
from ..batches.step_rows import stack_arrays
from .types import (
    ActionConnectorDataType,
    AgentConnectorDataType,
    AgentConnectorsOutput,
    PolicyOutputType,
)

ABSENT: Final = object()
"""Placeholder in a column for an agent without a value."""


class Rows:
    """The columns of some agents in one step; connectors change them in place.

    Args:
        slots: The (env_id, agent_id) of each.
        columns: By name: a list with a value for each, or a batch of them.

    Attributes:
        built: What the policy looks at, a row each, once that is built.

    Example:
        >>> rows = Rows.of([AgentConnectorDataType("env", "agent", {"rewards": 1.0})])
        >>> rows.set("rewards", [2.0])
        >>> rows.as_list()
        [AgentConnectorDataType('env', 'agent', {'rewards': 2.0})]
    """

    # Defaults live on the class, so that rows cost little more than their columns.
    built: dict[str, Any] | None = None
    _last: dict[str, Any] | None = None
    _batches: dict[str, Nest] | None = None
    _raw: list[dict[str, Any]] | None = None
    _records: list[AgentConnectorDataType] | None = None

    def __init__(self, slots: list[tuple[Any, Any]], columns: dict[str, Any]) -> None:
        self.slots = slots
        self.columns = columns

    @classmethod
    def of(cls, records: Sequence[AgentConnectorDataType]) -> Self | None:
        """Records as rows; None where they do not all hold the same columns, or there are none.

        As long as nothing changes, `as_list` hands these very records out.
        """
        if len(records) == 1:
            (record,) = records
            data = record.data
            if not isinstance(data, dict):
                return None
            rows = cls([(record.env_id, record.agent_id)], {k: [v] for k, v in data.items()})
        else:
            columns = _joined([record.data for record in records])
            if columns is None:
                return None
            rows = cls([(record.env_id, record.agent_id) for record in records], columns)
        rows._records = list(records)
        return rows

    @classmethod
    def asked(cls, slots: list[tuple[Any, Any]], raw: list[dict[str, Any]]) -> Self:
        """Rows of a step that is done with: whose they are, and the columns each came with."""
        rows = cls(slots, {})
        rows._raw = raw
        return rows

    def __len__(self) -> int:
        return len(self.slots)

    def __contains__(self, name: str) -> bool:
        return name in self.columns or (self._last is not None and name in self._last)

    def column(self, name: str) -> Any:
        """A column, as a list or a batch; None where there is none."""
        last = self._last
        return last[name] if last is not None and name in last else self.columns.get(name)

    def entries(self, name: str) -> Sequence[Any]:
        """A column with one value for each agent."""
        column = self.column(name)
        is_plain = isinstance(column, (list, np.ndarray))
        entries: Any = column if is_plain else unbatch(column)
        return entries  # type: ignore[no-any-return]  # arrays are no sequences to mypy

    def batch(self, name: str) -> Nest:
        """A column as one batch."""
        column = self.column(name)
        if type(column) is not list:
            return column
        if self._batches is None:
            self._batches = {}
        elif name in self._batches:
            return self._batches[name]
        stack = self._batches[name] = stacked(column)
        return stack

    def set(self, name: str, column: Any) -> None:
        """Let a column be another: a list, or a batch."""
        self._settle()
        self.columns[name] = column
        self._records = None
        if self._batches:
            self._batches.pop(name, None)

    def update(self, columns: dict[str, Any]) -> None:
        """Let several columns be others; they are not changed while the rows live."""
        self._settle()
        self._last = columns
        self._records = None
        if self._batches:
            for name in columns:
                self._batches.pop(name, None)

    def rename(self, slots: list[tuple[Any, Any]]) -> None:
        """Rename the agents."""
        self.slots = slots
        self._records = None

    def _settle(self) -> None:
        if self._last is not None:
            self.columns.update(self._last)
            self._last = None

    def only(self, row: int) -> Rows:
        """One of the rows."""
        self._settle()
        columns = {name: [self.entries(name)[row]] for name in self.columns}
        return Rows([self.slots[row]], columns)

    def raw(self) -> list[dict[str, Any]]:
        """The columns of each agent as a dict."""
        if self._raw is None:
            self._settle()
            if len(self.slots) == 1:
                first = {
                    name: column[0] if type(column) is list else nest.taken(column, 0)
                    for name, column in self.columns.items()
                }
                rows: Iterable[dict[str, Any]] = [first]
            elif self.columns:
                values = zip(*map(self.entries, self.columns), strict=True)
                rows = [dict(zip(self.columns, row, strict=True)) for row in values]
            else:
                rows = [{} for _ in self.slots]
            self._raw = [
                {name: value for name, value in row.items() if value is not ABSENT} for row in rows
            ]
        return self._raw

    def build(self, columns: dict[str, Any]) -> None:
        """Take what the policy looks at; the other columns stay as they came."""
        self.built = columns
        self._records = None

    def as_list(self) -> list[AgentConnectorDataType]:
        """One record an agent, whose data is an `AgentConnectorsOutput` once that is built."""
        if self._records is None:
            if self.built is None:
                pairs = zip(self.slots, self.raw(), strict=True)
                self._records = [AgentConnectorDataType(*slot, data) for slot, data in pairs]
                self._raw = None  # records are mutable
            else:
                # Filled in place: constructors would cost more than all columns.
                self._records = []
                new, append = object.__new__, self._records.append
                for row, slot in enumerate(self.slots):
                    record = new(RowRecord)
                    record.env_id, record.agent_id = slot
                    record._row, record._rows = row, self
                    append(record)
        return self._records


class RowRecord(AgentConnectorDataType):
    """A record whose output is made when somebody asks for it."""

    __slots__ = ("_output", "_row", "_rows")

    _output: Any
    _row: int
    _rows: Rows

    @property
    def data(self) -> Any:
        """The columns as they came, and the batch of one row: a view of that of all agents."""
        try:
            return self._output
        except AttributeError:
            rows = slice(self._row, self._row + 1)
            built = self._rows.built or {}
            cut = {name: nest.taken(column, rows) for name, column in built.items()}
            self._output = AgentConnectorsOutput(self._rows.raw()[self._row], SampleBatch.of(cut))
            return self._output

    @data.setter
    def data(self, data: Any) -> None:
        self._output = data


def stacked(values: list[Any]) -> Nest:
    """Values of one form as a batch."""
    if type(values[0]) is np.ndarray:
        if len(values) == 1:
            return values[0][np.newaxis]
        return stack_arrays(values)
    return batch_items(values)


def answers_of(
    slots: Sequence[tuple[Any, Any]], records: Sequence[Any], output: PolicyOutputType
) -> list[ActionConnectorDataType]:
    """Return the policy's outputs for a batch, as one record per agent."""
    rows = zip(slots, records, output_rows(output, len(slots)), strict=True)
    return [ActionConnectorDataType(*slot, raw, row) for slot, raw, row in rows]


def output_rows(output: PolicyOutputType, count: int) -> list[PolicyOutputType]:
    """Return the policy's outputs for a batch, as one output per agent.

    Example:
        >>> rows = output_rows((np.array([[3], [4]]), [], {"fair": np.array([[1], [0]])}), 2)
        >>> rows[1]
        (array([4]), [], {'fair': array([0])})
    """
    actions, states, fetches = output
    if count == 1:
        named = {name: part[0] for name, part in fetches.items()}
        return [(nest.taken(actions, 0), [part[0] for part in states], named)]
    state_rows = zip(*states, strict=True) if states else [()] * count
    fetch_rows = zip(*fetches.values(), strict=True) if fetches else [()] * count
    rows = zip(_nest_rows(actions), state_rows, fetch_rows, strict=True)
    return [
        (action, list(state), dict(zip(fetches, values, strict=True)))
        for action, state, values in rows
    ]


def _nest_rows(values: Nest) -> Iterable[Any]:
    if isinstance(values, np.ndarray):
        return values
    leaves = zip(*nest.flatten(values), strict=True)
    return [nest.unflatten_as(values, row) for row in leaves]


def _joined(data: Sequence[Any]) -> dict[str, Any] | None:
    """The columns of dicts of the same keys; None of others."""
    kinds = set(map(type, data))
    if kinds != {dict} and not (kinds and all([issubclass(kind, dict) for kind in kinds])):
        return None
    names = list(data[0])
    if not names or set(map(len, data)) != {len(names)}:
        return None
    try:
        return {name: [*map(itemgetter(name), data)] for name in names}
    except KeyError:
        return None
