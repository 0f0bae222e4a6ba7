"""When trials have done enough."""

import warnings

import pytest
from rlconnect.core.errors import ConfigError
from rlconnect.v2 import tuning
from rlconnect.v2.tuning.stopping import stopper_of

RESULT = {"env_runners": {"episode_return_mean": 20.0}, "training_iteration": 3, "a/b": 1}


@pytest.mark.parametrize(
    ("stop", "is_enough"),
    [
        ({"training_iteration": 3}, True),
        ({"training_iteration": 4}, False),
        ({"env_runners/episode_return_mean": 20}, True),
        ({"env_runners/episode_return_mean": 21, "training_iteration": 3}, True),
        ({"a/b": 1}, True),
        ({"env_runners/not_yet": 0}, False),
        ({"evaluation/env_runners/episode_return_mean": 0}, False),
        (lambda trial_id, result: result["training_iteration"] >= 3, True),
        (tuning.MaximumIterationStopper(1), True),
        ([tuning.NoopStopper(), tuning.MaximumIterationStopper(2)], False),
        (None, False),
    ],
)
def test_criteria(stop, is_enough):
    """A trial ends when one of its criteria is reached, none of them warns without reason."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert stopper_of(stop)("trial", RESULT) is is_enough


@pytest.mark.parametrize("stop", [5, ["a"], {"env_runners": {"episode_return_mean": 3}}])
def test_other_criteria_are_refused(stop):
    """What could end nothing is told before anything runs."""
    with pytest.raises(ConfigError):
        stopper_of(stop)


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("episode_reward_mean", "env_runners/episode_return_mean"),
        ("env_runners/episode_reward_mean", "env_runners/episode_return_mean"),
        ("training_iterations", "training_iteration"),
    ],
)
def test_a_metric_that_will_not_come_is_told(path, meant):
    """Old names get their new one: a run that never ends helps nobody."""
    stopper = stopper_of({path: 3})

    with pytest.warns(UserWarning, match=f"did you mean '{meant}'"):
        assert not stopper("trial", RESULT)


def test_a_time_budget_ends_all():
    """A budget that is spent ends every trial."""
    assert stopper_of(None, time_budget_s=0).stop_all()
    assert not stopper_of({"training_iteration": 1}, time_budget_s=1000).stop_all()


def test_a_metric_that_stands_still_ends_its_trial():
    """Four equal results are a plateau; a threshold keeps low ones going."""
    flat = tuning.TrialPlateauStopper("score")
    low = tuning.TrialPlateauStopper("score", metric_threshold=2.0, mode="max")

    assert [flat("a", {"score": 1.0}) for _ in range(4)] == [False] * 3 + [True]
    assert [low("a", {"score": 1.0}) for _ in range(4)] == [False] * 4
    assert not flat("b", {"score": 1.0})


def test_results_that_come_again_after_a_failure_count_once():
    """A trial that went back to its second result still has five of them, not seven."""
    enough = tuning.MaximumIterationStopper(5)

    ends = [enough("a", {"training_iteration": n}) for n in (1, 2, 3, 4, 3, 4, 5)]

    assert ends == [False] * 6 + [True]
    assert [enough("b", {}) for _ in range(5)] == [False] * 4 + [True]
    assert not enough("c", {"training_iteration": 11})  # it began from a checkpoint
