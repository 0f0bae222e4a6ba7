"""The case of `benchmarks/ppo_iteration.py`: `train()` of PPO on CartPole."""

import torch

NAMES = ("cartpole.iter",)


def make(name, backend, folder):
    """A function that does one iteration of 2,048 steps."""
    torch.set_num_threads(1)
    if backend == "torch":
        from ppo_yardstick import Yardstick

        trained = Yardstick().train
    else:
        trained = _algorithm(backend).train
    trained()  # The first one makes what the others reuse.
    return trained


def _algorithm(backend):
    if backend == "ray":
        import ray

        ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        from ray.rllib.algorithms.ppo import PPOConfig
        from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
    else:
        from rlconnect.v2 import DefaultModelConfig, PPOConfig
    return (
        PPOConfig()
        .environment("CartPole-v1")
        .env_runners(num_env_runners=0, num_envs_per_env_runner=8, rollout_fragment_length=256)
        .learners(num_learners=0)
        .rl_module(model_config=DefaultModelConfig(fcnet_hiddens=[64, 64], vf_share_layers=False))
        .training(train_batch_size_per_learner=2048, minibatch_size=256, num_epochs=4)
        .build_algo()
    )
