"""Which rows of a minibatch are here, where several learners share its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class RowPart:
    """The rows `start` to `stop` of so many.

    Attributes:
        start: The first one.
        stop: The one behind the last.
        whole: How many rows all learners have together.
        is_stand_in: Whether there were too few rows, and this one is another learner's: it keeps
            the networks busy and counts for nothing.

    Example:
        >>> [RowPart.of(5, learner, 2) for learner in (0, 1)][1]
        RowPart(start=2, stop=5, whole=5, is_stand_in=False)
    """

    start: int
    stop: int
    whole: int
    is_stand_in: bool = False

    @classmethod
    def of(cls, rows: int, index: int, count: int) -> RowPart:
        """The part of one of several learners, as even as can be."""
        start, stop = (rows * number // count for number in (index, index + 1))
        return cls(0, 1, rows, True) if start == stop else cls(start, stop, rows)

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def share(self) -> float:
        """Share of the total."""
        return 0.0 if self.is_stand_in else len(self) / self.whole


def drawn_for_all(
    batch: Any, inputs: Tensor, draw: Callable[[Tensor], tuple[Tensor, ...]], per_row: int = 1
) -> tuple[Tensor, ...]:
    """Draw random numbers for rows, those that one learner with all rows would draw for them.

    Learners have equal generators: each draws for the rows of all, and takes its own.

    Each row has `per_row` lines of `inputs`; `draw` gives tensors with a line for each that it
    gets.
    """
    part = getattr(batch, "part", None)
    if part is None:
        return draw(inputs)
    before, after = part.start * per_row, (part.whole - part.stop) * per_row
    shape = inputs.shape[1:]
    filled = torch.cat(
        [inputs.new_zeros((before, *shape)), inputs, inputs.new_zeros((after, *shape))]
    )
    return tuple(drawn[before : before + len(inputs)] for drawn in draw(filled))
