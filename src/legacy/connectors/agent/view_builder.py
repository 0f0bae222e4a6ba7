"""The columns a policy acts on, built for one agent or for many at once.

What each agent saw and did is kept per environment and agent only as far as some view looks back:
a view of the newest value alone needs no history, longer ones share a `HistoryStore`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any, Final, TypeAlias

import numpy as np

from ....core import nest
from ....core.errors import PieceError
from ....core.formulas.actions import flatten_to_single_ndarray
from ....core.types import Array, Nest
from ...batches.step_rows import narrowed, stack_objects, stack_rows, to_object_row, to_row
from ...views.history import HistoryStore
from ...views.views import View, ViewPlan
from ..records import Records

SlotId: TypeAlias = tuple[Any, Any]
"""Whose something is: (env_id, agent_id)."""

_UNROLLS = count()
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

    Args:
        plan: The views.
        flatten_actions: Whether nested actions become one vector.
        fill_missing: Use zeros where a record lacks a column that a view reads, instead of
            refusing the record.
    """

    def __init__(
        self, plan: ViewPlan, *, flatten_actions: bool = True, fill_missing: bool = False
    ) -> None:
        self.plan: Final = plan
        self._flattens = flatten_actions
        self._fills_missing = fill_missing
        self._store = HistoryStore(plan.depth) if plan.depth else None
        self._slots: dict[tuple[Any, Any], Slot] = {}
        self._agents: dict[Any, list[Any]] = {}
        self._keeps_observations = any(
            view.column in ("obs", "new_obs") and not view.is_current for view in plan.views
        )
        self._counts_steps = any(view.column in ("t", "unroll_id") for view in plan.views)

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
        held = {} if slot.newest is None else slot.newest
        rows = {
            "obs" if name == "new_obs" else name: nest.map_structure(
                lambda leaf: np.asarray(leaf)[None], value
            )
            for name, value in held.items()
            if name != "infos"
        }
        if self._store is not None:
            kept = self._store.state_of(np.array([slot.index], np.intp))
            rows |= {
                "obs" if name == "new_obs" else name: nest.map_structure(lambda leaf: leaf[0], past)
                for name, past in kept.items()
            }
        return {name: list(nest.flatten(value)) for name, value in rows.items()}

    def build_one(self, env_id: Any, agent_id: Any, data: dict[str, Any]) -> dict[str, Any]:
        """The columns of one agent, one row each."""
        slot_id = (env_id, agent_id)
        known = self._slots.get(slot_id)
        is_first = known is None
        slot = self._started(slot_id) if known is None else known
        slot.newest = data
        if not is_first:
            slot.steps += 1
        if self._counts_steps and not is_first:
            slot.t = data.get("t", slot.t + 1)
        if self._store is not None:
            records = Records([slot_id], [data])
            self._keep(records, [slot], np.array([slot.index], np.intp), is_first)
        columns: dict[str, Any] = {}
        for view in self.plan.views:
            column = view.column
            if view.is_current:
                columns[view.name] = _as_row(column, self._now(column, slot_id, data, slot))
            elif view.is_previous and not is_first:
                columns[view.name] = _as_row(column, self._before(view, slot_id, data))
            elif view.is_unknown or view.is_previous:
                columns[view.name] = _copied(view.missing if view.is_unknown else view.initial)
            else:
                columns[view.name] = self._look(view, np.array([slot.index], np.intp))
        return columns

    def build_many(
        self, records: Records, observations: Nest, known: Sequence[Slot] | None
    ) -> dict[str, Any]:
        """The columns of many agents, one row an agent.

        Args:
            records: What agents bring whose episodes all start, or all go on.
            observations: Their "new_obs", a list or a batch.
            known: Their slots, None if they start.
        """
        ids = records.slots
        is_first = known is None
        slots = [self._started(each) for each in ids] if known is None else known
        for slot in known or ():
            slot.steps += 1
            slot.newest = None
        if self._counts_steps and not is_first:
            for slot, data in zip(slots, records.other_columns(), strict=True):
                slot.t = data.get("t", slot.t + 1)
        places = np.zeros(0, np.intp)
        if self._keeps_observations:
            records.data  # noqa: B018  # the observations that are kept are among the columns now
        if self._store is not None:
            places = np.array([slot.index for slot in slots], np.intp)
            self._keep(records, slots, places, is_first)
        columns: dict[str, Any] = {}
        for view in self.plan.views:
            column = view.column
            if view.is_current and column == "obs":
                columns[view.name] = _rows_of(observations)
            elif view.is_current:
                columns[view.name] = _stacked(column, self._all_now(column, records, slots))
            elif view.is_previous and not is_first:
                columns[view.name] = _stacked(column, self._all_before(view, records))
            elif view.is_unknown or view.is_previous:
                row = view.missing if view.is_unknown else view.initial
                columns[view.name] = nest.map_structure(
                    lambda leaf: np.repeat(leaf, len(ids), axis=0), row
                )
            else:
                columns[view.name] = self._look(view, places)
        return columns

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

    def _now(self, column: str, slot_id: SlotId, data: dict[str, Any], slot: Slot) -> Any:
        """The value of this step of a column that is known now."""
        if column == "obs":
            return data["new_obs"]
        if column == "infos":
            return data.get("infos", {})
        if column == "agent_index":
            try:
                return np.float32(slot_id[1])
            except (TypeError, ValueError):
                return np.float32(-1.0)
        if column in ("t", "unroll_id"):
            return getattr(slot, column)
        return data.get(column, slot_id[0])

    def _all_now(self, column: str, records: Records, slots: Sequence[Slot]) -> list[Any]:
        """The values of this step, of all agents, of a column that is known now."""
        each = zip(records.slots, records.other_columns(), slots, strict=True)
        return [self._now(column, *one) for one in each]

    def _before(self, view: View, slot_id: SlotId, data: dict[str, Any]) -> Any:
        """The newest value of a column that is not known now."""
        value = data.get(view.column)
        if value is None:
            if not self._fills_missing:
                raise PieceError(
                    f"view {view.name!r} needs the column {view.column!r}, but the record of "
                    f"agent {slot_id[1]!r} lacks it",
                    expected=f"a record with {view.column!r} at every step after the first",
                    found=f"columns {list(data)}",
                    hint=f"pass it, or call reset({slot_id[0]!r}) if a new episode starts.",
                    column=view.column,
                )
            return nest.taken(view.missing, 0)
        if self._flattens and view.column == "actions" and isinstance(value, _NESTED):
            return flatten_to_single_ndarray(value)
        return value

    def _all_before(self, view: View, records: Records) -> list[Any]:
        """The newest values, of all agents, of a column that is not known now."""
        try:
            values = records.column(view.column)
        except KeyError:
            values = [None]
        if view.column == "actions" or any([value is None for value in values]):
            pairs = zip(records.slots, records.other_columns(), strict=True)
            return [self._before(view, *each) for each in pairs]
        return values

    def _keep(self, records: Records, slots: Sequence[Slot], places: Array, is_first: bool) -> None:
        """Add what these records bring to the histories."""
        store = self._store
        assert store is not None, "only plans with ranges keep histories"
        for view in self.plan.kept:
            column = view.column
            if view.known_now:
                values = _stacked(column, self._all_now(column, records, slots))
            elif is_first:
                values = nest.map_structure(
                    lambda leaf: np.repeat(leaf, len(slots), axis=0), view.initial
                )
            else:
                values = _stacked(column, self._all_before(view, records))
            if is_first:
                store.fill(column, places, values)
            else:
                store.push(column, places, values)

    def _look(self, view: View, places: Array) -> Nest:
        """A view over several steps, or over one that is further back."""
        assert self._store is not None, "only plans with ranges look back"
        found = self._store.look(view.column, places, np.array(view.offsets, np.intp))

        def shaped(leaf: Array) -> Array:
            leaf[:, view.unknown] = 0
            return leaf[:, 0] if len(view.shifts) == 1 else leaf

        return nest.map_structure(shaped, found)


def _as_row(column: str, value: Any) -> Nest:
    return to_object_row(value) if column == "infos" else to_row(value)


def _stacked(column: str, values: list[Any]) -> Nest:
    return stack_objects(values) if column == "infos" else stack_rows(values)


def _rows_of(values: Nest) -> Nest:
    """Values of one step, one of each slot, in a list or in a batch already."""
    return stack_rows(values) if isinstance(values, list) else nest.map_structure(narrowed, values)


def _copied(row: Nest) -> Nest:
    return row.copy() if isinstance(row, np.ndarray) else nest.map_structure(np.copy, row)
