"""Settings that change with the steps sampled."""

import pytest
from rlconnect import v2
from rlconnect.core.errors import ConfigError


def test_between_points_it_is_linear_and_then_stays():
    """Numbers recorded from real RLlib's scheduler for [(0, 0.5), (10, 0.1)]."""
    schedule = v2.Scheduler([(0, 0.5), (10, 0.1)])

    values = [schedule.update(step) for step in (0, 5, 9, 10, 11, 1000)]

    assert values == pytest.approx([0.5, 0.3, 0.14, 0.1, 0.1, 0.1])
    assert schedule.get_current_value() == pytest.approx(0.1)


@pytest.mark.parametrize(("setting", "value"), [(0.25, 0.25), (3, 3.0), (None, 0.0)])
def test_a_number_is_the_same_at_every_step(setting, value):
    """A fixed value needs no points."""
    assert v2.Scheduler(setting).update(12345) == value


@pytest.mark.parametrize("setting", [[], [(1, 0.5)], [(0, 1.0), (9, 0.5), (5, 0.1)], "fast", [3]])
def test_points_begin_at_zero_and_are_in_order(setting):
    """Anything else is refused, with the setting shown."""
    with pytest.raises(ConfigError, match="schedule"):
        v2.Scheduler(setting)
