"""How long the connectors of a pipeline take, measured once somebody asks."""

from __future__ import annotations

from collections import deque
from time import perf_counter

from typing_extensions import Self


class Timer:
    """The last durations of something, each of them a `with` block.

    Example:
        >>> timer = Timer()
        >>> timer.push(2.0)
        >>> timer.push_units_processed(8)
        >>> timer.mean, timer.count, timer.mean_throughput
        (2.0, 1, 4.0)
    """

    def __init__(self, window_size: int = 10) -> None:
        self._samples: deque[float] = deque(maxlen=window_size)
        self._units: deque[float] = deque(maxlen=window_size)
        self._starts: list[float] = []
        self.count = 0

    def __enter__(self) -> Self:
        self._starts.append(perf_counter())
        return self

    def __exit__(self, *raised: object) -> None:
        self.push(perf_counter() - self._starts.pop())

    def push(self, seconds: float) -> None:
        """Note one more duration."""
        self._samples.append(seconds)
        self.count += 1

    def push_units_processed(self, count: float) -> None:
        """Note how much was done in the last duration."""
        self._units.append(count)

    def has_units_processed(self) -> bool:
        """Whether anybody said how much was done."""
        return bool(self._units)

    @property
    def mean(self) -> float:
        """Seconds, on average."""
        return sum(self._samples) / max(1, len(self._samples))

    @property
    def mean_units_processed(self) -> float:
        """Average number of units per run."""
        return sum(self._units) / max(1, len(self._units))

    @property
    def mean_throughput(self) -> float:
        """Average number of units per second."""
        seconds = sum(self._samples)
        return sum(self._units) / seconds if seconds else 0.0
