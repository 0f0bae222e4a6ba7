"""SAC on Pendulum-v1, here and on real Ray: the same settings, returns by episodes.

    python benchmarks/learning/sac_pendulum.py --seeds 3 [--ray]

With `--ray` in an interpreter that has Ray; it needs nothing of rlconnect. A run has 20 episodes
of 200 steps, one update a step after the first 500; a policy that knows nothing earns -1,200.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from typing import Any

import gymnasium as gym

STEPS, LAST = 4_000, 4


RETURNS: list[float] = []


class Counted(gym.Wrapper):
    """Pendulum-v1 that tells what each episode earned, as runners may cut episodes."""

    def __init__(self, _: Any = None) -> None:
        super().__init__(gym.make("Pendulum-v1"))
        self.earned = 0.0

    def step(self, action: Any) -> Any:
        told = super().step(action)
        self.earned += float(told[1])
        if told[2] or told[3]:
            RETURNS.append(self.earned)
            self.earned = 0.0
        return told


def config(is_ray: bool) -> Any:
    if is_ray:
        from ray.rllib.algorithms.sac import SACConfig
    else:
        from rlconnect.v2 import SACConfig
    return (
        SACConfig()
        .environment(Counted)
        .env_runners(num_env_runners=0)
        .training(
            actor_lr=1e-3,
            critic_lr=1e-3,
            alpha_lr=1e-3,
            train_batch_size_per_learner=128,
            num_steps_sampled_before_learning_starts=500,
            replay_buffer_config={"type": "EpisodeReplayBuffer", "capacity": 20_000},
        )
        .rl_module(
            model_config={
                "fcnet_hiddens": [64, 64],
                "fcnet_activation": "relu",
                "fusionnet_hiddens": [64],
            }
        )
        .reporting(min_sample_timesteps_per_iteration=1000, min_time_s_per_iteration=0)
    )


def run(seed: int, steps: int, is_ray: bool) -> dict[str, Any]:
    import torch

    torch.set_num_threads(1)
    RETURNS.clear()
    algo = config(is_ray).debugging(seed=seed).build_algo()
    cpu = time.process_time()
    for _ in range(steps // 1000):
        algo.train()
    spent = time.process_time() - cpu
    algo.stop()
    return {"returns": [*RETURNS], "ms_a_step": 1000 * spent / steps}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--ray", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for seed in range(args.seeds):
        told = run(seed, args.steps, args.ray)
        returns = told["returns"]
        curve = [
            round(statistics.fmean(returns[at : at + LAST])) for at in range(0, len(returns), LAST)
        ]
        print(
            f"seed {seed}: mean returns of {LAST} episodes {curve}, "
            f"{told['ms_a_step']:.1f} ms of CPU a step",
            flush=True,
        )


if __name__ == "__main__":
    main()
