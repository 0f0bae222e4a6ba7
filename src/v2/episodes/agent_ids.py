"""Sets of agent ids that are walked in the order the agents first appeared."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from typing_extensions import override


class AgentIds(set[Any]):
    """A set that iterates in the order of its ids' first appearance.

    RLlib returns plain sets, whose order depends on the hashes of strings and so on the process.

    Example:
        >>> ids = AgentIds(["pawn", "king"])
        >>> list(ids), ids == {"king", "pawn"}
        (['pawn', 'king'], True)
    """

    def __init__(self, ids: Iterable[Hashable] = ()) -> None:
        self._order = dict.fromkeys(ids)
        super().__init__(self._order)

    @override
    def __iter__(self) -> Iterator[Any]:
        """The ids in order; such as were added to the set itself come last."""
        if len(self._order) == len(self) and all(map(self.__contains__, self._order)):
            return iter(self._order)
        ordered = [agent for agent in self._order if agent in self]
        return iter(
            [*ordered, *(agent for agent in super().__iter__() if agent not in self._order)]
        )

    @override
    def __reduce__(self) -> Any:
        return type(self), (list(self),)

    @override
    def __repr__(self) -> str:
        return f"{{{', '.join(map(repr, self))}}}" if self else "set()"
