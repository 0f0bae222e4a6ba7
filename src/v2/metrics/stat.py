"""Values logged under one key, and the time a block takes."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from math import nan
from time import perf_counter
from typing import Any, ClassVar, Final

import numpy as np
from typing_extensions import Self

_FOLD_AT: Final = 4096  # Values that wait to be reduced; a forgotten logger stays small.


class Stat:
    """Values logged under one key; they wait in a list until somebody asks for the result.

    Args:
        window: How many of the latest values count; None for all since the last report.
        is_cleared: Whether a report forgets the window as well.
    """

    kind: ClassVar[str]
    lasts: ClassVar[bool] = False
    """Whether it goes on after a report even without a window."""

    def __init__(self, *, window: int | None = None, is_cleared: bool = False) -> None:
        self.window = window
        self.is_cleared = is_cleared
        self._waiting: list[Any] = []
        self._since = perf_counter()

    def push(self, value: Any) -> None:
        """Take one more value; it is looked at later."""
        self._waiting.append(value)
        if len(self._waiting) >= _FOLD_AT:
            self._settle()

    def peek(self) -> Any:
        """Reduce what is there to one value."""
        self._settle()
        return self._result()

    def values(self) -> list[Any]:
        """What the result is made of, as far as it is kept: the result alone."""
        return [self.peek()]

    def throughput(self) -> float:
        """How much of it came per second since the last report."""
        return nan

    def hand_over(self) -> Self:
        """Move everything new into a copy that can be merged elsewhere, and reset."""
        self._settle()
        handed_over = self._copied()
        self.clear()
        return handed_over

    def report(self) -> Any:
        """Return the result, and reset what is not a lifetime statistic."""
        result = self.peek()
        self._after_report()
        return result

    def merge(self, others: Sequence[Self]) -> None:
        """Add what others of this kind have handed over."""
        self._settle()
        for other in others:
            other._settle()
        self._join(others)

    def like(self) -> Self:
        """Make an empty one of the same settings."""
        return type(self)(window=self.window, is_cleared=self.is_cleared)

    def get_state(self) -> dict[str, Any]:
        """Return settings and values as plain data."""
        self._settle()
        settings = {"kind": self.kind, "window": self.window, "is_cleared": self.is_cleared}
        return {**settings, **self._held()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take values back."""
        self._waiting.clear()
        self._hold(state)

    def clear(self) -> None:
        """Forget the values."""
        raise NotImplementedError

    def _settle(self) -> None:
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            values = as_numbers(waiting)
            if self.window is None:
                values = known(values)
            if len(values):
                self._add(values)

    def _after_report(self) -> None:
        if self.is_cleared or (self.window is None and not self.lasts):
            self.clear()

    def _add(self, values: np.ndarray[Any, Any]) -> None:
        raise NotImplementedError

    def _result(self) -> Any:
        raise NotImplementedError

    def _join(self, others: Sequence[Self]) -> None:
        raise NotImplementedError

    def _copied(self) -> Self:
        copied = self.like()
        copied._hold(self._held())
        return copied

    def _held(self) -> dict[str, Any]:
        raise NotImplementedError

    def _hold(self, held: Mapping[str, Any]) -> None:
        raise NotImplementedError


class Timer:
    """Logs how long each `with` block took."""

    def __init__(self, stat: Stat) -> None:
        self._stat = stat
        self._starts: list[float] = []

    def __enter__(self) -> Self:
        self._starts.append(perf_counter())
        return self

    def __exit__(self, *raised: object) -> None:
        self._stat.push(perf_counter() - self._starts.pop())


def as_numbers(values: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Numbers, arrays or tensors of one shape as one array.

    Example:
        >>> as_numbers([1, 2, 3]).tolist()
        [1, 2, 3]
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(values[0], torch.Tensor):
        stacked = torch.stack([torch.as_tensor(value).detach() for value in values])
        array: np.ndarray[Any, Any] = stacked.cpu().numpy()
        return array
    return np.asarray(values)


def known(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Those that are numbers: NaN was logged by who had nothing to say.

    Example:
        >>> known(np.array([1.0, np.nan, 3.0])).tolist()
        [1.0, 3.0]
    """
    if values.dtype.kind != "f" or values.ndim != 1:
        return values
    numbers: np.ndarray[Any, Any] = values[~np.isnan(values)]
    return numbers


def rate(amount: float, since: float) -> float:
    """How much there was per second."""
    return amount / max(perf_counter() - since, 1e-9)
