"""A student's filters: they count at first, and stand still for the lessons after that."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ...v2.connectors.env_to_module.mean_std_filter import MeanStdFilter

_SETTLING: Final = 2_000
_SHARE: Final = 8
"""It takes an eighth of the steps at most."""


class Settling:
    """Filters that count what they see.

    Episodes hold what a filter made of a state when it was seen. While it counts, the same state
    becomes something else each time, and a student that learns from all of them learns nothing
    well. What was begun elsewhere (grafted, taught before) has weights that fit its filters: these
    stand still from the start.

    Args:
        pieces: The pieces that a student sees through.
        steps: How many steps are played at most.
    """

    def __init__(self, pieces: Iterable[Any], steps: int) -> None:
        mine = [
            piece for piece in pieces if isinstance(piece, MeanStdFilter) and piece.update_stats
        ]
        self._filters = mine
        self._first = 0 if any(piece.num_counted for piece in mine) else steps // _SHARE
        self._is_over = not mine

    def is_over_at(self, played: int) -> bool:
        """Stop the filters once enough was played; True the one time that this happens."""
        if self._is_over or played < min(_SETTLING, self._first):
            return False
        self._is_over = True
        for piece in self._filters:
            piece.update_stats = False
        return True

    def end(self) -> None:
        """Let filters count again, for what comes after the lessons."""
        for piece in self._filters:
            piece.update_stats = True
