"""Live environments from what people call one: an id, a class, a function, or the thing itself."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium.spaces import Space


def live_env(env: Any, **settings: Any) -> tuple[Any, bool]:
    """A live environment, and whether it was made here and is ours to close.

    Args:
        env: An id of gymnasium's, a class or function that makes one, or a live one.
        **settings: What gymnasium makes one with.

    Example:
        >>> made, is_ours = live_env("CartPole-v1")
        >>> made.close()
        >>> is_ours
        True
    """
    if isinstance(env, str):
        return gym.make(env, **settings), True
    if isinstance(env, type) or not hasattr(env, "observation_space"):
        return env(), True
    return env, False


def close(env: Any) -> None:
    """Close an environment, if it has a method `close`."""
    if hasattr(env, "close"):
        env.close()


def is_vector(env: Any) -> bool:
    """Whether an environment is many that step together; wrappers are not asked.

    gymnasium 0.29 warns of what is asked of a wrapper and not its own.
    """
    inner = getattr(env, "unwrapped", env)
    return bool(getattr(inner, "num_envs", None)) and hasattr(inner, "single_observation_space")


def spaces_of_one(env: Any) -> tuple[Space[Any], Space[Any]]:
    """What an environment gives and takes; where it is many that step together, one of them.

    Example:
        >>> made, _ = live_env("CartPole-v1")
        >>> spaces_of_one(made)[1]
        Discrete(2)
    """
    if is_vector(env):
        return env.single_observation_space, env.single_action_space
    return env.observation_space, env.action_space


def by_agent(env: Any) -> Any:
    """An environment of several agents in RLlib's form; PettingZoo's kinds are brought to it."""
    if callable(getattr(env, "observation_space", None)):
        from ..v2.envs.petting_zoo import ParallelPettingZooEnv, PettingZooEnv

        return PettingZooEnv(env) if hasattr(env, "agent_iter") else ParallelPettingZooEnv(env)
    return env


def has_agents(env: Any) -> bool:
    """Whether several agents act in an environment: RLlib's form, or one of PettingZoo's."""
    return hasattr(getattr(env, "unwrapped", env), "possible_agents")


def agents_of(env: Any) -> tuple[dict[Any, Space[Any]], dict[Any, Space[Any]]] | None:
    """What each agent of an environment sees and does; None where there is one without a name."""
    if not has_agents(env):
        return None
    from ..v2.envs.multi_agent_env import spaces_by_agent

    return spaces_by_agent(by_agent(env))
