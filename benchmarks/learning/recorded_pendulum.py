"""CQL, IQL and BC on recorded steps of Pendulum-v1 that are half an expert's, half noise.

python benchmarks/learning/recorded_pendulum.py --seeds 2

The returns are those of greedy policies over ten episodes; what was recorded earns -813 on average.
"""

from __future__ import annotations

import argparse
import statistics
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from rlconnect.v2 import BCConfig, CQLConfig, IQLConfig, SingleAgentEpisode, SquashGreedyActions

ENV = "Pendulum-v1"
SMALL = {"fcnet_hiddens": [64, 64], "fcnet_activation": "relu", "fusionnet_hiddens": [64]}
RATES = {"actor_lr": 1e-3, "critic_lr": 1e-3, "gamma": 0.95, "tau": 0.02}
SETTINGS: dict[Any, dict[str, Any]] = {
    BCConfig: {"lr": 1e-3},
    IQLConfig: {**RATES, "value_lr": 1e-3, "beta": 0.1},
    CQLConfig: {
        **RATES,
        "alpha_lr": 1e-3,
        "bc_iters": 300,
        "min_q_weight": 0.5,
        "num_actions": 2,
    },
}


def expert(seen: Any) -> float:
    """Swings up by energy, and holds by proportion and derivative."""
    cosine, sine, speed = map(float, seen)
    if cosine > 0.8:
        return float(np.clip(-(10 * np.arctan2(sine, cosine) + 2 * speed), -2, 2))
    return float(2 * np.sign(speed or 1.0) * np.sign(5 - (speed**2 / 6 + 5 * cosine)))


def played(choose: Callable[[Any], float], seeds: range) -> list[SingleAgentEpisode]:
    """An episode from each seed."""
    env, made = gym.make(ENV), []
    for seed in seeds:
        episode = SingleAgentEpisode(
            observation_space=env.observation_space, action_space=env.action_space
        )
        seen, _ = env.reset(seed=seed)
        episode.add_env_reset(observation=seen)
        while not episode.is_done:
            action = np.array([choose(seen)], np.float32)
            seen, reward, done, cut, _ = env.step(action)
            episode.add_env_step(
                observation=seen,
                action=action,
                reward=float(reward),
                terminated=done,
                truncated=cut,
            )
        made.append(episode)
    return made


def recorded() -> list[SingleAgentEpisode]:
    """Twenty episodes in which every second step is the expert's, and twenty of noise."""
    rng = np.random.default_rng(0)
    noise = lambda seen: float(rng.uniform(-2, 2))  # noqa: E731
    mixed = lambda seen: expert(seen) if rng.random() < 0.5 else noise(seen)  # noqa: E731
    return played(mixed, range(20)) + played(noise, range(50, 70))


def mean_of(episodes: list[SingleAgentEpisode]) -> float:
    return statistics.fmean(float(each.get_return()) for each in episodes)


def run(kind: Any, episodes: list[SingleAgentEpisode], seed: int, steps: int) -> float:
    config = (
        kind()
        .environment(ENV)
        .env_runners(num_env_runners=0)
        .training(train_batch_size_per_learner=200, **SETTINGS[kind])
        .rl_module(
            model_config={
                k: v for k, v in SMALL.items() if kind is not BCConfig or "fusion" not in k
            }
        )
        .offline_data(input_=episodes, dataset_num_iters_per_learner=steps)
        .evaluation(evaluation_duration=10, evaluation_config={"explore": False, "seed": 1000})
        .reporting(min_time_s_per_iteration=0, min_train_timesteps_per_iteration=0)
        .debugging(seed=seed)
    )
    if kind is not BCConfig:
        config.env_runners(module_to_env_connector=lambda env, spaces: SquashGreedyActions())
    algo = config.build_algo()
    algo.train()
    found = algo.evaluate()["env_runners"]["episode_return_mean"]
    algo.stop()
    return float(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=2100, help="gradient steps")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    episodes = recorded()
    print(f"recorded: {mean_of(episodes):.0f}", flush=True)
    for kind in (CQLConfig, IQLConfig, BCConfig):
        for seed in range(args.seeds):
            told = run(kind, episodes, seed, args.steps)
            print(f"{kind.__name__}, seed {seed}: {told:.0f}", flush=True)


if __name__ == "__main__":
    main()
