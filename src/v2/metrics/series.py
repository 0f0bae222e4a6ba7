"""Reductions of values that are kept, all or the latest, and those that need the last result."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, zip_longest
from math import nan
from time import perf_counter
from typing import Any, Final

import numpy as np
from typing_extensions import Self, override

from ...core.data.checked import count, number
from .stat import Stat, rate


class Series(Stat):
    """Keeps the values themselves, the latest `window` of them."""

    def __init__(self, *, window: int | None = None, is_cleared: bool = False) -> None:
        super().__init__(window=window, is_cleared=is_cleared)
        self._values: deque[Any] = deque(maxlen=window)

    @override
    def clear(self) -> None:
        self._waiting.clear()
        self._values.clear()

    @override
    def _add(self, values: np.ndarray[Any, Any]) -> None:
        self._values.extend(values.tolist())

    @override
    def _join(self, others: Sequence[Self]) -> None:
        # From the end and in turn: a window then holds as much of one source as of the next.
        rounds = zip_longest(*(reversed(other._values) for other in others), fillvalue=_NOTHING)
        latest = [value for value in chain(*rounds) if value is not _NOTHING]
        self._values.extend(reversed(latest))

    def _known(self) -> list[Any]:
        """The values that are numbers; in a window NaN takes the place of one."""
        return [value for value in self._values if value == value]

    @override
    def _held(self) -> dict[str, Any]:
        return {"values": [*self._values]}

    @override
    def _hold(self, data: Mapping[str, Any]) -> None:
        self._values = deque(data["values"], maxlen=self.window)


_NOTHING: Final = object()


class Mean(Series):
    """The mean of the values."""

    kind = "mean"
    _count = 0
    _total: Any = 0.0

    @override
    def clear(self) -> None:
        super().clear()
        self._count, self._total = 0, 0.0

    @override
    def _add(self, values: np.ndarray[Any, Any]) -> None:
        if self.window is not None:
            super()._add(values)
            return
        self._count += len(values)
        self._total += values.sum()

    @override
    def _result(self) -> float:
        if self.window is not None:
            numbers = self._known()
            return float(np.mean(numbers)) if numbers else nan
        return float(self._total / self._count) if self._count else nan

    @override
    def _join(self, others: Sequence[Self]) -> None:
        super()._join(others)
        self._count += sum(other._count for other in others)
        self._total += sum(other._total for other in others)

    @override
    def _held(self) -> dict[str, Any]:
        return {**super()._held(), "count": self._count, "total": float(self._total)}

    @override
    def _hold(self, data: Mapping[str, Any]) -> None:
        super()._hold(data)
        self._count, self._total = count(data["count"]), float(data["total"])


class Min(Series):
    """The smallest value."""

    kind = "min"

    @override
    def _add(self, values: np.ndarray[Any, Any]) -> None:
        super()._add(values if self.window is not None else values.min(keepdims=True))

    @override
    def _result(self) -> Any:
        return min(self._known(), default=nan)


class Max(Series):
    """The largest value."""

    kind = "max"

    @override
    def _add(self, values: np.ndarray[Any, Any]) -> None:
        super()._add(values if self.window is not None else values.max(keepdims=True))

    @override
    def _result(self) -> Any:
        return max(self._known(), default=nan)


class Percentiles(Series):
    """The values' percentiles, by percent."""

    kind = "percentiles"

    def __init__(
        self,
        *,
        window: int | None = None,
        is_cleared: bool = False,
        percents: Iterable[float] = (0, 50, 75, 90, 95, 99, 100),
    ) -> None:
        super().__init__(window=window, is_cleared=is_cleared)
        self.percents = tuple(percents)

    @override
    def like(self) -> Self:
        return type(self)(window=self.window, is_cleared=self.is_cleared, percents=self.percents)

    @override
    def _held(self) -> dict[str, Any]:
        return {**super()._held(), "percents": [*self.percents]}

    @override
    def _hold(self, data: Mapping[str, Any]) -> None:
        super()._hold(data)
        self.percents = tuple(number(each) for each in data["percents"])

    @override
    def values(self) -> list[Any]:
        self._settle()
        return [*self._values]

    @override
    def _result(self) -> dict[float, float | None]:
        if not self._values:
            return dict.fromkeys(self.percents)
        percentiles = np.percentile(np.asarray(self._values), self.percents)
        return dict(zip(self.percents, percentiles.tolist(), strict=True))


