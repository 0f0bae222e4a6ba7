"""A policy's view of the past: columns stored per session, and the network's views of them.

A column is an array `(rows, depth, *value)`, oldest value first. Observations and rewards of the
current step are added before the network runs; its actions and states after it. All functions are
pure, for numpy or torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from .. import array_namespace as xp
from .. import nest
from ..types import Array, Nest

GIVEN: Final = frozenset({"obs", "rewards"})
"""Columns that are known before the network runs."""


@dataclass(frozen=True)
class Column:
    """A column that is remembered.

    Args:
        name: "obs", "rewards", "actions" or "state_out_<i>".
        depth: How many values the network may look at, this step's included if it is given.
        initial: One value for the time before the first step; None repeats the first
            observation.
    """

    name: str
    depth: int
    initial: Nest | None

    @property
    def is_given(self) -> bool:
        """True if this step's value is known before the network runs."""
        return self.name in GIVEN

    @property
    def kept(self) -> int:
        """Number of values that are kept after a step."""
        return self.depth - 1 if self.is_given else self.depth


@dataclass(frozen=True)
class Look:
    """How the network sees a column.

    Args:
        name: What the network calls it.
        column: The column it reads; empty for a value that is not known yet.
        offsets: Distances from the newest value; one for an entry without a time axis.
        zeros: Positions among the offsets that are not known yet.
        missing: One value of zeros, for a look without a column.
    """

    name: str
    column: str
    offsets: tuple[int, ...] = (0,)
    zeros: tuple[int, ...] = ()
    missing: Nest | None = None


def pushed(history: Any, value: Any) -> Any:
    """Append a value to a history and drop the oldest one.

    Example:
        >>> pushed(np.array([[1.0, 2.0]]), np.array([3.0]))
        array([[2., 3.]])
    """
    newest = value[:, None]
    if not history.shape[1]:
        return history
    if history.shape[1] == 1:
        return xp.cast_like(newest, history)
    return xp.concatenate([history[:, 1:], xp.cast_like(newest, history)], 1)


def with_newest(history: Any, value: Any) -> Any:
    """A history and the value of this step behind it."""
    newest = value[:, None]
    if not history.shape[1]:
        return newest
    return xp.concatenate([history, xp.cast_like(newest, history)], 1)


def where_first(first: Any, start: Any, running: Any) -> Any:
    """`start` in the rows that are the first of their episode, else `running`."""
    mask = first.reshape((-1,) + (1,) * (running.ndim - 1))
    return xp.namespace(running).where(mask, xp.cast_like(start, running), running)


def looked(look: Look, history: Nest) -> Nest:
    """Return the network's view of a history `(rows, depth, ...)` per leaf."""

    def seen(leaf: Any) -> Any:
        newest = leaf.shape[1] - 1
        places = [newest + offset for offset in look.offsets]
        if len(places) == 1:
            row = leaf[:, places[0]]
            return row * 0 if look.zeros else row
        parts = [
            leaf[:, place : place + 1] * (0 if at in look.zeros else 1)
            for at, place in enumerate(places)
        ]
        return xp.concatenate(parts, 1)

    return nest.map_structure(seen, history)


def memory_of(columns: Sequence[Column], observation: Nest) -> Mapping[str, list[Array]]:
    """The first memory of a slot: for each column its leaves `(kept, *value)`.

    `observation` is one as the network sees it, for its shape.
    """
    memory: dict[str, list[Array]] = {}
    for column in columns:
        value = nest.map_structure(np.zeros_like, observation)
        leaves = nest.flatten(value if column.initial is None else column.initial)
        memory[column.name] = [
            np.repeat(np.asarray(leaf)[None], column.kept, axis=0) for leaf in leaves
        ]
    return memory
