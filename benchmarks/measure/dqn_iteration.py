"""The cases of `benchmarks/dqn_iteration.py`: `train()` of DQN on CartPole."""

import torch

NAMES = ("cartpole.uniform", "cartpole.prioritized")
_STEPS = 200


def make(name, backend, folder):
    """A function that does 200 steps, with an update of 32 rows after each."""
    torch.set_num_threads(1)
    is_uniform = name.endswith("uniform")
    if backend == "sb3":
        if not is_uniform:
            raise NotImplementedError("Stable-Baselines3 has no priorities.")
        model = _by_stable_baselines()
        model.learn(_STEPS)
        return lambda: model.learn(_STEPS, reset_num_timesteps=False)
    algo = _algorithm(backend, "EpisodeReplayBuffer" if is_uniform else None)
    algo.train()  # The first one makes what the others reuse.
    return algo.train


def _algorithm(backend, kind):
    if backend == "ray":
        import ray

        ray.init(
            num_cpus=1,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
            ignore_reinit_error=True,
        )
        from ray.rllib.algorithms.dqn import DQNConfig
    else:
        from rlconnect.v2 import DQNConfig
    buffer = {"type": kind, "capacity": 50_000} if kind else {"capacity": 50_000}
    model = {"fcnet_hiddens": [64, 64], "head_fcnet_hiddens": []}
    return (
        DQNConfig()
        .environment("CartPole-v1")
        .env_runners(num_env_runners=0)
        .rl_module(model_config=model)
        .training(
            double_q=False,
            dueling=False,
            replay_buffer_config=buffer,
            num_steps_sampled_before_learning_starts=100,
        )
        .reporting(min_sample_timesteps_per_iteration=_STEPS)
        .build_algo()
    )


def _by_stable_baselines():
    from stable_baselines3 import DQN

    return DQN(
        "MlpPolicy",
        "CartPole-v1",
        learning_rate=5e-4,
        buffer_size=50_000,
        learning_starts=100,
        train_freq=1,
        target_update_interval=500,
        max_grad_norm=40,
        policy_kwargs={"net_arch": [64, 64]},
        device="cpu",
    )
