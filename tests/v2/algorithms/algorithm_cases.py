"""Small runs that tests of algorithms share."""

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box, Discrete
from rlconnect.v2 import PPOConfig, SingleAgentEpisode

OBS, ACT = Box(-5.0, 5.0, (4,), np.float32), Discrete(2)


def small(**env_runners):
    """PPO on CartPole, a few hundred steps an iteration."""
    return (
        PPOConfig()
        .environment("CartPole-v1")
        .env_runners(**{"num_env_runners": 0, "num_envs_per_env_runner": 2, **env_runners})
        .training(train_batch_size=128, minibatch_size=64, num_epochs=2, lr=1e-3)
        .rl_module(model_config={"fcnet_hiddens": [8]})
        .debugging(seed=5)
    )


def curve(result):
    """What two equal runs have in common: everything but times."""
    runner, learner = result["env_runners"], result["learners"]["default_policy"]
    return {
        "iteration": result["training_iteration"],
        "steps": result["num_env_steps_sampled_lifetime"],
        "return": runner.get("episode_return_mean"),
        "episodes": runner["num_episodes_lifetime"],
        **{
            name: learner[name]
            for name in (
                "total_loss",
                "curr_kl_coeff",
                "curr_entropy_coeff",
                "default_optimizer_learning_rate",
                "weights_seq_no",
            )
        },
    }


def recorded(count=6, length=20, seed=0):
    """Episodes of somebody who acts by the sign of the third feature."""
    rng = np.random.default_rng(seed)
    episodes = []
    for index in range(count):
        observations = rng.uniform(-1.0, 1.0, (length + 1, 4)).astype(np.float32)
        episodes.append(
            SingleAgentEpisode(
                id_=f"recorded {index}",
                observations=list(observations),
                actions=[int(each[2] > 0) for each in observations[:-1]],
                rewards=[1.0] * length,
                terminated=True,
                observation_space=OBS,
                action_space=ACT,
                len_lookback_buffer=0,
            )
        )
    return episodes


class Countdown(gym.Env):
    """Ends after so many steps; every step is worth 1."""

    observation_space = Box(0.0, 100.0, (1,), np.float32)
    action_space = Discrete(2)

    def __init__(self, config=None):
        self.length = dict(config or {}).get("length", 5)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = self.length
        return np.array([self.left], np.float32), {}

    def step(self, action):
        self.left -= 1
        return np.array([self.left], np.float32), 1.0, self.left == 0, False, {}
