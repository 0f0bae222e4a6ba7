"""RLlib's public names, from Ray or from rlconnect."""

from importlib import import_module

RAY = (
    "ray.rllib.algorithms.ppo",
    "ray.rllib.connectors.env_to_module",
    "ray.rllib.connectors.env_to_module.frame_stacking",
    "ray.rllib.connectors.module_to_env",
    "ray.rllib.core.distribution.torch.torch_distribution",
    "ray.rllib.core.rl_module.default_model_config",
    "ray.rllib.core.rl_module.multi_rl_module",
    "ray.rllib.core.rl_module.rl_module",
    "ray.rllib.env.multi_agent_env",
    "ray.rllib.env.multi_agent_env_runner",
    "ray.rllib.env.single_agent_env_runner",
    "ray.rllib.env.single_agent_episode",
)


def public(backend, name):
    """A public name of RLlib's, from Ray or from rlconnect."""
    homes = ("rlconnect.v2",) if backend == "rlconnect" else RAY
    for home in map(import_module, homes):
        if hasattr(home, name):
            return getattr(home, name)
    raise AttributeError(name)
