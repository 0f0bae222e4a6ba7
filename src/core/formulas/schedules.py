"""Values that change with the timestep, as an exploration config describes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from ..errors import ConfigError, PieceError
from ..registry import Registry


class Schedule:
    """A number for each timestep; subclasses say which in `_value`.

    `framework` is taken for Ray's signature; numbers come out whatever it says.

    Example:
        >>> class Doubled(Schedule):
        ...     def _value(self, t):
        ...         return 2.0 * t
        >>> Doubled()(3), Doubled().value(3)
        (6.0, 6.0)
    """

    def __init__(self, framework: str | None = None) -> None:
        self.framework = framework

    def _value(self, t: Any) -> Any:
        raise PieceError(f"{type(self).__name__} gives no value.", hint="override _value(t).")

    def value(self, t: Any) -> Any:
        """The value at a timestep."""
        return self._value(t)

    def __call__(self, t: Any) -> Any:
        """The value at a timestep."""
        return self._value(t)


class ConstantSchedule(Schedule):
    """One value for ever."""

    def __init__(self, value: float, framework: str | None = None) -> None:
        super().__init__(framework)
        self.constant: Final = value

    def _value(self, t: Any) -> Any:
        return self.constant


def straight_line(left: float, right: float, share: float) -> float:
    """The point `share` of the way from `left` to `right`."""
    return left + share * (right - left)


class PiecewiseSchedule(Schedule):
    """Lines between endpoints.

    Args:
        endpoints: (timestep, value) pairs, timesteps ascending.
        framework: Accepted for compatibility with Ray.
        interpolation: What lies between two values; called with both and how far it is.
        outside_value: The value before the first and from the last timestep on.

    Raises:
        ConfigError: The timesteps do not ascend.

    Example:
        >>> PiecewiseSchedule([(0, 1.0), (100, 0.5)], outside_value=0.1).value(50)
        0.75
    """

    def __init__(
        self,
        endpoints: Sequence[Sequence[float]],
        framework: str | None = None,
        interpolation: Callable[[float, float, float], float] = straight_line,
        outside_value: float | None = None,
    ) -> None:
        super().__init__(framework)
        self.endpoints: Final = tuple((int(step), float(level)) for step, level in endpoints)
        self.interpolation: Final = interpolation
        self.outside_value: Final = outside_value
        if any(end < start for (start, _), (end, _) in pairwise(self.endpoints)):
            raise ConfigError(
                "the endpoints of a piecewise schedule are out of order",
                expected="timesteps ascending",
                found=str(self.endpoints),
            )

    def _value(self, t: Any) -> Any:
        for (start, low), (end, high) in pairwise(self.endpoints):
            if start <= t < end:
                return self.interpolation(low, high, (t - start) / (end - start))
        if self.outside_value is None:
            raise ConfigError(
                "a piecewise schedule was asked for a timestep outside its endpoints",
                expected=f"{self.endpoints[0][0]} to {self.endpoints[-1][0]}",
                found=str(t),
                hint="give it an outside_value.",
            )
        return self.outside_value


class PolynomialSchedule(Schedule):
    """From `initial_p` to `final_p` within `schedule_timesteps`, bent by `power`; then flat."""

    def __init__(
        self,
        schedule_timesteps: int,
        final_p: float = 0.0,
        framework: str | None = None,
        initial_p: float = 1.0,
        power: float = 2.0,
    ) -> None:
        super().__init__(framework)
        self.schedule_timesteps: Final = schedule_timesteps
        self.initial_p: Final = initial_p
        self.final_p: Final = final_p
        self.power: Final = power

    def _value(self, t: Any) -> Any:
        share_left = 1.0 - min(t, self.schedule_timesteps) / self.schedule_timesteps
        return self.final_p + (self.initial_p - self.final_p) * share_left**self.power


class LinearSchedule(PolynomialSchedule):
    """From `initial_p` to `final_p` within `schedule_timesteps` in a straight line; then flat."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs, power=1.0)


class ExponentialSchedule(Schedule):
    """Every `schedule_timesteps` the value is multiplied by `decay_rate`."""

    def __init__(
        self,
        schedule_timesteps: int,
        framework: str | None = None,
        initial_p: float = 1.0,
        decay_rate: float = 0.1,
    ) -> None:
        super().__init__(framework)
        self.schedule_timesteps: Final = schedule_timesteps
        self.initial_p: Final = initial_p
        self.decay_rate: Final = decay_rate

    def _value(self, t: Any) -> Any:
        return self.initial_p * self.decay_rate ** (t / self.schedule_timesteps)


_KINDS: Final[Mapping[str, Callable[..., Schedule]]] = {
    "ConstantSchedule": ConstantSchedule,
    "ExponentialSchedule": ExponentialSchedule,
    "LinearSchedule": LinearSchedule,
    "PiecewiseSchedule": PiecewiseSchedule,
    "PolynomialSchedule": PolynomialSchedule,
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
        schedule: Schedule = config
        return schedule
    raise ConfigError(
        "a schedule cannot be read",
        expected="a number or a dict with a type",
        found=type(config).__name__,
    )
