"""DQN on CartPole-v1: mean return of 450 or more within 80,000 steps.

python benchmarks/learning/cartpole_dqn.py --seeds 3
"""

from __future__ import annotations

import argparse

from rlconnect.v2 import DQNConfig
from runs import Run, add_arguments, report, trained

GOAL, STEPS = 450.0, 80_000


def config() -> DQNConfig:
    return (
        DQNConfig()
        .environment("CartPole-v1")
        .env_runners(num_env_runners=0, rollout_fragment_length=256)
        .training(
            lr=2.3e-3,
            train_batch_size=64,
            training_intensity=32.0,
            target_network_update_freq=256,
            double_q=False,
            dueling=False,
            epsilon=[(0, 1.0), (8000, 0.04)],
            grad_clip=10.0,
            replay_buffer_config={"type": "EpisodeReplayBuffer", "capacity": 100_000},
        )
        .rl_module(model_config={"fcnet_hiddens": [256, 256], "head_fcnet_hiddens": []})
        .reporting(metrics_num_episodes_for_smoothing=10, min_sample_timesteps_per_iteration=2000)
    )


def main() -> None:
    args = add_arguments(argparse.ArgumentParser(description=__doc__), steps=STEPS).parse_args()
    runs = [
        Run(f"seed {seed}", trained(config().debugging(seed=seed), GOAL, args.steps))
        for seed in range(args.first_seed, args.first_seed + args.seeds)
    ]
    report("CartPole-v1, DQN", GOAL, runs)


if __name__ == "__main__":
    main()
