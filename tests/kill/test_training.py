"""A run that is killed goes on to the results of an unbroken one."""

import os
import random

import pytest

from tests.kill.kill import in_child
from tests.kill.training import differences, go, is_over

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked processes"),
    pytest.mark.torch,
]


def test_a_killed_run_goes_on_to_the_same_results(tmp_path):
    """Killed at three things that it asks of the system, whichever they are."""
    rng = random.Random(11)
    assert is_over(in_child(lambda: go(tmp_path / "whole", "PPO")))

    for events in (rng.randint(1, 40), rng.randint(40, 300), rng.randint(300, 900)):
        assert not is_over(in_child(lambda: go(tmp_path / "killed", "PPO", events)))  # noqa: B023
    assert is_over(in_child(lambda: go(tmp_path / "killed", "PPO")))

    assert differences(tmp_path / "killed", tmp_path / "whole") == []
