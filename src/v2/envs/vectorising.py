"""The vector environment that a config asks for."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import gymnasium as gym

from ...core.errors import ConfigError
from .context import EnvContext
from .foreign_envs import ForeignEnvs
from .multi_agent_env import MultiAgentEnv
from .process_envs import ProcessEnvs
from .registry import env_creator_of
from .sub_envs import SubEnvs
from .sync_envs import SyncEnvs

# As gymnasium spells it; before 1.0 it was another word.
_BY_ENTRY_POINT: Final = (
    "vector_entry_point" if hasattr(gym.envs.registration, "VectorizeMode") else "custom"
)


class MadeEnvs(NamedTuple):
    """What steps a vector of environments, and what the first one was told."""

    stepper: SubEnvs | ForeignEnvs
    context: EnvContext


def env_contexts(config: Any, worker_index: int, num_workers: int) -> list[EnvContext]:
    """What each environment of a runner is told."""
    return [
        EnvContext(
            config.env_config,
            worker_index=worker_index,
            vector_index=index,
            remote=bool(config.remote_worker_envs),
            num_workers=num_workers,
        )
        for index in range(config.num_envs_per_env_runner)
    ]


def make_vector_env(config: Any, worker_index: int = 0, num_workers: int = 0) -> MadeEnvs:
    """Make the environments of one runner.

    Raises:
        ConfigError: No environment is named, or none of this kind.
    """
    contexts = env_contexts(config, worker_index, num_workers)
    mode = mode_of(config.gym_env_vectorize_mode)
    if mode == "vector_entry_point":
        return _by_entry_point(config, contexts)
    creator = env_creator_of(config.env)
    makers = [lambda context=context: _checked(creator(context)) for context in contexts]
    is_restarting = bool(config.restart_failed_sub_environments)
    timeout = config.env_step_timeout_s
    envs: SyncEnvs | ProcessEnvs
    if mode == "async" or timeout is not None:  # Only a process can be told to end.
        envs = ProcessEnvs(makers, is_restarting=is_restarting, timeout=timeout)
    else:
        envs = SyncEnvs(makers, is_restarting=is_restarting)
    return MadeEnvs(envs, contexts[0])


def mode_of(mode: Any) -> str:
    """The way of vectorising by name: "sync", "async" or "vector_entry_point".

    Raises:
        ConfigError: There is no such way.
    """
    name = str(getattr(mode, "value", mode)).lower()
    if name not in ("sync", "async", "vector_entry_point"):
        raise ConfigError(
            "gym_env_vectorize_mode",
            expected="'sync', 'async' or 'vector_entry_point'",
            found=repr(mode),
        )
    return name


def _by_entry_point(config: Any, contexts: list[EnvContext]) -> MadeEnvs:
    """The vector environment that an environment brings itself."""
    if not isinstance(config.env, str):
        raise ConfigError(
            "gym_env_vectorize_mode='vector_entry_point'",
            expected="a gymnasium id as environment",
            found=repr(config.env),
        )

    def make() -> Any:
        return gym.make_vec(
            config.env,
            num_envs=len(contexts),
            vectorization_mode=_BY_ENTRY_POINT,
            **contexts[0],
        )

    stepper = ForeignEnvs(make, is_restarting=bool(config.restart_failed_sub_environments))
    return MadeEnvs(stepper, contexts[0])


def _checked(env: Any) -> Any:
    if isinstance(env, gym.Env) and not isinstance(env.unwrapped, MultiAgentEnv):
        return env
    raise ConfigError(
        "config.environment(...) made no environment of one agent",
        expected="a gymnasium.Env",
        found=type(env).__name__,
        hint="several agents need config.multi_agent(policies=..., policy_mapping_fn=...)."
        if hasattr(env, "possible_agents")
        else "wrap it, or derive it from gymnasium.Env.",
    )
