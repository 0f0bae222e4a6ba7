"""Stop criteria of a training run."""

import pytest
from rlconnect.core.errors import ConfigError
from rlconnect.v2.runs.kept_checkpoints import KeptCheckpoints
from rlconnect.v2.runs.stop_criteria import enough_of, warn_if_never

RESULT = {"env_runners": {"episode_return_mean": 20.0}, "training_iteration": 3, "a/b": 1}


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
    with pytest.warns(UserWarning, match=f"did you mean '{meant}'"):
        warn_if_never(path, RESULT)


@pytest.mark.parametrize("path", ["a/b", "env_runners/not_yet", "evaluation/env_runners/x"])
def test_a_metric_that_may_come_is_no_warning(path, recwarn):
    """Metrics that are there, or that later results may have."""
    warn_if_never(path, RESULT)

    assert not recwarn


@pytest.mark.parametrize("stop", [5, "return", "return=x", "nothing=3", "steps=5m"])
def test_other_criteria_are_refused(stop):
    """What could end nothing is refused before anything runs."""
    with pytest.raises(ConfigError):
        enough_of(stop)


@pytest.mark.parametrize("settings", [(0, 1, None, "max"), (1, -1, None, "max"), (1, 1, "a", "up")])
def test_impossible_settings_of_checkpoints_are_refused(settings):
    """Counts below what means anything, and a mode that is neither."""
    with pytest.raises(ConfigError, match="TrainingRun"):
        KeptCheckpoints(*settings)
