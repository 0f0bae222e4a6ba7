"""CartPole without velocities, which have to be remembered: an LSTM solves it, an MLP cannot.

python benchmarks/learning/memory.py
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium as gym
import numpy as np
from rlconnect.v2 import PPOConfig, register_env
from runs import Run, add_arguments, report, trained

GOAL, STEPS = 300.0, 250_000


class PositionsOnly(gym.ObservationWrapper):
    """Leaves the position of the cart and the angle of the pole."""

    def __init__(self, env: gym.Env) -> None:
        super().__init__(env)
        space = env.observation_space
        self.observation_space = gym.spaces.Box(space.low[[0, 2]], space.high[[0, 2]], (2,))

    def observation(self, observation: Any) -> Any:
        return np.asarray(observation)[[0, 2]]


def config(use_lstm: bool) -> PPOConfig:
    return (
        PPOConfig()
        .environment("positions-only")
        .env_runners(num_env_runners=0, num_envs_per_env_runner=16)
        .training(
            train_batch_size=2048,
            minibatch_size=256,
            num_epochs=8,
            lr=1e-3,
            lambda_=0.95,
            clip_param=0.2,
            use_kl_loss=False,
            vf_clip_param=10_000.0,
            vf_loss_coeff=0.5,
        )
        .rl_module(
            model_config={
                "fcnet_hiddens": [64],
                "use_lstm": use_lstm,
                "lstm_cell_size": 64,
                "max_seq_len": 20,
                # Values of this size would drown the policy in layers they share.
                "vf_share_layers": False,
            }
        )
    )


def main() -> None:
    parser = add_arguments(argparse.ArgumentParser(description=__doc__), steps=STEPS)
    args = parser.parse_args()
    register_env("positions-only", lambda _: PositionsOnly(gym.make("CartPole-v1")))
    runs = [
        Run(
            f"{'LSTM' if use_lstm else 'MLP'}, seed {seed}",
            trained(config(use_lstm).debugging(seed=seed), GOAL, args.steps),
        )
        for use_lstm in (True, False)
        for seed in range(args.first_seed, args.first_seed + args.seeds)
    ]
    report("CartPole without velocities, PPO", GOAL, runs)


if __name__ == "__main__":
    main()
