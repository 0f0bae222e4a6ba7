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

from .stateful_modules import is_stateful


class Call:
    """What one call of a pipeline is about, beside the batch.

    Attributes:
        rl_module: The module the pipeline leads to or comes from.
        episodes: Where the data comes from.
        explore: Whether the module explores.
        shared_data: For pieces and pipelines to tell each other things.
        is_multi: Whether the module is several modules by id.
        kinds: Classes of the modules' distributions by id, where they are kept for many calls.
        owners: Whose rows it are, where that is known without `memorized_map_structure`: ids of
            episodes, or ids of episode and agent by module id.
    """

    is_multi = False
    kinds: dict[Any, Any] | None = None
    owners: Any = None
    _has_state: bool | None = None

    def __init__(
        self,
        rl_module: Any,
        episodes: Any,
        explore: bool | None,
        shared_data: dict[str, Any],
    ) -> None:
        self.rl_module = rl_module
        self.episodes = episodes
        self.explore = explore
        self.shared_data = shared_data

    def has_state(self) -> bool:
        """Whether the module carries a state; it is asked once."""
        if self._has_state is None:
            self._has_state = is_stateful(self.rl_module)
        return self._has_state


Run: TypeAlias = Callable[[dict[str, Any], Call], Any]
"""One step in place of several pieces.

It returns the batch the pieces would return, or None where it cannot serve. Then it has changed
nothing that the pieces, called one by one from the first one on, would do differently.
"""


@dataclass(frozen=True, eq=False)
class Room:
    """Pieces of one kind of pipeline that can run together.

    Attributes:
        holds: Whether a piece can; a subclass of one that can is the user's piece.
        join: Makes a run of consecutive ones; None where nothing is won by it.
    """

    holds: Callable[[Any], bool]
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

    __slots__ = ("_is_compared", "connected", "pieces", "steps")

    def __init__(self, pieces: Sequence[Any], room: Room | None, connected: object) -> None:
        self.pieces = [*pieces]
        self.connected = connected
        self.steps: tuple[Step, ...] = tuple(_steps(self.pieces, room))
        # Lists of pieces that are equal to nothing but themselves are soonest compared as lists.
        self._is_compared = all(
            "__eq__" not in vars(kind) for piece in pieces for kind in type(piece).__mro__[:-1]
        )

    def fits(self, pieces: list[Any], connected: object) -> bool:
        """Whether the list still holds the very pieces the plan was made for."""
        if connected is not self.connected:
            return False
        if self._is_compared:
            return pieces == self.pieces
        return len(pieces) == len(self.pieces) and all(map(is_, pieces, self.pieces))

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy of a pipeline makes a plan of its own."""
        return _no_plan, ()


def explained(plan: Plan, room: Room | None) -> list[str]:
    """How the pieces of a plan run, and why: a line for each step."""
    lines = []
    for run, named, _ in plan.steps:
        names = ", ".join(type(piece).__name__ for piece, _ in named)
        if run is not None:
            refusal = getattr(run, "refusal", "")
            lines.append(f"{names}: together" + f"; once one by one: {refusal}" * bool(refusal))
            continue
        piece = named[0][0]
        if room is None:
            why = "this kind of pipeline calls each piece"
        elif room.holds(piece):
            why = "no piece beside it makes arrays of items or items of arrays"
        elif type(piece).__module__.partition(".")[0] == __name__.partition(".")[0]:
            why = "it works by itself"
        else:
            why = "a piece of your own is given dicts and lists"
        lines.append(f"{names}: alone: {why}")
    return lines


def _steps(pieces: Sequence[Any], room: Room | None) -> list[Step]:
    steps: list[Step] = []
    for is_known, group in groupby(pieces, lambda piece: room is not None and room.holds(piece)):
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
