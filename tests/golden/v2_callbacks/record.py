"""Records which callbacks RLlib calls in a small run of PPO, in order, with their arguments' names.

    python record.py recorded.json      (Ray 2.60)
"""
import json
import sys
import tempfile

import gymnasium as gym
import numpy as np
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.callbacks.callbacks import RLlibCallback

CALLS = []
HOOKS = [name for name in dir(RLlibCallback) if name.startswith("on_")]


class Countdown(gym.Env):
    observation_space = gym.spaces.Box(0.0, 100.0, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, config=None):
        self.made = 0

    def reset(self, *, seed=None, options=None):
        self.left = 4
        return np.array([self.left], np.float32), {}

    def step(self, action):
        self.left -= 1
        return np.array([self.left], np.float32), 1.0, self.left == 0, False, {}


def hook(name):
    def call(self, **given):
        runner = given.get("env_runner")
        where = "" if runner is None else ("evaluation" if runner.config.in_evaluation else "training")
        CALLS.append([name, where, given.get("env_index"), sorted(given)])

    return call


Recording = type("Recording", (RLlibCallback,), {name: hook(name) for name in HOOKS})

if __name__ == "__main__":
    config = (
        PPOConfig()
        .environment(Countdown)
        .env_runners(num_env_runners=0, num_envs_per_env_runner=2, rollout_fragment_length=10)
        .training(train_batch_size_per_learner=20, minibatch_size=10, num_epochs=1)
        .rl_module(model_config={"fcnet_hiddens": [4]})
        .evaluation(evaluation_interval=2, evaluation_duration=2, evaluation_num_env_runners=0)
        .callbacks(Recording)
    )
    algo = config.build_algo()
    for _ in range(3):
        algo.train()
    path = tempfile.mkdtemp()
    algo.save_to_path(path)
    algo.load_checkpoint(path)
    algo.train()
    algo.stop()
    with open(sys.argv[1], "w") as file:
        json.dump({"ray": "2.60.0", "calls": CALLS}, file)
