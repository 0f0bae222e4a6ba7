"""Memory of sessions: one row of every array per session."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from heapq import heappop, heappush
from typing import Any, Final

import numpy as np

from .. import array_namespace as xp
from ..data.checked import shaped
from ..data.damage import at
from ..errors import PieceError
from ..runtime.sessions import MAX_SESSIONS, Sessions
from ..types import Array
from .recall import where_first

Rows = slice | Array
Key = tuple[Hashable, Hashable]
"""Key of a session: (env_id, agent_id)."""
DEFAULT_AGENT: Final = "agent"


def default_keys(count: int) -> list[Key]:
    """The slots of a batch that names none: its rows."""
    return [(row, DEFAULT_AGENT) for row in range(count)]


class Slots:
    """Rows of memory by environment and agent; an unknown session starts an episode.

    Args:
        start: Initial memory of a session, without the leading axis.
        most: Largest number of sessions; above it, the least recently used one is evicted.

    Attributes:
        sessions: The slots by their use.

    Example:
        >>> slots = Slots((np.zeros(2),))
        >>> rows = slots.rows([("env", "agent")])
        >>> slots.first[rows], slots.memory[0][rows]
        (array([ True]), array([[0., 0.]]))
    """

    def __init__(self, start: Sequence[Array], most: int = MAX_SESSIONS) -> None:
        self.sessions = Sessions(most, "an actor")
        self.start: tuple[Any, ...] = tuple(start)
        self.memory: list[Any] = [np.zeros((0, *each.shape), each.dtype) for each in start]
        self.first: Any = np.ones(0, bool)
        self._row_of: dict[Key, int] = {}
        self._agents: dict[Hashable, dict[Key, None]] = {}
        self._free: list[int] = []  # a heap: low rows first, so that rows lie together
        self._unnamed: list[Key] = []
        self._asked: Sequence[Key] = ()
        self._found: Rows = slice(0, 0)

    def __len__(self) -> int:
        return len(self._row_of)

    def rows(self, keys: Sequence[Key] | int) -> Rows:
        """Return the rows of sessions; new sessions are created.

        A number stands for that many unnamed sessions. Duplicate keys raise an error, because the
        second result would depend on the first.
        """
        if isinstance(keys, int):
            if len(self._unnamed) != keys:
                self._unnamed = default_keys(keys)
            keys = self._unnamed
        if keys is self._asked or keys == self._asked:
            return self._found
        if len(set(keys)) < len(keys):
            raise PieceError(
                "a slot stands twice in one batch, but its second answer depends on its first",
                expected="each (env_id, agent_id) once",
                hint="pass distinct env_ids, or call act several times.",
            )
        for key in self.sessions.use(keys):
            self._close(key)
        places = [self._opened(key) for key in keys]
        start = places[0] if places else 0
        is_run = places == list(range(start, start + len(places)))
        self._asked = keys if keys is self._unnamed else list(keys)
        self._found = slice(start, start + len(places)) if is_run else np.array(places, np.intp)
        return self._found

    def keep(self, rows: Rows, memory: Sequence[Any]) -> None:
        """Set the memory of rows; their next step is not the first of an episode."""
        for column, new in zip(self.memory, memory, strict=True):
            column[rows] = new
        self.first[rows] = False

    def end(self, rows: Rows, ended: Any) -> None:
        """Start a new episode in those of `rows` whose episode has ended."""
        for memory, start in zip(self.memory, self.start, strict=True):
            memory[rows] = where_first(ended, start, memory[rows])
        self.first[rows] = self.first[rows] | ended

    def to(self, device: Any) -> None:
        """Keep everything as tensors on a device; as arrays if it is None."""
        move = xp.to_numpy if device is None else (lambda each: xp.on_device(each, device))
        self.start = tuple(move(xp.to_numpy(each)) for each in self.start)
        self.memory = [move(xp.to_numpy(each)) for each in self.memory]
        self.first = move(xp.to_numpy(self.first))

    def reset(self, env_ids: Iterable[Hashable] | None = None) -> None:
        """Forget all slots of some environments; of all of them if None."""
        if env_ids is None:
            ended = list(self._row_of)
        else:
            ended = [key for env_id in env_ids for key in self._agents.get(env_id, ())]
        for key in dict.fromkeys(ended):
            self._close(key)
            self.sessions.forget(key)
        self._asked = ()

    def hand_over(self, other: Slots, env_ids: Iterable[Hashable]) -> None:
        """Move the sessions of some environments to other slots with the same memory."""
        ended = dict.fromkeys(env_ids)
        keys = [key for env_id in ended for key in self._agents.get(env_id, ())]
        here = np.array([self._row_of[key] for key in keys], np.intp)
        there = other.rows(keys)
        for source, target in zip(
            (self.first, *self.memory), (other.first, *other.memory), strict=True
        ):
            target[there] = source[here]
        self.reset(ended)

    def state_dict(self) -> dict[str, Any]:
        """Every slot and its memory, as plain data and arrays."""
        keys = list(self.sessions)
        rows = np.array([self._row_of[key] for key in keys], np.intp)
        return {
            "slots": [list(key) for key in keys],
            "first": xp.to_numpy(self.first[rows]),
            "memory": [xp.to_numpy(memory[rows]) for memory in self.memory],
        }

    @at()
    def load_state_dict(self, state: Any) -> None:
        """Restore the result of `state_dict`."""
        shapes = [np.shape(each)[1:] for each in state["memory"]]
        expected = [tuple(each.shape) for each in self.start]
        if shapes != expected:
            raise PieceError(
                "this state is of another policy", expected=str(expected), found=str(shapes)
            )
        keys = [(env, agent) for env, agent in state["slots"]]
        with at("first"):
            columns = [shaped(state["first"], (len(keys),))]
        for place, (saved_column, shape) in enumerate(zip(state["memory"], shapes, strict=True)):
            with at("memory", place):
                columns.append(shaped(saved_column, (len(keys), *shape)))
        self.reset()
        rows = self.rows(keys)
        for memory, saved in zip([self.first, *self.memory], columns, strict=True):
            memory[rows] = xp.constant(saved, memory)

    def _opened(self, key: Key) -> int:
        row = self._row_of.get(key)
        if row is None:
            if not self._free:
                self._grow()
            row = self._row_of[key] = heappop(self._free)
            self._agents.setdefault(key[0], {})[key] = None
        return row

    def _close(self, key: Key) -> None:
        """Reset the row of a slot and mark it as free."""
        row = self._row_of.pop(key)
        for memory, start in zip(self.memory, self.start, strict=True):
            memory[row] = start
        self.first[row] = True
        heappush(self._free, row)
        agents = self._agents[key[0]]
        del agents[key]
        if not agents:
            del self._agents[key[0]]

    def _grow(self) -> None:
        used = len(self.first)
        size = max(2 * used, 8)
        if used < self.sessions.most:
            size = min(size, max(self.sessions.most, 8))
        more = size - used
        for place, (memory, start) in enumerate(zip(self.memory, self.start, strict=True)):
            fresh = xp.namespace(start).broadcast_to(start, (more, *start.shape))
            self.memory[place] = xp.concatenate([memory, fresh])
        self.first = xp.concatenate([self.first, xp.constant(np.ones(more, bool), self.first)])
        self._free = list(range(used, size))  # nothing else was free
