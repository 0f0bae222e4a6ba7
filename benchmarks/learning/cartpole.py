"""PPO on CartPole-v1: mean return of 475 or more within 150,000 steps, on 9 of 10 seeds.

python benchmarks/learning/cartpole.py --seeds 10
"""

from __future__ import annotations

import argparse

from rlconnect.v2 import PPOConfig
from runs import Run, add_arguments, report, trained

GOAL, STEPS = 475.0, 150_000


def config() -> PPOConfig:
    return (
        PPOConfig()
        .environment("CartPole-v1")
        .env_runners(num_env_runners=0, num_envs_per_env_runner=8)
        .training(
            train_batch_size=2048,
            minibatch_size=256,
            num_epochs=10,
            lr=[[0, 1e-3], [STEPS, 1e-5]],
            gamma=0.99,
            lambda_=0.95,
            vf_clip_param=10_000.0,
            entropy_coeff=0.0,
            grad_clip=0.5,
        )
        .rl_module(model_config={"fcnet_hiddens": [64, 64]})
        .reporting(metrics_num_episodes_for_smoothing=50)
    )


def main() -> None:
    args = add_arguments(argparse.ArgumentParser(description=__doc__), steps=STEPS).parse_args()
    runs = [
        Run(f"seed {seed}", trained(config().debugging(seed=seed), GOAL, args.steps))
        for seed in range(args.first_seed, args.first_seed + args.seeds)
    ]
    report("CartPole-v1, PPO", GOAL, runs)


if __name__ == "__main__":
    main()
