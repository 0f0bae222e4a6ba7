"""Record what `train()` of Ray 2.60 tells, by key, in two iterations of small runs on CartPole.

    python record.py > told.json     (in an environment with Ray)

Kept are all keys, and the values of those that count or repeat settings.
"""

import json
import sys

import ray
from ray.rllib.algorithms.dqn import DQNConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.algorithms.sac import SACConfig

WORDS = ("num_", "curr_", "learning_rate", "weights_seq_no", "training_iteration", "batch_size")
EPISODES = ("episode", "per_sample", "env_steps_trained")  # of the actions that are drawn
FLOATING = ("throughput", "parameters")


def small(config):
    """The settings of the runs; a test has the same."""
    config.environment("CartPole-v1").env_runners(num_env_runners=0).debugging(seed=1)
    config.rl_module(model_config={"fcnet_hiddens": [8]})
    config.evaluation(evaluation_interval=2, evaluation_duration=2)
    if isinstance(config, PPOConfig):
        return config.training(train_batch_size_per_learner=64, minibatch_size=32, num_epochs=2)
    rates = {"actor_lr": 3e-4, "critic_lr": 3e-4, "alpha_lr": 3e-4, "lr": None}
    config.training(
        num_steps_sampled_before_learning_starts=10,
        train_batch_size_per_learner=8,
        **(rates if isinstance(config, SACConfig) else {"target_network_update_freq": 10}),
    )
    return config.reporting(min_sample_timesteps_per_iteration=20, min_time_s_per_iteration=0)


def flat(result, prefix=""):
    """Values by path."""
    made = {}
    for key, value in result.items():
        if prefix or key != "config":
            inner = isinstance(value, dict)
            made.update(flat(value, f"{prefix}{key}/") if inner else {f"{prefix}{key}": value})
    return made


def told(config):
    """Keys and counts of two iterations."""
    algo = small(config).build_algo()
    results = [flat(algo.train()) for _ in range(2)]
    algo.stop()
    keys = sorted(set().union(*results))
    counts = {
        key: [float(each[key]) for each in results]
        for key in keys
        if key.startswith(("env_runners", "learners", "replay_buffer", "training", "num_"))
        and any(word in key for word in WORDS)
        and not any(word in key for word in (*EPISODES, *FLOATING))
        and all(key in each for each in results)
    }
    return {"keys": keys, "counts": counts}


if __name__ == "__main__":
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    configs = {"PPO": PPOConfig(), "DQN": DQNConfig(), "SAC": SACConfig()}
    json.dump({name: told(each) for name, each in configs.items()}, sys.stdout, indent=1)
    print()
