"""Two CartPoles in one environment, a policy for each: both learn.

python benchmarks/learning/two_policies.py
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from rlconnect.v2 import PPOConfig, make_multi_agent
from runs import Run, add_arguments, report, trained

GOAL, STEPS = 300.0, 200_000


def config() -> PPOConfig:
    return (
        PPOConfig()
        .environment(make_multi_agent("CartPole-v1"), env_config={"num_agents": 2})
        .multi_agent(
            policies={"p0", "p1"},
            policy_mapping_fn=lambda agent_id, episode, **kwargs: f"p{agent_id}",
        )
        .env_runners(num_env_runners=0, num_envs_per_env_runner=8)
        .training(
            train_batch_size=2048,
            minibatch_size=256,
            num_epochs=10,
            lr=1e-3,
            lambda_=0.95,
            vf_clip_param=10_000.0,
            grad_clip=0.5,
        )
        .rl_module(model_config={"fcnet_hiddens": [64, 64]})
    )


def worse_of_both(result: Mapping[str, Any]) -> float:
    by_module = result["env_runners"].get("module_episode_return_mean", {})
    return min(float(by_module.get(each, "nan")) for each in ("p0", "p1"))


def main() -> None:
    args = add_arguments(argparse.ArgumentParser(description=__doc__), steps=STEPS).parse_args()
    runs = [
        Run(
            f"worse policy, seed {seed}",
            trained(config().debugging(seed=seed), GOAL, args.steps, worse_of_both),
        )
        for seed in range(args.first_seed, args.first_seed + args.seeds)
    ]
    report("two CartPoles, a policy each, PPO", GOAL, runs)


if __name__ == "__main__":
    main()
