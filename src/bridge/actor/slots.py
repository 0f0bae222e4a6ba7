"""Whose row is whose: what slots remember, one row of every array a slot."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from ...core import xp
from ...core.checked import shaped
from ...core.damage import at
from ...core.errors import PieceError
from ...core.types import Array
from .recall import where_first

Rows = slice | Array
Key = tuple[Hashable, Hashable]
"""Whose a slot is: (env_id, agent_id)."""
DEFAULT_AGENT: Final = "agent"
_DEFAULT: Final[dict[int, list[Key]]] = {}


def default_keys(count: int) -> list[Key]:
    """The slots of a batch that names none: its rows."""
    known = _DEFAULT.get(count)
    if known is None:
        known = _DEFAULT[count] = [(row, DEFAULT_AGENT) for row in range(count)]
    return known


class Slots:
    """Rows of memory by environment and agent; a slot that nobody knows begins an episode.

    Args:
        start: What a slot remembers at first, without the leading axis.

    Example:
        >>> slots = Slots((np.zeros(2),))
        >>> rows = slots.rows([("env", "agent")])
        >>> slots.first[rows], slots.memory[0][rows]
        (array([ True]), array([[0., 0.]]))
    """

    def __init__(self, start: Sequence[Array]) -> None:
        self.start: tuple[Any, ...] = tuple(start)
        self.memory: list[Any] = [np.zeros((0, *each.shape), each.dtype) for each in start]
        self.first: Any = np.ones(0, bool)
        self._row_of: dict[Key, int] = {}
        self._free: list[int] = []
        self._asked: Sequence[Key] = ()
        self._found: Rows = slice(0, 0)

    def __len__(self) -> int:
        return len(self._row_of)

    def rows(self, keys: Sequence[Key]) -> Rows:
        """The rows of slots, opened where they are new.

        Raises:
            PieceError: One slot is asked for twice: its second answer depends on its first.
        """
        if keys is self._asked or keys == self._asked:
            return self._found
        if len(set(keys)) < len(keys):
            raise PieceError(
                "a slot stands twice in one batch, but its second answer depends on its first",
                expected="each (env_id, agent_id) once",
                hint="give env_ids that tell the slots apart, or act in several calls.",
            )
        places = [self._opened(key) for key in keys]
        start = places[0] if places else 0
        is_run = places == list(range(start, start + len(places)))
        self._asked = list(keys)
        self._found = slice(start, start + len(places)) if is_run else np.array(places, np.intp)
        return self._found

    def keep(self, rows: Rows, memory: Sequence[Any]) -> None:
        """Take what rows are to remember; their next step is not the first of an episode."""
        for kept, new in zip(self.memory, memory, strict=True):
            kept[rows] = new
        self.first[rows] = False

    def end(self, rows: Rows, ended: Any) -> None:
        """Let another episode begin in those of `rows` whose mask says that theirs ended."""
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
        gone = None if env_ids is None else set(env_ids)
        for key in [key for key in self._row_of if gone is None or key[0] in gone]:
            row = self._row_of.pop(key)
            for memory, start in zip(self.memory, self.start, strict=True):
                memory[row] = start
            self.first[row] = True
            self._free.append(row)
        self._free.sort(reverse=True)
        self._asked = ()

    def state_dict(self) -> dict[str, Any]:
        """Every slot and what it remembers, as plain data and arrays."""
        keys = list(self._row_of)
        rows = np.array([self._row_of[key] for key in keys], np.intp)
        return {
            "slots": [list(key) for key in keys],
            "first": xp.to_numpy(self.first[rows]),
            "memory": [xp.to_numpy(memory[rows]) for memory in self.memory],
        }

    @at()
    def load_state_dict(self, state: Any) -> None:
        """Go on from what `state_dict` gave.

        Raises:
            PieceError: It is another policy's.
        """
        shapes = [np.shape(each)[1:] for each in state["memory"]]
        expected = [tuple(each.shape) for each in self.start]
        if shapes != expected:
            raise PieceError(
                "this state is of another policy", expected=str(expected), found=str(shapes)
            )
        keys = [(env, agent) for env, agent in state["slots"]]
        with at("first"):
            given = [shaped(state["first"], (len(keys),))]
        for place, (held, shape) in enumerate(zip(state["memory"], shapes, strict=True)):
            with at("memory", place):
                given.append(shaped(held, (len(keys), *shape)))
        self.reset()
        rows = self.rows(keys)
        for memory, saved in zip([self.first, *self.memory], given, strict=True):
            memory[rows] = xp.constant(saved, memory)

    def _opened(self, key: Key) -> int:
        row = self._row_of.get(key)
        if row is None:
            if not self._free:
                self._grow()
            row = self._row_of[key] = self._free.pop()
        return row

    def _grow(self) -> None:
        known = len(self.first)
        size = max(2 * known, 8)
        more = size - known
        for place, (memory, start) in enumerate(zip(self.memory, self.start, strict=True)):
            fresh = xp.namespace(start).broadcast_to(start, (more, *start.shape))
            self.memory[place] = xp.concatenate([memory, fresh])
        self.first = xp.concatenate([self.first, xp.constant(np.ones(more, bool), self.first)])
        self._free = [*range(size - 1, known - 1, -1), *self._free]
