"""Values that change with the timestep, as an exploration config describes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Protocol

from ..core.errors import ConfigError
from ..core.registry import Registry


class Schedule(Protocol):
    """A number for each timestep."""

    def value(self, timestep: int) -> float:
        """The value at a timestep."""


@dataclass(frozen=True)
class ConstantSchedule:
    """One value for ever."""

    constant: float

    def value(self, timestep: int) -> float:
        """The constant."""
        return self.constant


@dataclass(frozen=True)
class PiecewiseSchedule:
    """Straight lines between endpoints.

    Args:
        endpoints: (timestep, value) pairs, timesteps ascending.
        outside_value: The value before the first and from the last timestep on.

    Example:
        >>> PiecewiseSchedule(((0, 1.0), (100, 0.5)), 0.1).value(50)
        0.75
    """

    endpoints: tuple[tuple[int, float], ...]
    outside_value: float | None = None

    def value(self, timestep: int) -> float:
        """The point on the line, or the outside value."""
        for (start, low), (end, high) in pairwise(self.endpoints):
            if start <= timestep < end:
                return low + (timestep - start) / (end - start) * (high - low)
        if self.outside_value is None:
            raise ConfigError(
                "a piecewise schedule was asked for a timestep outside its endpoints",
                expected=f"{self.endpoints[0][0]} to {self.endpoints[-1][0]}",
                found=str(timestep),
                hint="give it an outside_value.",
            )
        return self.outside_value


@dataclass(frozen=True)
class PolynomialSchedule:
    """From `initial_p` to `final_p` within `schedule_timesteps`, bent by `power`; then flat."""

    schedule_timesteps: int
    initial_p: float
    final_p: float
    power: float = 2.0

    def value(self, timestep: int) -> float:
        """The value on the curve."""
        left = 1.0 - min(timestep, self.schedule_timesteps) / self.schedule_timesteps
        return float(self.final_p + (self.initial_p - self.final_p) * left**self.power)


@dataclass(frozen=True)
class ExponentialSchedule:
    """Every `schedule_timesteps` the value is multiplied by `decay_rate`."""

    schedule_timesteps: int
    initial_p: float = 1.0
    decay_rate: float = 0.1

    def value(self, timestep: int) -> float:
        """The value on the curve."""
        return float(self.initial_p * self.decay_rate ** (timestep / self.schedule_timesteps))


def _constant(value: float, **_: Any) -> Schedule:
    return ConstantSchedule(float(value))


def _piecewise(
    endpoints: Sequence[Sequence[float]], outside_value: float | None = None, **_: Any
) -> Schedule:
    pairs = tuple((int(step), float(level)) for step, level in endpoints)
    return PiecewiseSchedule(pairs, outside_value)


def _polynomial(
    schedule_timesteps: int,
    final_p: float = 0.0,
    initial_p: float = 1.0,
    power: float = 2.0,
    **_: Any,
) -> Schedule:
    return PolynomialSchedule(schedule_timesteps, initial_p, final_p, power)


def _linear(**settings: Any) -> Schedule:
    return _polynomial(**{**settings, "power": 1.0})


def _exponential(
    schedule_timesteps: int, initial_p: float = 1.0, decay_rate: float = 0.1, **_: Any
) -> Schedule:
    return ExponentialSchedule(schedule_timesteps, initial_p, decay_rate)


_KINDS: Final[Mapping[str, Callable[..., Schedule]]] = {
    "ConstantSchedule": _constant,
    "ExponentialSchedule": _exponential,
    "LinearSchedule": _linear,
    "PiecewiseSchedule": _piecewise,
    "PolynomialSchedule": _polynomial,
}
SCHEDULES: Final = Registry[Schedule]("schedule", _KINDS)


def class_name(kind: Any) -> str:
    """The bare class name in a config's `type`: a name, a dotted path, or the class itself."""
    name = kind if isinstance(kind, str) else getattr(kind, "__name__", type(kind).__name__)
    return name.rpartition(".")[2]


def schedule_from(config: Any) -> Schedule:
    """A schedule from plain data: a number, or a dict with `type` and the schedule's settings."""
    if isinstance(config, Mapping):
        settings = {name: value for name, value in config.items() if name != "type"}
        return SCHEDULES.get(class_name(config.get("type")))(**settings)
    if isinstance(config, (int, float)):
        return ConstantSchedule(float(config))
    if hasattr(config, "value"):
        found: Schedule = config
        return found
    raise ConfigError(
        "a schedule cannot be read",
        expected="a number or a dict with a type",
        found=type(config).__name__,
    )
