"""DQN on LunarLander-v3: mean return of 200 or more within 100,000 steps (extra `box2d`).

python benchmarks/learning/lunar_lander.py --seeds 5
"""

from __future__ import annotations

import argparse

from rlconnect.v2 import DQNConfig
from runs import Run, add_arguments, report, trained

GOAL, STEPS = 200.0, 100_000


def config() -> DQNConfig:
    return (
        DQNConfig()
        .environment("LunarLander-v3")
        .env_runners(num_env_runners=0, rollout_fragment_length=8)
        .training(
            lr=6.3e-4,
            train_batch_size=64,
            training_intensity=64.0,
            target_network_update_freq=250,
            epsilon=[(0, 1.0), (12_000, 0.05)],
            grad_clip=10.0,
            replay_buffer_config={"type": "EpisodeReplayBuffer", "capacity": 100_000},
        )
        .rl_module(model_config={"fcnet_hiddens": [128, 128], "head_fcnet_hiddens": []})
        .reporting(metrics_num_episodes_for_smoothing=20, min_sample_timesteps_per_iteration=2500)
    )


def main() -> None:
    args = add_arguments(argparse.ArgumentParser(description=__doc__), steps=STEPS).parse_args()
    runs = [
        Run(f"seed {seed}", trained(config().debugging(seed=seed), GOAL, args.steps))
        for seed in range(args.first_seed, args.first_seed + args.seeds)
    ]
    report("LunarLander-v3, DQN", GOAL, runs)


if __name__ == "__main__":
    main()
