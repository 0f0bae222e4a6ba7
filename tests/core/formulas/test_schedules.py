"""Schedules are read from plain data; values are held by test_exploration_config."""

import pytest
from rlconnect.core.errors import ConfigError, UnknownNameError
from rlconnect.core.formulas.schedules import PiecewiseSchedule, class_name, schedule_from


def test_a_number_is_a_constant():
    """A bare number stays what it is."""
    assert schedule_from(0.25).value(10**6) == 0.25


def test_framework_and_other_keys_are_no_obstacle():
    """Saved schedule settings may carry keys of Ray's own."""
    config = {"type": "ray.rllib.utils.schedules.ConstantSchedule", "value": 2, "framework": "tf"}

    assert schedule_from(config).value(0) == 2.0


def test_a_schedule_object_is_taken_as_it_is():
    """An object that already knows its values is not touched."""
    given = PiecewiseSchedule(((0, 1.0), (10, 0.0)), 0.0)

    assert schedule_from(given) is given


def test_outside_its_endpoints_a_schedule_needs_a_value():
    """Without an outside value a timestep beyond the end is an error, not a guess."""
    with pytest.raises(ConfigError, match="0 to 10"):
        PiecewiseSchedule(((0, 1.0), (10, 0.0))).value(11)


def test_what_cannot_be_read_is_named():
    """Wrong types and unknown schedule names are refused."""
    with pytest.raises(ConfigError, match="list"):
        schedule_from([1, 2])
    with pytest.raises(UnknownNameError, match="LinearSchedule"):
        schedule_from({"type": "LinarSchedule"})


@pytest.mark.parametrize("kind", ["a.b.PiecewiseSchedule", PiecewiseSchedule])
def test_class_names_come_from_paths_and_classes(kind):
    """A path and a class have the same bare name."""
    assert class_name(kind) == "PiecewiseSchedule"
