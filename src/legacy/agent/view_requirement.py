"""Build the columns a policy looks at, out of what each agent saw and did before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...core import nest
from ...core.errors import PieceError
from ..connector import AgentConnector
from ..context import ConnectorContext
from ..sample_batch import SampleBatch
from ..types import AgentConnectorDataType, AgentConnectorsOutput
from ..view_builder import ViewBuilder
from ..views import ViewPlan

_ONE: Final = np.ones(1, np.int64)


class RecordList(list[AgentConnectorDataType]):
    """Records of many agents, beside their batches as one.

    Attributes:
        columns: The columns of all sample batches, one row a record; who asks the policy for all
            agents together need not stack them again.
    """

    columns: dict[str, Any]


class RowOutput(AgentConnectorsOutput):
    """An output whose batch is cut out of that of all agents when somebody asks for it."""

    __slots__ = ("_batch", "_columns", "_row")

    _columns: dict[str, Any]
    _row: int
    _batch: SampleBatch

    @property
    def sample_batch(self) -> SampleBatch:
        """One row, ready for the policy; a view of the batch of all agents."""
        try:
            return self._batch
        except AttributeError:
            rows = slice(self._row, self._row + 1)
            self._batch = SampleBatch.of(
                {name: _cut(column, rows) for name, column in self._columns.items()}
            )
            return self._batch

    @sample_batch.setter
    def sample_batch(self, batch: SampleBatch) -> None:
        self._batch = batch


class ViewRequirementAgentConnector(AgentConnector):
    """Turn the record of each agent into the batch of one row that the policy acts on.

    What an agent saw and did is kept per environment and agent, as far back as some view looks.
    The first record after `reset` starts a history. A list of records is worked on as one batch.

    Example:
        >>> from rlconnect.legacy.views import ViewRequirement
        >>> views = {"obs": ViewRequirement(), "last": ViewRequirement("rewards", shift=-1)}
        >>> connector = ViewRequirementAgentConnector(ConnectorContext(view_requirements=views))
        >>> record = AgentConnectorDataType("env", "agent", {"new_obs": 3.0, "rewards": 2.0})
        >>> for _ in range(2):
        ...     batch = connector([record])[0].data.sample_batch
        >>> batch["obs"], batch["last"]
        (array([3.], dtype=float32), array([2.], dtype=float32))
    """

    _builder: ViewBuilder | None = None

    def bind(self, ctx: ConnectorContext) -> None:
        """Take `ctx`; its views are planned at the first record."""
        super().bind(ctx)
        self._builder = None

    def reset(self, env_id: Any) -> None:
        """Forget all agents of `env_id`."""
        if self._builder is not None:
            self._builder.reset(env_id)

    def __call__(self, acd_list: Sequence[AgentConnectorDataType]) -> list[AgentConnectorDataType]:
        """Build the batch of every agent, one column at a time for all of them."""
        records = self.checked_list(acd_list)
        if len(records) == 1:
            return [self.transform(records[0])]
        builder = self._builder or self._make_builder()
        try:
            observations = [record.data["new_obs"] for record in records]
        except (KeyError, TypeError):
            for record in records:
                _check(record)
            raise
        slots = builder.slots_of(records)
        if None not in slots and len(set(slots)) == len(slots):
            return self._build(builder, records, observations, slots) if records else []
        if len({(record.env_id, record.agent_id) for record in records}) < len(records):
            return [self.transform(record) for record in records]  # one agent twice: in order
        if not any(slots):
            return self._build(builder, records, observations, None)
        made: list[Any] = [None] * len(records)
        starting = [place for place, slot in enumerate(slots) if slot is None]
        going = [place for place, slot in enumerate(slots) if slot is not None]
        for places, known in ((starting, None), (going, [slots[place] for place in going])):
            chosen = [records[place] for place in places]
            seen = [observations[place] for place in places]
            part = self._build(builder, chosen, seen, known)
            for place, record in zip(places, part, strict=True):
                made[place] = record
        return made

    def transform(self, ac_data: AgentConnectorDataType) -> AgentConnectorDataType:
        """Build the batch of one agent."""
        _check(ac_data)
        columns = (self._builder or self._make_builder()).build_one(ac_data)
        if self._is_recurrent:
            columns["seq_lens"] = _ONE.copy()
        output = AgentConnectorsOutput(ac_data.data, SampleBatch.of(columns))
        return AgentConnectorDataType(ac_data.env_id, ac_data.agent_id, output)

    def episode(self, env_id: Any, agent_id: Any) -> Any:
        """What stands for an agent's running episode, another object after each reset."""
        if self._builder is None:
            return None
        return self._builder.slots_of([AgentConnectorDataType(env_id, agent_id, None)])[0]

    def to_state(self) -> tuple[str, Any]:
        """Its name; views come from the context, and histories do not outlive a process."""
        return "ViewRequirementAgentConnector", None

    @staticmethod
    def from_state(ctx: ConnectorContext, params: Any) -> ViewRequirementAgentConnector:
        """A connector for the views of `ctx`."""
        return ViewRequirementAgentConnector(ctx)

    def _make_builder(self) -> ViewBuilder:
        ctx = self.ctx
        if ctx.view_requirements is None:
            raise PieceError(
                "ViewRequirementAgentConnector needs to know what the policy looks at.",
                hint="give the context view_requirements, or take ConnectorContext.from_policy().",
            )
        flattens = not ctx.setting("_disable_action_flattening", False)
        # A policy of an RLModule lists every column as needed to act, and reads "obs" only.
        is_lenient = ctx.setting("_enable_rl_module_api") or ctx.setting(
            "enable_rl_module_and_learner"
        )
        plan = ViewPlan.for_inference(
            ctx.view_requirements, ctx.initial_states, flatten_actions=flattens
        )
        self._is_recurrent = ctx.is_policy_recurrent
        self._builder = ViewBuilder(plan, flatten_actions=flattens, fill_missing=bool(is_lenient))
        return self._builder

    def _build(
        self,
        builder: ViewBuilder,
        records: Sequence[AgentConnectorDataType],
        observations: list[Any],
        known: Sequence[Any] | None,
    ) -> list[AgentConnectorDataType]:
        columns = builder.build_many(records, observations, known)
        if self._is_recurrent:
            columns["seq_lens"] = np.ones(len(records), np.int64)
        made = RecordList()
        # Objects are filled in place here: their constructors would cost more than all columns.
        new = object.__new__
        for row, record in enumerate(records):
            output = new(RowOutput)
            output.raw_dict = record.data
            output._columns = columns
            output._row = row
            built = new(AgentConnectorDataType)
            built.env_id = record.env_id
            built.agent_id = record.agent_id
            built.data = output
            made.append(built)
        made.columns = columns
        return made


def _cut(column: Any, rows: slice) -> Any:
    if isinstance(column, np.ndarray):
        return column[rows]
    return nest.map_structure(lambda leaf: leaf[rows], column)


def _check(record: AgentConnectorDataType) -> None:
    data = record.data
    if not isinstance(data, dict):
        raise PieceError(
            "ViewRequirementAgentConnector cannot read this record",
            expected="a dict of columns",
            found=type(data).__name__,
        )
    if "new_obs" not in data:
        raise PieceError(
            "a record has no observation",
            expected="a column 'new_obs'",
            found=f"columns {list(data)}",
        )
