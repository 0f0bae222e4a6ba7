"""What a pipeline executes: user's pieces one by one, runs of built-in pieces as one step.

A kind of pipeline has a `Room`: the table of the pieces that can run together there, and a function
that joins consecutive ones. A pipeline's `Plan` is made from its list of pieces and kept until that
list is another one; the settings of pieces may change at any time, so runs read them in each call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import is_
from typing import Any, NamedTuple, TypeAlias

Given: TypeAlias = tuple[Any, dict[str, Any], list[Any], bool | None, dict[str, Any]]
"""What a call of a pipeline is about: module, batch, episodes, explore, shared data."""

Run: TypeAlias = Callable[[Given], Any]
"""One step in place of several pieces.

It returns the batch the pieces would return, or None where it cannot serve. Then it has changed
nothing that the pieces, called one by one from the first one on, would do differently.
"""


@dataclass(frozen=True, eq=False)
class Room:
    """Pieces of one kind of pipeline that can run together.

    Attributes:
        pieces: Their exact types: a subclass is the user's piece.
        join: Makes a run of consecutive ones; None where nothing is won by it.
    """

    pieces: frozenset[type]
    join: Callable[[tuple[Any, ...]], Run | None]


class Step(NamedTuple):
    """Pieces that run as one, or a single piece where there is no run.

    Attributes:
        run: To be tried first; None for a piece that runs alone.
        pieces: What it stands for, each with the name of its timer.
        name: The timer of the run.
    """

    run: Run | None
    pieces: tuple[tuple[Any, str], ...]
    name: str


class Plan:
    """The steps of a list of pieces.

    Args:
        pieces: The list as it is now.
        room: Which of them can run together; None for none.
        connected: What the pipeline remembers of the pieces it gave spaces to.

    Attributes:
        steps: In order; together they hold each piece once.
    """

    __slots__ = ("connected", "pieces", "steps")

    def __init__(self, pieces: Sequence[Any], room: Room | None, connected: object) -> None:
        self.pieces = tuple(pieces)
        self.connected = connected
        self.steps: tuple[Step, ...] = tuple(_steps(self.pieces, room))

    def fits(self, pieces: Sequence[Any], connected: object) -> bool:
        """Whether the list still holds the very pieces the plan was made for."""
        return (
            connected is self.connected
            and len(pieces) == len(self.pieces)
            and all(map(is_, pieces, self.pieces))
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy of a pipeline makes a plan of its own."""
        return _no_plan, ()


def _steps(pieces: Sequence[Any], room: Room | None) -> list[Step]:
    steps: list[Step] = []
    known: frozenset[type] = frozenset() if room is None else room.pieces
    for is_known, group in groupby(pieces, lambda piece: type(piece) in known):
        together = tuple(group)
        run = room.join(together) if room is not None and is_known and len(together) > 1 else None
        named = tuple((piece, timer_name(type(piece))) for piece in together)
        if run is None:
            steps += [Step(None, (each,), each[1]) for each in named]
        else:
            steps.append(Step(run, named, f"{named[0][1]}_to_{named[-1][1]}"))
    return steps


def _no_plan() -> None:
    return None


def timer_name(cls: type) -> str:
    """The name of a piece's class as its timer has it.

    Example:
        >>> class GetActions: ...
        >>> timer_name(GetActions)
        'get_actions'
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", cls.__name__).lower()
