"""Build the columns of a policy's view requirements from the history of each agent.

History is stored per environment and agent, as far back as some view looks. Views of the newest
value need no history; longer views share a `HistoryStore`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from ....core import nest
from ....core.errors import PieceError
from ....core.formulas.actions import flatten_to_single_ndarray
from ....core.step.part import Contribution
from ....core.step.recall import Column, Look
from ....core.types import Array, Nest
from ...batches.sample_batch import SampleBatch
from ...batches.step_rows import joined_batches, narrowed, stack_objects, stack_rows, to_row
from ...views.history import HistoryStore, Slot
from ...views.views import View, ViewPlan
from ..connector import FromContext
from ..context import ConnectorContext
from ..rows import ABSENT, Rows
from ..types import AgentConnectorsOutput
from .columns import ColumnsAgentConnector

_NONE: Final = np.zeros(0, np.intp)
_ONE: Final = np.ones(1, np.int64)
_NESTED: Final = (dict, tuple, list)


class ViewBuilder:
    """Builds the columns of a plan and keeps the histories they need.

    `fill_missing` takes zeros where a record lacks a column that a view reads, instead of refusing
    the record. For a policy that `is_recurrent` each row is a sequence, of one step.
    """

    def __init__(
        self,
        plan: ViewPlan,
        *,
        flatten_actions: bool = True,
        fill_missing: bool = False,
        is_recurrent: bool = False,
    ) -> None:
        self.plan: Final = plan
        self._flattens = flatten_actions
        self._fills_missing = fill_missing
        self._is_recurrent = is_recurrent
        self._store = HistoryStore(plan.depth) if plan.depth else None
        self._slots: dict[tuple[Any, Any], Slot] = {}
        self._agents: dict[Any, list[Any]] = {}
        self._counts_steps = any(view.column in ("t", "unroll_id") for view in plan.views)
        self._needs_rows = self._store is not None or any(
            view.is_current and view.column != "obs" for view in plan.views
        )

    def reset(self, env_id: Any) -> None:
        """Forget all agents of `env_id`."""
        agents = self._agents.pop(env_id, ())
        slots = [self._slots.pop((env_id, agent_id)) for agent_id in agents]
        if self._store is not None:
            self._store.close([slot.index for slot in slots])

    def slots_of(self, ids: Sequence[tuple[Any, Any]]) -> list[Slot | None]:
        """The slot of each (env_id, agent_id); None where an episode is to start."""
        return list(map(self._slots.get, ids))

    def agents(self) -> dict[Any, list[Any]]:
        """The agents of each environment whose episodes run."""
        return {env_id: list(agents) for env_id, agents in self._agents.items()}

    def buffers_of(self, slot: Slot) -> dict[str, list[Array]]:
        """Return the stored history of an agent by column, oldest first, one array per leaf."""
        newest = {} if slot.newest is None else slot.newest
        rows = {
            "obs" if name == "new_obs" else name: nest.map_structure(
                lambda leaf: np.asarray(leaf)[None], value
            )
            for name, value in newest.items()
            if name != "infos"
        }
        if self._store is not None:
            state = self._store.state_of(np.array([slot.index], np.intp))
            rows |= {
                "obs" if name == "new_obs" else name: nest.map_structure(lambda leaf: leaf[0], past)
                for name, past in state.items()
            }
        return {name: list(nest.flatten(value)) for name, value in rows.items()}

    def build_one(self, env_id: Any, agent_id: Any, data: dict[str, Any]) -> dict[str, Any]:
        """The columns of one agent, one row each: `build` for one that needs no histories."""
        if "new_obs" not in data:
            raise _no_observation(data)
        slot_id = (env_id, agent_id)
        slot = self._slots.get(slot_id)
        if slot is None or self._needs_rows:
            rows = Rows([slot_id], {name: [value] for name, value in data.items()})
            columns = self.build(rows)
            self._slots[slot_id].newest = data
            return columns
        slot.newest = data
        slot.steps += 1
        columns = {}
        for view in self.plan.views:
            if view.is_current:
                columns[view.name] = to_row(data["new_obs"])
            elif view.is_previous:
                value = data.get(view.column, ABSENT)
                if not isinstance(value, np.ndarray):
                    value = self._value(view, slot_id, data.keys, value)
                columns[view.name] = to_row(value)
            else:
                columns[view.name] = _repeated(view.missing, 1)
        if self._is_recurrent:
            columns["seq_lens"] = _ONE.copy()
        return columns

    def build(self, rows: Rows, known_slots: list[Slot | None] | None = None) -> dict[str, Any]:
        """Return the columns of distinct agents, one row per agent.

        `known_slots` are the slots of the agents, if they were looked up before.
        """
        if "new_obs" not in rows:
            raise _no_observation(rows.raw()[0])
        slots_or_none = self.slots_of(rows.slots) if known_slots is None else known_slots
        first = (
            {}
            if all(slots_or_none)
            else {row: None for row, slot in enumerate(slots_or_none) if slot is None}
        )
        for row in first:
            slots_or_none[row] = self._started(rows.slots[row])
        slots: Any = slots_or_none
        for slot in slots:
            slot.steps += 1
            slot.newest = None
        for row in first:
            slots[row].steps = 0
        if self._counts_steps:
            self._count(rows, slots, first)
        places = _NONE
        if self._store is not None:
            places = np.array([slot.index for slot in slots], np.intp)
            self._keep(rows, slots, first, places)
        columns: dict[str, Any] = {}
        for view in self.plan.views:
            if view.is_current:
                columns[view.name] = self._now(view.column, rows, slots)
            elif view.is_unknown:
                columns[view.name] = _repeated(view.missing, len(slots))
            elif view.is_previous:
                columns[view.name] = self._before(view, rows, first)
            else:
                columns[view.name] = self._look(view, places)
        if self._is_recurrent:
            columns["seq_lens"] = np.ones(len(slots), np.int64)
        return columns

    def _count(self, rows: Rows, slots: Sequence[Slot], first: Collection[int]) -> None:
        """Number the steps that are no first ones, as records say or one after the other."""
        times = rows.entries("t") if "t" in rows else [None] * len(slots)
        for row, (slot, t) in enumerate(zip(slots, times, strict=True)):
            if row not in first:
                slot.t = slot.t + 1 if t is None else t

    def _started(self, slot_id: tuple[Any, Any]) -> Slot:
        """A new slot, for an agent whose episode starts."""
        env_id, agent_id = slot_id
        if env_id is None or agent_id is None:
            raise PieceError(
                "a record does not say whose it is",
                expected="env_id and agent_id",
                found=f"env_id={env_id!r}, agent_id={agent_id!r}",
            )
        index = -1 if self._store is None else int(self._store.open(1)[0])
        slot = self._slots[slot_id] = Slot(index)
        self._agents.setdefault(env_id, []).append(agent_id)
        return slot

    def _now(self, column: str, rows: Rows, slots: Sequence[Slot]) -> Nest:
        """The values of this step of a column that is known now."""
        if column == "obs":
            obs = rows.column("new_obs")
            if type(obs) is list:
                if len(obs) == 1:
                    return to_row(obs[0])
                if type(obs[0]) is not np.ndarray:
                    return stack_rows(obs)
                obs = rows.batch("new_obs")
            return narrowed(obs) if type(obs) is np.ndarray else nest.mapped(narrowed, obs)
        if column == "infos":
            return stack_objects(list(rows.column("infos") or [{} for _ in slots]))
        if column == "agent_index":
            return np.array([_number(agent_id) for _, agent_id in rows.slots], np.float32)
        if column in ("t", "unroll_id"):
            return stack_rows([getattr(slot, column) for slot in slots])
        if column in rows:
            return stack_rows(list(rows.entries(column)))
        return stack_rows([env_id for env_id, _ in rows.slots])

    def _before(self, view: View, rows: Rows, first: Collection[int]) -> Nest:
        """The newest values of a column that is not known now; what comes before it at first."""
        count = len(rows.slots)
        if len(first) == count:
            return _repeated(view.initial, count)
        column = rows.column(view.column)
        if type(column) is np.ndarray and not first:
            return narrowed(column)
        values: Any = [None] * count if column is None else column
        if type(values) is not list:
            values = rows.entries(view.column)
        is_odd = {*map(type, values)} != {np.ndarray} and (
            any([each is None or each is ABSENT for each in values])
        )
        odd = view.column == "actions" or is_odd
        if first or odd:
            initial = nest.taken(view.initial, 0)
            values = [
                initial
                if row in first
                else self._value(view, rows.slots[row], partial(_names, rows, row), value)
                for row, value in enumerate(values)
            ]
        return stack_rows(values)

    def _value(
        self, view: View, slot_id: tuple[Any, Any], columns: Callable[[], Iterable[str]], value: Any
    ) -> Any:
        """The newest value of one agent; `columns` names those that it came with."""
        if value is None or value is ABSENT:
            if not self._fills_missing:
                raise PieceError(
                    f"view {view.name!r} needs the column {view.column!r}, but the record of "
                    f"agent {slot_id[1]!r} lacks it",
                    expected=f"a record with {view.column!r} at every step after the first",
                    found=f"columns {list(columns())}",
                    hint=f"pass it, or call reset({slot_id[0]!r}) if a new episode starts.",
                    column=view.column,
                )
            return nest.taken(view.missing, 0)
        if self._flattens and view.column == "actions" and isinstance(value, _NESTED):
            return flatten_to_single_ndarray(value)
        return value

    def _keep(
        self, rows: Rows, slots: Sequence[Slot], first: Collection[int], places: Array
    ) -> None:
        """Add what these rows bring to the histories."""
        store = self._store
        assert store is not None, "only plans with ranges keep histories"
        starts = np.array(list(first), np.intp)
        goes_on = np.delete(np.arange(len(slots)), starts)
        for view in self.plan.kept:
            values = (
                self._now(view.column, rows, slots)
                if view.known_now
                else self._before(view, rows, first)
            )
            if len(starts):
                store.fill(view.column, places[starts], nest.taken(values, starts))
            if len(goes_on):
                store.push(view.column, places[goes_on], nest.taken(values, goes_on))

    def _look(self, view: View, places: Array) -> Nest:
        """A view over several steps, or over one that is further back."""
        assert self._store is not None, "only plans with ranges look back"
        window = self._store.look(view.column, places, np.array(view.offsets, np.intp))

        def shaped(leaf: Array) -> Array:
            leaf[:, view.unknown] = 0
            return leaf[:, 0] if len(view.shifts) == 1 else leaf

        return nest.map_structure(shaped, window)


def _no_observation(columns: Iterable[str]) -> PieceError:
    """The error for a record of an agent that saw nothing."""
    return PieceError(
        "a record has no observation", expected="a column 'new_obs'", found=f"columns {[*columns]}"
    )


def _names(rows: Rows, row: int) -> Iterable[str]:
    return rows.raw()[row]


def _number(agent_id: Any) -> float:
    try:
        return float(np.float32(agent_id))
    except (TypeError, ValueError):
        return -1.0


def _repeated(row: Nest, count: int) -> Nest:
    return nest.map_structure(lambda leaf: np.repeat(leaf, count, axis=0), row)


_REMEMBERED: Final = frozenset({"obs", "actions", "rewards"})
"""Columns that a plan can store, in addition to states."""


class KeptHistory:
    """Read-only view of the history of one agent's running episode.

    Attributes:
        agent_steps: Steps after the first observation.
    """

    def __init__(self, builder: ViewBuilder | None, slot: Slot | None) -> None:
        self._builder, self._slot = builder, slot
        self.agent_steps = 0 if slot is None else slot.steps

    def is_empty(self) -> bool:
        """Return True if the episode has not started."""
        return self._slot is None

    @property
    def buffers(self) -> dict[str, list[Array]]:
        """Rows by column, oldest first, one array per leaf, as far back as some view looks."""
        if self._builder is None or self._slot is None:
            return {}
        return self._builder.buffers_of(self._slot)


class ViewRequirementAgentConnector(FromContext, ColumnsAgentConnector):
    """Turn the record of each agent into the input batch of one row for the policy.

    History is stored per environment and agent, as far back as some view looks. The first record
    after `reset` starts a new history. A list of records is processed as one batch.

    Example:
        >>> from rlconnect.legacy import AgentConnectorDataType, ViewRequirement
        >>> views = {"obs": ViewRequirement(), "last": ViewRequirement("rewards", shift=-1)}
        >>> connector = ViewRequirementAgentConnector(ConnectorContext(view_requirements=views))
        >>> record = AgentConnectorDataType("env", "agent", {"new_obs": 3.0, "rewards": 2.0})
        >>> for _ in range(2):
        ...     batch = connector([record])[0].data.sample_batch
        >>> batch["obs"], batch["last"]
        (array([3.], dtype=float32), array([2.], dtype=float32))
    """

    builds = True
    _builder: ViewBuilder | None = None

    def bind(self, ctx: ConnectorContext) -> None:
        """Take `ctx`; its views are planned at the first record."""
        super().bind(ctx)
        self._builder = None

    def reset(self, env_id: Any) -> None:
        """Forget all agents of `env_id`."""
        if self._builder is not None:
            self._builder.reset(env_id)

    def transform_all(self, rows: Rows) -> None:
        """Build the batch of all agents, one column at a time."""
        builder = self.builder
        count = len(rows.slots)
        slots = builder.slots_of(rows.slots)
        if len(set(slots if all(slots) else rows.slots)) == count:
            columns = builder.build(rows, slots)
        else:  # one agent twice: in order
            columns = joined_batches([builder.build(rows.only(row)) for row in range(count)])
        rows.build(columns)

    def transform_columns(self, env_id: Any, agent_id: Any, columns: dict[str, Any]) -> Any:
        """Build the batch of one agent."""
        batch = self.builder.build_one(env_id, agent_id, columns)
        return AgentConnectorsOutput(columns, SampleBatch.of(batch))

    @property
    def builder(self) -> ViewBuilder:
        """The builder of the policy's columns, which stores the history."""
        return self._builder or self._make_builder()

    @property
    def agent_collectors(self) -> dict[Any, dict[Any, KeptHistory]]:
        """Histories by environment and agent; empty for an agent without observations."""
        builder = self._builder
        collectors: dict[Any, dict[Any, KeptHistory]] = defaultdict(
            lambda: defaultdict(lambda: KeptHistory(None, None))
        )
        if builder is not None:
            for env_id, agents in builder.agents().items():
                slots = builder.slots_of([(env_id, agent) for agent in agents])
                for agent, slot in zip(agents, slots, strict=True):
                    collectors[env_id][agent] = KeptHistory(builder, slot)
        return collectors

    def episode(self, env_id: Any, agent_id: Any) -> Any:
        """Return an object that identifies an agent's running episode; it changes at each reset."""
        if self._builder is None:
            return None
        return self._builder.slots_of([(env_id, agent_id)])[0]

    def part(self) -> Contribution:
        """The columns that some view looks back at, and the views."""
        depths: dict[str, int] = {}
        starts: dict[str, Any] = {}
        looks: list[Look] = []
        missing: list[str] = []
        for view in self._plan().views:
            if view.name == "obs" and view.is_current:
                continue
            if not (view.column in _REMEMBERED or view.column.startswith("state_out_")):
                missing.append(f"the view {view.name!r} of {view.column!r}")
                continue
            if view.is_unknown:
                looks.append(Look(view.name, "", missing=nest.taken(view.missing, 0)))
                continue
            looks.append(Look(view.name, view.column, view.offsets, view.unknown))
            depths[view.column] = max(depths.get(view.column, 1), 1 - min(view.offsets))
            starts[view.column] = None if view.column == "obs" else nest.taken(view.initial, 0)
        columns = tuple(Column(name, depth, starts[name]) for name, depth in depths.items())
        return Contribution(columns=columns, looks=tuple(looks), missing=tuple(missing))

    def _make_builder(self) -> ViewBuilder:
        ctx = self.ctx
        # A policy of an RLModule lists every column as needed to act, and reads "obs" only.
        is_lenient = ctx.setting("_enable_rl_module_api") or ctx.setting(
            "enable_rl_module_and_learner"
        )
        self._builder = ViewBuilder(
            self._plan(),
            flatten_actions=self._flattens(),
            fill_missing=bool(is_lenient),
            is_recurrent=ctx.is_policy_recurrent,
        )
        return self._builder

    def _plan(self) -> ViewPlan:
        ctx = self.ctx
        if ctx.view_requirements is None:
            raise PieceError(
                "ViewRequirementAgentConnector needs to know what the policy looks at.",
                hint="pass view_requirements to the context, or use ConnectorContext.from_policy()",
            )
        return ViewPlan.for_inference(
            ctx.view_requirements, ctx.initial_states, flatten_actions=self._flattens()
        )

    def _flattens(self) -> bool:
        return not self.ctx.setting("_disable_action_flattening", False)
