"""DQN, PPO and SAC on LunarLander-v3: a mean return of 200 or more (extra `box2d`).

    python benchmarks/learning/lunar_lander.py --algo PPO --seeds 5

SAC flies the one with continuous actions. Steps at most: 100,000 for DQN and SAC, 600,000 for
PPO.
"""

from __future__ import annotations

import argparse
from typing import Any

from rlconnect.v2 import DQNConfig, PPOConfig, SACConfig
from runs import Run, add_arguments, report, trained

GOAL = 200.0
STEPS = {"DQN": 100_000, "PPO": 600_000, "SAC": 100_000}


def dqn() -> DQNConfig:
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


def ppo() -> PPOConfig:
    return (
        PPOConfig()
        .environment("LunarLander-v3")
        .env_runners(num_env_runners=0, num_envs_per_env_runner=16)
        .training(
            train_batch_size=8192,
            minibatch_size=128,
            num_epochs=6,
            lr=[[0, 1e-3], [STEPS["PPO"], 1e-4]],
            gamma=0.999,
            lambda_=0.98,
            use_kl_loss=False,
            clip_param=0.2,
            vf_clip_param=float("inf"),
            entropy_coeff=0.01,
            grad_clip=0.5,
        )
        .rl_module(model_config={"fcnet_hiddens": [64, 64]})
        .reporting(metrics_num_episodes_for_smoothing=50)
    )


def sac() -> SACConfig:
    """Settings of the RL Baselines3 Zoo, but for a fifth of its steps and smaller layers."""
    lr = [[0, 7.3e-4], [STEPS["SAC"], 1e-6]]
    return (
        SACConfig()
        .environment("LunarLander-v3", env_config={"continuous": True})
        .env_runners(num_env_runners=0)
        .training(
            actor_lr=lr,
            critic_lr=lr,
            alpha_lr=lr,
            tau=0.01,
            train_batch_size_per_learner=256,
            num_steps_sampled_before_learning_starts=10_000,
            replay_buffer_config={"type": "EpisodeReplayBuffer", "capacity": 100_000},
        )
        .rl_module(
            model_config={
                "fcnet_hiddens": [128, 128],
                "fcnet_activation": "relu",
                "head_fcnet_hiddens": [],
                "qf_encoder_joins_inputs": True,
            }
        )
        .reporting(min_sample_timesteps_per_iteration=2500, min_time_s_per_iteration=0)
    )


CONFIGS = {"DQN": dqn, "PPO": ppo, "SAC": sac}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--algo", choices=CONFIGS, default="DQN")
    args: Any = add_arguments(parser, steps=0).parse_args()
    runs = [
        Run(
            f"seed {seed}",
            trained(
                CONFIGS[args.algo]().debugging(seed=seed), GOAL, args.steps or STEPS[args.algo]
            ),
        )
        for seed in range(args.first_seed, args.first_seed + args.seeds)
    ]
    report(f"LunarLander-v3, {args.algo}", GOAL, runs)


if __name__ == "__main__":
    main()
