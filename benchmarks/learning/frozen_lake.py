"""The documents' FrozenLake: PPO on one-hot observations made by a connector.

python benchmarks/learning/frozen_lake.py --seeds 3
"""

from __future__ import annotations

import argparse
from typing import Any

import gymnasium as gym
import numpy as np
from rlconnect.v2 import PPOConfig, SingleAgentObservationPreprocessor
from runs import Run, add_arguments, report, trained

GOAL, STEPS = 0.95, 40_000


class IntObservationToOneHotTensor(SingleAgentObservationPreprocessor):
    """Number of a field -> 1 in its place."""

    def recompute_output_observation_space(self, in_obs_space: Any, in_act_space: Any) -> Any:
        return gym.spaces.Box(0.0, 1.0, (in_obs_space.n,), np.float32)

    def preprocess(self, observation: Any, episode: Any) -> Any:
        made = np.zeros(self.observation_space.shape, np.float32)
        made[observation] = 1.0
        return made


def config() -> PPOConfig:
    return (
        PPOConfig()
        .environment(
            "FrozenLake-v1",
            env_config={"desc": ["SFFF", "FHFH", "FFFH", "HFFG"], "is_slippery": False},
        )
        .env_runners(
            num_env_runners=0,
            num_envs_per_env_runner=4,
            env_to_module_connector=lambda env, spaces, device: IntObservationToOneHotTensor(),
        )
        .training(
            train_batch_size=1024,
            minibatch_size=128,
            num_epochs=6,
            lr=3e-3,
            lambda_=0.95,
            entropy_coeff=0.01,
        )
        .rl_module(model_config={"fcnet_hiddens": [32]})
    )


def main() -> None:
    args = add_arguments(argparse.ArgumentParser(description=__doc__), steps=STEPS).parse_args()
    runs = [
        Run(f"seed {seed}", trained(config().debugging(seed=seed), GOAL, args.steps))
        for seed in range(args.first_seed, args.first_seed + args.seeds)
    ]
    report("FrozenLake 4x4 without slipping, one-hot by a connector, PPO", GOAL, runs)


if __name__ == "__main__":
    main()
