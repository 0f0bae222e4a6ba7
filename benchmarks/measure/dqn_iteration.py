"""The cases of `benchmarks/dqn_iteration.py`: `train()` of DQN on CartPole, of SAC on Pendulum."""

import torch

NAMES = ("cartpole.uniform", "cartpole.prioritized", "pendulum.sac", "pendulum.sac_streams")
_STEPS = 200
_FEW = 20
"""As many of SAC with a stream for each input, whose networks are five times as large."""


def make(name, backend, folder):
    """A function that does 200 steps, with an update of 32 rows after each; of 256 with SAC.

    `pendulum.sac_streams` does 20.
    """
    torch.set_num_threads(1)
    if name.startswith("pendulum"):
        return _sac(name.endswith("streams"), backend)
    is_uniform = name.endswith("uniform")
    if backend == "sb3":
        if not is_uniform:
            raise NotImplementedError("Stable-Baselines3 has no priorities.")
        model = _by_stable_baselines()
        model.learn(_STEPS)
        return lambda: model.learn(_STEPS, reset_num_timesteps=False)
    if backend == "ray":
        _start_ray()
    algo = _algorithm(backend, "EpisodeReplayBuffer" if is_uniform else None)
    algo.train()  # The first one makes what the others reuse.
    return algo.train


def _algorithm(backend, kind):
    if backend == "ray":
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
        policy_kwargs={"net_arch": [64, 64], "activation_fn": torch.nn.Tanh},  # as RLlib's
        device="cpu",
    )


def _start_ray():
    import ray

    ray.init(
        num_cpus=1,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
        ignore_reinit_error=True,
    )


def _sac(has_streams, backend):
    """SAC with two layers of 256, and observation and action side by side or, as in Ray, apart."""
    if backend == "sb3":
        if has_streams:
            raise NotImplementedError("Stable-Baselines3 puts observation and action side by side.")
        from stable_baselines3 import SAC

        model = SAC(
            "MlpPolicy",
            "Pendulum-v1",
            buffer_size=50_000,
            learning_starts=100,
            policy_kwargs={"net_arch": [256, 256]},
            device="cpu",
        )
        model.learn(_STEPS)
        return lambda: model.learn(_STEPS, reset_num_timesteps=False)
    if backend == "ray":
        if not has_streams:
            raise NotImplementedError("Ray keeps observation and action apart since 2.49.")
        _start_ray()
        from ray.rllib.algorithms.sac import SACConfig
    else:
        from rlconnect.v2 import SACConfig
    steps = _FEW if has_streams else _STEPS
    model = {"fcnet_hiddens": [256, 256], "fcnet_activation": "relu", "head_fcnet_hiddens": []}
    if not has_streams:
        model["qf_encoder_joins_inputs"] = True
    algo = (
        SACConfig()
        .environment("Pendulum-v1")
        .env_runners(num_env_runners=0)
        .rl_module(model_config=model)
        .training(
            actor_lr=3e-4,
            critic_lr=3e-4,
            alpha_lr=3e-4,
            train_batch_size_per_learner=256,
            num_steps_sampled_before_learning_starts=steps // 2,
            replay_buffer_config={"type": "EpisodeReplayBuffer", "capacity": 50_000},
        )
        .reporting(min_sample_timesteps_per_iteration=steps, min_time_s_per_iteration=0)
        .build_algo()
    )
    algo.train()
    return algo.train
