"""Pendulum-v1 with running mean and deviation of observations: PPO gets past -400.

python benchmarks/learning/pendulum.py --seeds 2
"""

from __future__ import annotations

import argparse

from rlconnect.v2 import MeanStdFilter, PPOConfig
from runs import Run, add_arguments, report, trained

GOAL, STEPS = -400.0, 400_000


def config() -> PPOConfig:
    return (
        PPOConfig()
        .environment("Pendulum-v1")
        .env_runners(
            num_env_runners=0,
            num_envs_per_env_runner=8,
            env_to_module_connector=lambda env, spaces, device: MeanStdFilter(),
        )
        .training(
            train_batch_size=2048,
            minibatch_size=128,
            num_epochs=10,
            lr=1e-3,
            gamma=0.9,
            lambda_=0.95,
            clip_param=0.2,
            use_kl_loss=False,
            # Returns reach -1,600: no clipping of values, and none of gradients, which would leave
            # nothing of the policy's.
            vf_clip_param=1e6,
        )
        .rl_module(model_config={"fcnet_hiddens": [64, 64]})
        .reporting(metrics_num_episodes_for_smoothing=40)
    )


def main() -> None:
    args = add_arguments(argparse.ArgumentParser(description=__doc__), steps=STEPS).parse_args()
    runs = [
        Run(f"seed {seed}", trained(config().debugging(seed=seed), GOAL, args.steps))
        for seed in range(args.first_seed, args.first_seed + args.seeds)
    ]
    report("Pendulum-v1 with MeanStdFilter, PPO", GOAL, runs)


if __name__ == "__main__":
    main()
