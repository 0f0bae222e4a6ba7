"""Who acts next in a vector of multi-agent environments, and where their rows are."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from itertools import accumulate
from operator import attrgetter
from typing import Any, Final, TypeAlias

import numpy as np

from ...core.arrays.batching import rows_of_alike
from ...core.types import Nest
from ..connectors.item_rows import joined
from ..connectors.table import NotColumnar, items_of
from ..episodes.journal import picking

Crew: TypeAlias = tuple[tuple[Hashable, Any], ...]
"""The agents that are to act in one environment, each with its module's id."""

Slot: TypeAlias = tuple[int, Hashable]
"""The place of an environment, and an agent in it."""

_DTYPE: Final = attrgetter("dtype")


class AgentLayout:
    """Which agent of which environment has which row of its module's batch.

    Modules and rows are in the order in which agents come, environment by environment. A layout
    serves as long as the same agents act with the same modules.

    Args:
        crews: Who is to act, for each environment.

    Attributes:
        agents: The agents to act, for each environment.
        slots: Whose row it is, by module id.
        count: How many rows there are.

    Example:
        >>> layout = AgentLayout([(("a", "p"), ("b", "q")), (("a", "p"),)])
        >>> layout.slots
        {'p': [(0, 'a'), (1, 'a')], 'q': [(0, 'b')]}
        >>> layout.by_env({"p": np.array([[5], [6]]), "q": np.array([[7]])}, ["ba", "a"])
        [{'b': array([7]), 'a': array([5])}, {'a': array([6])}]
    """

    def __init__(self, crews: Sequence[Crew]) -> None:
        self.agents = [tuple(agent for agent, _ in crew) for crew in crews]
        self.slots: dict[Any, list[Slot]] = {}
        places: dict[Any, list[int]] = {}
        count = 0
        for index, crew in enumerate(crews):
            for agent, module_id in crew:
                self.slots.setdefault(module_id, []).append((index, agent))
                places.setdefault(module_id, []).append(count)
                count += 1
        self.count = count
        # Of each row, in the order in which agents come: where it is when modules come in order.
        back = [0] * count
        by_module = [place for of_module in places.values() for place in of_module]
        for row, place in enumerate(by_module):
            back[place] = row
        self._of_agents = [*map(picking, self.agents)]
        self._by_module, self._in_order = picking(by_module), picking(back)
        ends = [*accumulate(map(len, places.values()), initial=0)]
        self._parts = dict(zip(places, map(slice, ends, ends[1:]), strict=True))
        # The keys of the observations and rewards of a step in which these agents go on together.
        self.twice = [[*agents, *agents] for agents in self.agents]

    def seen(self, by_env: Sequence[Mapping[Hashable, Any]]) -> dict[Any, Nest]:
        """Observations as rows, by module.

        Raises:
            NotColumnar: They are not all built alike.
        """
        items: list[Any] = []
        for observations, picked in zip(by_env, self._of_agents, strict=True):
            items += picked(observations)
        ordered = self._by_module(items)
        rows = rows_of_alike(ordered) if items and type(items[0]) is np.ndarray else None
        if rows is None:
            return {module_id: alike_rows(ordered[part]) for module_id, part in self._parts.items()}
        return {module_id: rows[part] for module_id, part in self._parts.items()}

    def by_env(
        self, columns: Mapping[Any, Nest], orders: Sequence[Collection[Hashable]]
    ) -> list[dict[Hashable, Any]]:
        """A column of all modules as items: for each environment by agent."""
        items = [item for module_id in self.slots for item in items_of(columns[module_id])]
        ordered: Iterator[Any] = iter(self._in_order(items))
        rows = [dict(zip(agents, ordered)) for agents in self.agents]  # noqa: B905  # it goes on
        return [
            row if (*order,) == agents else {each: row[each] for each in order if each in row}
            for row, order, agents in zip(rows, orders, self.agents, strict=True)
        ]

    def listed(self, columns: Mapping[Any, Mapping[str, Nest]]) -> dict[str, list[dict[Any, Any]]]:
        """All columns as items by environment and agent; modules may have different ones."""
        lists: dict[str, list[dict[Any, Any]]] = {}
        for module_id, of_module in columns.items():
            for name, column in of_module.items():
                by_env = lists.setdefault(name, [{} for _ in self.agents])
                for (index, agent), item in zip(
                    self.slots[module_id], items_of(column), strict=True
                ):
                    by_env[index][agent] = item
        return lists


def alike_rows(items: Sequence[Any]) -> Nest:
    """Items as rows, of which each is what the item's own column would hold.

    Raises:
        NotColumnar: They are not all built alike.
    """
    if type(items[0]) is np.ndarray:
        rows = rows_of_alike(items)  # the usual case
        if rows is not None:
            return rows
    if not _is_alike(items):
        raise NotColumnar
    return joined(items)


def _is_alike(items: Sequence[Any]) -> bool:
    """Whether arrays are of one dtype, so that a row is what the agent's own column would hold."""
    kind = type(items[0])
    if kind is np.ndarray:
        return {*map(type, items)} == {kind} and len({*map(_DTYPE, items)}) == 1
    if kind is dict:
        keys = items[0].keys()
        return all(type(item) is dict and item.keys() == keys for item in items) and all(
            _is_alike([item[key] for item in items]) for key in keys
        )
    if kind is tuple:
        return {*map(type, items)} == {tuple} and all(map(_is_alike, zip(*items, strict=False)))
    return True
