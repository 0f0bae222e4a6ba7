"""Env runners in processes of Ray that sample, for `benchmarks/growth.py`."""

import ray
from rlconnect.v2 import DefaultModelConfig, PPOConfig

STEPS = 4096


def sampling(count):
    """A call by which each of so many runners samples `STEPS` steps of eight CartPoles."""
    ray.init(num_cpus=count, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    config = (
        PPOConfig()
        .environment("CartPole-v1")
        .env_runners(num_env_runners=count, num_envs_per_env_runner=8)
        .rl_module(model_config=DefaultModelConfig(fcnet_hiddens=[64, 64]))
    )
    group, given = config.build_algo().env_runner_group, {"num_timesteps": STEPS}
    return lambda: group.foreach_env_runner("sample", kwargs=given, local_env_runner=False)
