"""Priorities of rows, summed in levels so that drawing by them looks at few numbers."""

from __future__ import annotations

import numpy as np

from ...core.types import Array

_FAN = 64


class Priorities:
    """Numbers by place, with the sums and the least of each 64, of each 64 of these, and so on.

    Sums are added up anew where a number has changed, so no error builds up over time.

    Args:
        size: How many places there are.

    Attributes:
        sums: Levels of sums, the numbers themselves first; the last one has one entry.
        least: The same of the least numbers that are not 0.

    Example:
        >>> priorities = Priorities(1000)
        >>> priorities.set(np.array([3, 999]), np.array([1.0, 3.0]))
        >>> priorities.total, priorities.smallest, priorities.find(np.array([0.5, 1.0, 3.9]))
        (4.0, 1.0, array([  3, 999, 999]))
    """

    def __init__(self, size: int) -> None:
        self.size = size
        counts = [max(size, 1)]
        while counts[-1] > 1:
            counts.append(-(-counts[-1] // _FAN))
        padded = [-(-count // _FAN) * _FAN for count in counts]
        padded[-1] = 1
        self.sums = [np.zeros(count) for count in padded]
        self.least = [np.full(count, np.inf) for count in padded]

    @property
    def total(self) -> float:
        """The sum of all."""
        return float(self.sums[-1][0])

    @property
    def smallest(self) -> float:
        """The least of those that are not 0."""
        return float(self.least[-1][0])

    def set(self, places: Array, values: Array | float) -> None:
        """Set numbers; 0 takes a place out. Of a place named twice the last number counts."""
        self.sums[0][places] = values
        self.least[0][places] = np.where(self.sums[0][places] > 0, self.sums[0][places], np.inf)
        for level in range(1, len(self.sums)):
            places = places // _FAN  # One of them twice is added up twice, to the same.
            for levels, add_up in ((self.sums, np.sum), (self.least, np.min)):
                below = levels[level - 1].reshape(-1, _FAN)
                levels[level][places] = add_up(below[places], axis=1)

    def get(self, places: Array) -> Array:
        """Give numbers."""
        return self.sums[0][places]

    def find(self, marks: Array) -> Array:
        """Find where sums from the front pass some marks, each from 0 to below `total`."""
        places = np.zeros(len(marks), np.int64)
        remaining = np.array(marks, np.float64)
        for level in range(len(self.sums) - 2, -1, -1):
            passed = self.sums[level].reshape(-1, _FAN)[places].cumsum(axis=1)
            # Rounding may carry a mark past the end, where there is nothing.
            remaining = np.minimum(remaining, np.nextafter(passed[:, -1], 0.0))
            inside = (passed <= remaining[:, None]).sum(axis=1)
            before = passed[np.arange(len(places)), np.maximum(inside - 1, 0)]
            remaining = remaining - np.where(inside > 0, before, 0.0)
            places = places * _FAN + inside
        return places
