"""The columns a policy acts on, built for some agents at once.

What each agent saw and did is kept per environment and agent only as far as some view looks back:
a view of the newest value alone needs no history, longer ones share a `HistoryStore`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from itertools import count
from typing import Any, Final, TypeAlias

import numpy as np

from ....core import nest
from ....core.errors import PieceError
from ....core.formulas.actions import flatten_to_single_ndarray
from ....core.types import Array, Nest
from ...batches.step_rows import narrowed, stack_objects, stack_rows, to_row
from ...views.history import HistoryStore
from ...views.views import View, ViewPlan
from ..rows import ABSENT, Rows

SlotId: TypeAlias = tuple[Any, Any]
"""Whose something is: (env_id, agent_id)."""

_UNROLLS = count()
_NONE: Final = np.zeros(0, np.intp)
_ONE: Final = np.ones(1, np.int64)
_NESTED: Final = (dict, tuple, list)


class Slot:
    """One agent of one environment, as long as its episode lasts.

    Attributes:
        index: Its place in the history store.
        t: The number of its step, -1 for the first observation.
        unroll_id: A number of its own.
        steps: How many steps it made after its first observation.
        newest: The columns of its last step, if it came alone.
    """

    __slots__ = ("index", "newest", "steps", "t", "unroll_id")

    def __init__(self, index: int) -> None:
        self.index = index
        self.t = -1
        self.steps = 0
        self.newest: dict[str, Any] | None = None
        self.unroll_id = next(_UNROLLS)


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

    def slots_of(self, ids: Sequence[SlotId]) -> list[Slot | None]:
        """The slot of each (env_id, agent_id); None where an episode is to start."""
        return list(map(self._slots.get, ids))

    def agents(self) -> dict[Any, list[Any]]:
        """The agents of each environment whose episodes run."""
        return {env_id: list(agents) for env_id, agents in self._agents.items()}

    def buffers_of(self, slot: Slot) -> dict[str, list[Array]]:
        """What is kept of an agent by column, oldest first, one array a leaf."""
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
        """The columns of agents, a row each, none of them twice.

        Where somebody looked already, `known_slots` are theirs.
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

    def _started(self, slot_id: SlotId) -> Slot:
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
        self, view: View, slot_id: SlotId, columns: Callable[[], Iterable[str]], value: Any
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
