"""Old-stack policies for benchmarks, made by rlconnect or by Ray; read by both.

    PYTHON old_policies.py FOLDER ray|rlconnect

PPO, with the pipelines Ray gives it: `cartpole_mlp` (two dense layers of 64), `pendulum_filter`
(the same behind a MeanStdFilter), `cartpole_lstm` (a dense layer of 64 and an LSTM of 64).
"""

import subprocess
import sys
from pathlib import Path

POLICIES = {
    "cartpole_mlp": ("CartPole-v1", {"fcnet_hiddens": [64, 64]}, "NoFilter"),
    "pendulum_filter": ("Pendulum-v1", {"fcnet_hiddens": [64, 64]}, "MeanStdFilter"),
    "cartpole_lstm": (
        "CartPole-v1",
        {"fcnet_hiddens": [64], "use_lstm": True, "lstm_cell_size": 64, "max_seq_len": 20},
        "NoFilter",
    ),
}


def by_rlconnect(folder):
    """Fresh policies, their filter fed with some observations, exported in our format."""
    import gymnasium as gym
    import numpy as np
    from rlconnect.legacy import (
        AgentConnectorDataType,
        Policy,
        create_connectors_for_policy,
    )

    for name, (env_name, model, filter_) in POLICIES.items():
        env = gym.make(env_name)
        config = {"model": {**model, "vf_share_layers": False}, "observation_filter": filter_}
        policy = Policy(env.observation_space, env.action_space, {**config, "seed": 0})
        create_connectors_for_policy(policy, policy.config)
        policy.agent_connectors.in_training()
        rng = np.random.default_rng(0)
        for _ in range(100):
            obs = rng.uniform(-0.1, 0.1, env.observation_space.shape).astype(np.float32)
            policy.agent_connectors([AgentConnectorDataType("env", "agent", {"new_obs": obs})])
            policy.agent_connectors.reset("env")
            if filter_ == "NoFilter":
                break
        policy.export_checkpoint(folder / name)


def by_ray(folder):
    """Fresh policies of Ray's, exported by Ray."""
    import ray
    from ray.rllib.algorithms.ppo import PPOConfig

    ray.init(num_cpus=1, include_dashboard=False, logging_level="ERROR")
    for name, (env_name, model, filter_) in POLICIES.items():
        config = PPOConfig().environment(env_name).framework("torch")
        config = config.api_stack(
            enable_rl_module_and_learner=False, enable_env_runner_and_connector_v2=False
        )
        config = config.env_runners(num_env_runners=0, observation_filter=filter_)
        config = config.training(model=model, train_batch_size=256, minibatch_size=64, num_epochs=1)
        algorithm = config.build_algo()
        if filter_ != "NoFilter":
            algorithm.train()
        algorithm.get_policy().export_checkpoint(str(folder / name))
        algorithm.stop()


def write(folder, maker, python):
    """Have `python` write the policies by way of `maker`, "ray" or "rlconnect"."""
    done = subprocess.run(
        [python, __file__, str(folder), maker],
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    if done.returncode:
        raise SystemExit(f"{maker} could not make the policies:\n{done.stderr[-2000:]}")


if __name__ == "__main__":
    {"ray": by_ray, "rlconnect": by_rlconnect}[sys.argv[2]](Path(sys.argv[1]))