class ItemSeries(Series):
    """The values in a list, whatever they are; one source's after the other's."""

    kind = "item_series"

    @override
    def values(self) -> list[Any]:
        self._settle()
        return [*self._values]

    @override
    def _join(self, others: Sequence[Self]) -> None:
        for other in others:
            self._values.extend(other._values)

    @override
    def _settle(self) -> None:
        self._values.extend(self._waiting)
        self._waiting.clear()

    @override
    def _result(self) -> Any:
        return [*self._values] or nan


class Sum(Series):
    """The sum of the values since the last report, or of the latest ones."""

    kind = "sum"
    _per_second = nan

    @override
    def _add(self, values: np.ndarray[Any, Any]) -> None:
        super()._add(values)
        if self.window is None and len(self._values) > 1:
            total = sum(self._values)
            self._values.clear()
            self._values.append(total)

    @override
    def _result(self) -> Any:
        return sum(self._known()) if self._values else nan

    @override
    def throughput(self) -> float:
        self._settle()
        return rate(sum(self._values), self._since) if self._values else self._per_second

    @override
    def clear(self) -> None:
        if self._values:
            self._per_second = rate(sum(self._values), self._since)
        self._since = perf_counter()
        super().clear()


class Item(Stat):
    """The latest value, whatever it is."""

    kind = "item"
    lasts = True
    _value: Any = None

    @override
    def push(self, value: Any) -> None:
        self._value = value

    @override
    def clear(self) -> None:
        self._value = None

    @override
    def _result(self) -> Any:
        return self._value

    @override
    def _join(self, others: Sequence[Self]) -> None:
        for other in others:
            if other._value is not None:
                self._value = other._value

    @override
    def _held(self) -> dict[str, Any]:
        return {"value": self._value}

    @override
    def _hold(self, data: Mapping[str, Any]) -> None:
        self._value = data["value"]


class LifetimeSum(Stat):
    """The sum of all values there ever were."""

    kind = "lifetime_sum"
    _total: Any = 0
    _at_report: Any = 0
    _per_second = nan

    @override
    def clear(self) -> None:
        self._waiting.clear()
        self._total = self._at_report = 0

    def snapshot(self) -> Self:
        """Return a copy, as of a report, and keep the total."""
        self._settle()
        self._after_report()
        return self._copied()

    @override
    def throughput(self) -> float:
        self._settle()
        new = self._total - self._at_report
        return rate(new, self._since) if new else self._per_second

    @override
    def _after_report(self) -> None:
        self._per_second = rate(self._total - self._at_report, self._since)
        self._at_report = self._total
        self._since = perf_counter()

    @override
    def _add(self, values: np.ndarray[Any, Any]) -> None:
        self._total += values.sum(axis=0).tolist()

    @override
    def _result(self) -> Any:
        return self._total

    @override
    def _join(self, others: Sequence[Self]) -> None:
        self._total += sum(other._total for other in others)

    @override
    def _held(self) -> dict[str, Any]:
        return {"total": self._total}

    @override
    def _hold(self, data: Mapping[str, Any]) -> None:
        self._total = self._at_report = data["total"]
        self._since = perf_counter()


class Ema(Stat):
    """An average in which each new value has the weight `coefficient`."""

    kind = "ema"
    lasts = True
    _value: Any = nan
    _is_new = False

    def __init__(
        self,
        *,
        window: int | None = None,
        is_cleared: bool = False,
        coefficient: float = 0.01,
    ) -> None:
        super().__init__(window=window, is_cleared=is_cleared)
        self.coefficient = coefficient

    @override
    def like(self) -> Self:
        return type(self)(
            window=self.window, is_cleared=self.is_cleared, coefficient=self.coefficient
        )

    @override
    def clear(self) -> None:
        self._waiting.clear()
        self._value = nan

    @override
    def hand_over(self) -> Self:
        self._settle()
        handed_over = self._copied()
        handed_over._is_new, self._is_new = self._is_new, False
        return handed_over  # The average goes on here; only whether it moved is handed over.

    @override
    def _add(self, values: np.ndarray[Any, Any]) -> None:
        self._is_new = True
        for value in values.tolist():
            started = self._value == self._value  # not NaN
            self._value = (
                self._value + self.coefficient * (value - self._value) if started else value
            )

    @override
    def _result(self) -> Any:
        return self._value

    @override
    def _join(self, others: Sequence[Self]) -> None:
        moved = [other._value for other in others if other._is_new]
        if moved:
            self._value, self._is_new = float(np.mean(moved)), True

    @override
    def _held(self) -> dict[str, Any]:
        return {"value": self._value, "coefficient": self.coefficient}

    @override
    def _hold(self, data: Mapping[str, Any]) -> None:
        self._value, self.coefficient = data["value"], number(data["coefficient"])
