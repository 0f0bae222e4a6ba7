"""Reductions that need no more than their last result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan
from time import perf_counter
from typing import Any

import numpy as np
from typing_extensions import Self, override

from ...core.data.checked import number
from .stat import Stat, rate


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
