"""Callbacks are called as RLlib calls them: the same hooks, in the same order, with their names."""

import json
from pathlib import Path

import gymnasium as gym
import numpy as np
from rlconnect.v2 import PPOConfig, RLlibCallback
from rlconnect.v2.config.callbacks import HOOKS

RECORDED = Path(__file__).parents[2] / "golden/v2_callbacks/recorded.json"


class Countdown(gym.Env):
    """Ends after four steps, whoever acts: the order of calls follows from nothing else."""

    observation_space = gym.spaces.Box(0.0, 100.0, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, config=None):
        self.left = 0

    def reset(self, *, seed=None, options=None):
        self.left = 4
        return np.array([self.left], np.float32), {}

    def step(self, action):
        self.left -= 1
        return np.array([self.left], np.float32), 1.0, self.left == 0, False, {}


CALLS = []


def hook(name):
    """A hook that notes its call."""

    def call(self, **given):
        runner = given.get("env_runner")
        where = ("training", "evaluation")[runner.config.in_evaluation] if runner else ""
        CALLS.append([name, where, given.get("env_index"), sorted(given)])

    return call


Recording = type("Recording", (RLlibCallback,), {name: hook(name) for name in HOOKS})


def test_hooks_are_called_in_rllibs_order(tmp_path):
    """Over three iterations with evaluations, a checkpoint that is loaded, and one more."""
    CALLS.clear()
    config = (
        PPOConfig()
        .environment(Countdown)
        .env_runners(num_env_runners=0, num_envs_per_env_runner=2, rollout_fragment_length=10)
        .training(train_batch_size_per_learner=20, minibatch_size=10, num_epochs=1)
        .rl_module(model_config={"fcnet_hiddens": [4]})
        .evaluation(evaluation_interval=2, evaluation_duration=2)
        .callbacks(Recording)
    )
    algo = config.build_algo()
    for _ in range(3):
        algo.train()
    algo.save_to_path(tmp_path / "saved")
    algo.load_checkpoint(tmp_path / "saved")
    algo.train()
    algo.stop()

    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))["calls"]
    order = [call[:3] for call in CALLS]
    assert order[: len(recorded)] == [call[:3] for call in recorded]
    named = {name: given for name, _, _, given in recorded}
    ours = {name: given for name, _, _, given in CALLS}
    assert {name: set(given) - set(ours[name]) for name, given in named.items()} == {
        name: set() for name in named
    }
