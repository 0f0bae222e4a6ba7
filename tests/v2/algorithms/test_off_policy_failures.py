"""What stops DQN and SAC, and what is left of them when it does."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from rlconnect.v2 import DQNConfig, LossError, SACConfig
from rlconnect.v2.envs.failures import EnvStepError


class Spoilt(gym.Env):
    """A number is shown; from a step on it earns what `config` says, or an exception."""

    observation_space = Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self, config):
        self.action_space = config["actions"]
        self._earned, self._fails, self._steps = config["earned"], config["fails"], 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self._steps += 1
        is_late = self._steps > 30
        if is_late and self._fails:
            raise ZeroDivisionError("the thirty-first step")
        earned = self._earned if is_late else 1.0
        return np.zeros(1, np.float32), earned, False, self._steps % 10 == 0, {}


def algorithm(kind, earned=1.0, fails=False):
    """A small one with an update after each step from the twentieth on."""
    config = DQNConfig() if kind == "DQN" else SACConfig()
    actions = Discrete(2) if kind == "DQN" else Box(-1.0, 1.0, (1,), np.float32)
    size = {"train_batch_size": 64} if kind == "DQN" else {"train_batch_size_per_learner": 64}
    return (
        config.environment(
            Spoilt, env_config={"actions": actions, "earned": earned, "fails": fails}
        )
        .env_runners(num_env_runners=0)
        .training(
            num_steps_sampled_before_learning_starts=20,
            replay_buffer_config={"type": "EpisodeReplayBuffer", "capacity": 1000},
            **size,
        )
        .rl_module(model_config={"fcnet_hiddens": [8]})
        .reporting(min_sample_timesteps_per_iteration=25, min_time_s_per_iteration=0)
        .debugging(seed=3)
        .build_algo()
    )


def weights(algo):
    return algo.learner_group.get_weights()["default_policy"]


@pytest.mark.parametrize("kind", ["DQN", "SAC"])
def test_a_loss_that_is_no_number_names_its_update_and_spares_the_weights(kind, tmp_path):
    """The checkpoint before goes on, and the weights of the run itself are finite."""
    algo = algorithm(kind, earned=float("inf"))
    algo.train()
    algo.save_to_path(tmp_path)
    before = weights(algo)

    with pytest.raises(LossError) as caught:
        algo.train()

    assert caught.value.update > 6
    assert caught.value.minibatch == 1
    assert "qf_loss" in caught.value.terms
    assert all(np.isfinite(value).all() for value in weights(algo).values())
    back = algorithm(kind)
    back.restore_from_path(tmp_path)
    for name, value in weights(back).items():
        np.testing.assert_array_equal(value, before[name])


@pytest.mark.parametrize("kind", ["DQN", "SAC"])
def test_an_environment_that_raises_ends_the_iteration_and_what_was_learnt_stays(kind):
    """It is told as the environment's; the learner has its updates, the buffer its steps."""
    algo = algorithm(kind, fails=True)
    algo.train()

    with pytest.raises(EnvStepError, match="thirty-first"):
        algo.train()

    assert len(algo.local_replay_buffer) == 30
    (learner,) = algo.learner_group.foreach_learner(lambda each: each.weights_seq_no)
    assert learner.get() == 11
