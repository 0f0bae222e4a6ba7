"""The documents' blocks that train: as they are written, but for import lines and fewer steps.

Their configs say nothing of env runners; RLlib's PPO then has two of them beside. Ray is not there
when these tests run, so sampling happens here, after a warning.
"""

import gymnasium as gym
import numpy as np
import pytest
from rlconnect.v2 import ObservationPreprocessor, PPOConfig, SingleAgentObservationPreprocessor


class IntObservationToOneHotTensor(SingleAgentObservationPreprocessor):
    """Converts int observations (Discrete) into one-hot tensors (Box)."""

    def recompute_output_observation_space(self, in_obs_space, in_act_space):
        return gym.spaces.Box(0.0, 1.0, (in_obs_space.n,), np.float32)

    def preprocess(self, observation, episode):
        new_obs = np.zeros(shape=self.observation_space.shape, dtype=np.float32)
        new_obs[observation] = 1.0
        return new_obs


class OneHot(ObservationPreprocessor):
    # The document's shape is an int, which gymnasium refuses; the comma is ours.
    def recompute_observation_space_from_input_spaces(self):
        return gym.spaces.Box(0.0, 1.0, (self.input_observation_space.n,), np.float32)

    def preprocess(self, observation):
        new_obs = np.zeros(shape=(self.input_observation_space.n,), dtype=np.float32)
        new_obs[observation] = 1.0
        return new_obs


def _trained_once(config, monkeypatch):
    monkeypatch.setattr("rlconnect.v2.algorithms.env_runner_group._has_ray", lambda: False)
    config.training(train_batch_size=64, minibatch_size=32, num_epochs=1)
    with (
        pytest.warns(DeprecationWarning, match="build_algo"),
        pytest.warns(UserWarning, match="need Ray"),
    ):
        algo = config.build()
    # Train one iteration.
    result = algo.train()
    algo.stop()
    return algo, result


def test_frozen_lake_with_one_hot_observations(monkeypatch):
    """The block on observation preprocessors builds and trains."""
    config = (
        PPOConfig()
        .environment("FrozenLake-v1", env_config={"desc": ["SF", "FG"]})
        .env_runners(
            env_to_module_connector=(lambda env, spaces, device: IntObservationToOneHotTensor()),
        )
    )

    algo, result = _trained_once(config, monkeypatch)

    assert algo.get_module().observation_space.shape == (4,)
    assert result["num_env_steps_sampled_lifetime"] == 64


@pytest.mark.filterwarnings("ignore:OneHot:DeprecationWarning")
def test_the_older_documents_block(monkeypatch):
    """Its hooks take other arguments, and its builder takes one; both train."""
    config = (
        PPOConfig()
        .environment("FrozenLake-v1", env_config={"desc": ["SF", "FG"]})
        .env_runners(env_to_module_connector=lambda env: OneHot())
    )

    algo, result = _trained_once(config, monkeypatch)

    assert algo.get_module().observation_space.shape == (4,)
    assert np.isfinite(result["learners"]["default_policy"]["total_loss"])
