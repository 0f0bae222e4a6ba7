"""Which sessions are remembered: the last ones used, up to a number."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Final

MAX_SESSIONS: Final = 100_000
"""So many sessions are remembered unless somebody says otherwise."""


_NOBODY: Final = object()


class SessionsEvictedWarning(UserWarning):
    """More sessions than are remembered: the least recently used were forgotten."""


class Sessions:
    """Names of sessions, the least recently used first.

    `most` are remembered, and those of one call even if they are more; `whose` they are tells the
    warning.

    Attributes:
        evicted: How many were forgotten for lack of room.
        newest: The one used last, if it was used alone: who uses it again need not say so.

    Example:
        >>> sessions = Sessions(2, "this actor")
        >>> sessions.use(["a", "b"]), sessions.use(["a"])
        ([], [])
        >>> sessions.forget("b")
        >>> sessions.use(["c"]), list(sessions)
        ([], ['a', 'c'])
    """

    __slots__ = ("_known", "_last", "evicted", "most", "newest", "whose")

    def __init__(self, most: int, whose: str) -> None:
        self.most, self.whose = most, whose
        self.evicted = 0
        self._known: OrderedDict[Hashable, None] = OrderedDict()
        self._last: list[Hashable] = []
        self.newest: Any = _NOBODY

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[Any]:
        """The names, the least recently used first."""
        return iter(self._known)

    def __contains__(self, name: Hashable) -> bool:
        return name in self._known

    def use(self, names: Iterable[Hashable]) -> list[Any]:
        """Mark sessions as used now; return those to forget to make room for them."""
        names = [*names]
        if names == self._last:  # they stand at the end
            return []
        order, self._last = self._known, names
        self.newest = names[0] if len(names) == 1 else _NOBODY
        for name in names:
            if name in order:
                order.move_to_end(name)
            else:
                order[name] = None
        over = len(order) - self.most
        if over <= 0:
            return []
        over = min(over, len(order) - len(set(names)))
        dropped = [order.popitem(last=False)[0] for _ in range(over)]
        if dropped and not self.evicted:
            warnings.warn(
                f"{self.whose} remembers {self.most:,} sessions, and more were used: the least "
                "recently used are forgotten, and begin anew should they come back; "
                "reset(id) ends one in time, a larger max_sessions keeps more",
                SessionsEvictedWarning,
                stacklevel=4,
            )
        self.evicted += len(dropped)
        return dropped

    def forget(self, name: Hashable) -> None:
        """Let a session go that is over."""
        self._known.pop(name, None)
        self._last, self.newest = [], _NOBODY

    def clear(self) -> None:
        """Let all go."""
        self._known.clear()
        self._last, self.newest = [], _NOBODY
