"""Settings that change with the number of steps sampled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.errors import ConfigError


class Scheduler:
    """A number, or a line through points `(step, value)`.

    Between two points it is linear; after the last it stays.

    Args:
        fixed_value_or_schedule: The number, or the points; the first at step 0.
        framework: Kept for RLlib's sake, as is `device`.

    Example:
        >>> epsilon = Scheduler([(0, 1.0), (10, 0.5)])
        >>> epsilon.update(timestep=5), epsilon.get_current_value(), epsilon.update(timestep=99)
        (0.75, 0.75, 0.5)
    """

    def __init__(
        self, fixed_value_or_schedule: Any, *, framework: Any = None, device: Any = None
    ) -> None:
        self.framework = framework
        self.device = device
        self.validate(fixed_value_or_schedule=fixed_value_or_schedule)
        self._points = _points(fixed_value_or_schedule)
        self._value = self.at(0)

    @staticmethod
    def validate(
        *, fixed_value_or_schedule: Any, setting_name: str = "a schedule", description: str = ""
    ) -> None:
        """Validate a setting.

        Raises:
            ConfigError: It is neither a number nor a list of points in order, starting at step 0.
        """
        if isinstance(fixed_value_or_schedule, (int, float)) or fixed_value_or_schedule is None:
            return
        try:
            points = _points(fixed_value_or_schedule)
        except (TypeError, ValueError):
            points = []
        steps = [step for step, _ in points]
        if not points or steps[0] != 0 or steps != sorted(steps):
            raise ConfigError(
                setting_name,
                expected="a number or a list of [step, value], the first at step 0, in order",
                found=repr(fixed_value_or_schedule),
            )

    def get_current_value(self) -> float:
        """Return the value of the last `update`; that of step 0 before the first."""
        return self._value

    def set_current_value(self, value: float) -> None:
        """Set the current value, until the next `update`."""
        self._value = float(value)

    def update(self, timestep: int) -> float:
        """Move to a step and give its value."""
        self._value = self.at(timestep)
        return self._value

    def at(self, timestep: float) -> float:
        """The value at a step."""
        if not self._points:
            return 0.0
        before = self._points[0]
        for point in self._points:
            if point[0] > timestep:
                share = (timestep - before[0]) / (point[0] - before[0])
                return before[1] + share * (point[1] - before[1])
            before = point
        return before[1]


def _points(setting: float | Sequence[Sequence[float]] | None) -> list[tuple[float, float]]:
    if setting is None:
        return []
    if isinstance(setting, (int, float)):
        return [(0, float(setting))]
    return [(step, float(value)) for step, value in setting]
