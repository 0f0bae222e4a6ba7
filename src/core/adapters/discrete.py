"""Numbers that name things: one-hot, back again, and renumbered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from .. import array_namespace as xp
from ..arrays.one_hot import index_rows
from ..errors import PieceError
from .step import Bound, Step, step


@step("one_hot")
class OneHot(Step):
    """A Discrete observation as a row with a single one."""

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """As many columns as the space has values."""
        space = self._discrete(space)
        size, start = int(space.n), int(space.start)

        def formula(value: Any) -> Any:
            if xp.is_tensor(value):
                return xp.cast(index_rows(value - start, size), np.float32)
            is_one = np.equal(np.arange(start, start + size), np.asarray(value)[..., None])
            return is_one.astype(np.float32)

        return Bound(spaces.Box(0.0, 1.0, (size,), np.float32), formula)


@step("un_one_hot")
class UnOneHot(Step):
    """The place of the largest entry of a vector, for a policy that knew a Discrete.

    Args:
        start: The number of the first place.
    """

    start: int = 0

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """As many values as the vector has features."""
        box = self._vector(space)
        start = self.start
        out = spaces.Discrete(box.shape[0], start=start)
        return Bound(out, lambda value: value.argmax(-1) + start)


@step("renumber")
class Renumber(Step):
    """Another number for each value of a Discrete observation.

    Args:
        numbers: The policy's number for each of the environment's, from its first on.
        size: How many numbers the policy knows; one more than the largest if None.
    """

    numbers: Sequence[int]
    size: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        largest = max(self.numbers, default=-1)
        if min(self.numbers, default=-1) < 0 or (self.size is not None and largest >= self.size):
            raise PieceError(
                "Renumber gives a number the policy does not know",
                expected="0 <= number" + (f" < {self.size}" if self.size else ""),
                found=f"{self.numbers}",
            )

    def bind(self, space: spaces.Space[Any]) -> Bound:
        """One number for each value of the space."""
        out = spaces.Discrete(self.size or max(self.numbers) + 1)
        return Bound(out, *table(self, self._discrete(space)))


def table(owner: Any, space: spaces.Discrete) -> tuple[Any, tuple[Any, ...]]:
    """A formula that looks numbers up, with its table.

    `owner` has `numbers`, one for each value of the space.
    """
    numbers = np.array(owner.numbers)
    if len(numbers) != space.n:
        raise owner.mismatch(f"{len(numbers)} values", space)
    return looked_up(int(space.start)), (numbers,)


def looked_up(start: int) -> Any:
    """A formula that gives the row of a table for each number from `start` on."""

    def formula(value: Any, rows: Any) -> Any:
        places = value - start if start else value
        return rows[places.long()] if xp.is_tensor(places) else rows[np.asarray(places)]

    return formula
