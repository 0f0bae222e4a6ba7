"""Learners as Ray actors. Skips itself without Ray; RLlib is never needed."""

import os
from collections import Counter

import pytest
from rlconnect.v2 import PPO, PPOConfig
from rlconnect.v2.learning.extra_learners import (
    LearnerError,
    LearnerProcesses,
    LostLearnerError,
    RayLearners,
)
from rlconnect.v2.learning.update_losses import LossError

from tests.v2.learning.learning_cases import episode
from tests.v2.learning.test_learners import STEPS, Failing, distance, group_of, weights_of

ray = pytest.importorskip("ray")


@pytest.fixture(autouse=True)
def cluster():
    """Ray Core on this machine."""
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


def test_they_learn_what_one_learns():
    """Where Ray runs they are its actors, and weights are those of one learner."""
    one, group = group_of(0, lr=1e-3), group_of(2, lr=1e-3)
    for size, each in ((12, one), (6, group)):
        for seed in range(3):
            each.update(
                episodes=[episode(9, seed, name="a"), episode(5, seed, name="b")],
                timesteps=STEPS,
                minibatch_size=size,
                num_epochs=2,
                shuffle_batch_per_epoch=True,
            )

    assert isinstance(group._others, RayLearners)
    assert ray.available_resources().get("CPU", 0) == 0
    assert distance(weights_of(one), weights_of(group)) < 1e-6
    group.shutdown()


@pytest.mark.parametrize("fails", ["raise", "kill"])
def test_one_that_fails_ends_all(fails):
    """The error names the learner, and Ray has its processors back."""
    group = group_of(2, Failing, learner_config_dict={"fails": fails})
    processes = [each.get() for each in group.foreach_learner(lambda learner: os.getpid())]
    kind = {"raise": LossError, "kill": LostLearnerError}[fails]

    with pytest.raises(kind, match=rf"learner 1 \(process {processes[1]}\)") as caught:
        group.update(episodes=[episode(8)], timesteps=STEPS)

    assert caught.value.facts["learner"] == 1
    with pytest.raises(LearnerError, match="have ended"):
        group.update(episodes=[episode(8)])


def test_without_room_they_are_processes(caplog):
    """It is told, and learning goes on."""
    group = group_of(2, num_cpus_per_learner=2)

    assert isinstance(group._others, LearnerProcesses)
    assert "no room for 2 learners" in caplog.text
    assert "num_cpus_per_learner" in caplog.text
    group.update(episodes=[episode(8)], timesteps=STEPS)
    group.shutdown()


def test_a_trial_sets_room_aside():
    """Tune is asked for each learner what it needs, and for no GPU of the main process then."""
    config = PPOConfig().env_runners(num_env_runners=1).learners(num_learners=2)
    config.learners(num_gpus_per_learner=0.5, custom_resources_per_learner={"big": 1})

    bundles = PPO.as_trainable(config).default_resource_request({}).bundles

    assert Counter(str(sorted(each.items())) for each in bundles) == {
        "[('CPU', 1.0)]": 2,
        "[('GPU', 0.5), ('big', 1.0)]": 2,
    }
