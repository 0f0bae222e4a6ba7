"""What training holds does not grow with its iterations: objects are counted, by their classes."""

import pytest
from rlconnect.v2 import DQNConfig, PPOConfig, SACConfig

from tests.v2.counting_objects import Newer, grown

pytestmark = pytest.mark.torch

OFF_POLICY = {
    "train_batch_size_per_learner": 8,
    "num_steps_sampled_before_learning_starts": 32,
    "training_intensity": 1.0,
    "replay_buffer_config": {"type": "PrioritizedEpisodeReplayBuffer", "capacity": 400},
}
CONFIGS = {  # environments whose episodes are all of one length
    "PPO": lambda: (
        PPOConfig()
        .environment("Pendulum-v1")
        .training(train_batch_size=64, minibatch_size=64, num_epochs=1)
    ),
    "DQN": lambda: DQNConfig().environment("MountainCar-v0").training(**OFF_POLICY),
    "SAC": lambda: SACConfig().environment("Pendulum-v1").training(**OFF_POLICY),
}
WARM_UP, MORE = 8, 12
AT_MOST = 2
"""Fewer than episodes end in so many iterations."""


@pytest.mark.parametrize("name", CONFIGS)
def test_objects_are_as_many_after_more_iterations(name):
    """Buffers and windows are full after the first iterations; then nothing is added."""
    newer = Newer()
    config = CONFIGS[name]().env_runners(num_env_runners=0, rollout_fragment_length=32)
    config.rl_module(model_config={"fcnet_hiddens": [4]}).debugging(seed=1)
    config.reporting(
        min_sample_timesteps_per_iteration=64,
        min_time_s_per_iteration=0,
        metrics_num_episodes_for_smoothing=2,
    )
    algo = config.build_algo()
    algo.progress_line = None

    train(algo, WARM_UP)
    newer.held()  # Looking at objects for the first time makes some.
    counts = [newer.held()]
    for _ in range(2):
        train(algo, MORE)
        counts.append(newer.held())
    algo.stop()

    assert grown(counts, AT_MOST) == {}


def train(algo, count):
    for _ in range(count):
        algo.train()
