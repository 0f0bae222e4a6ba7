"""The vector environment that a config asks for."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import gymnasium as gym

from ...core.errors import ConfigError
from .context import EnvContext
from .failures import EnvProcessError
from .multi_agent_env import MultiAgentEnv
from .registry import env_creator_of
from .restarting_env import EnvMaker, RestartingEnv
from .vector_stepper import VectorStepper

# As gymnasium spells it; before 1.0 it was another word.
_BY_ENTRY_POINT: Final = (
    "vector_entry_point" if hasattr(gym.envs.registration, "VectorizeMode") else "custom"
)


class MadeEnvs(NamedTuple):
    """What steps a vector of environments, and what the first one was told."""

    stepper: VectorStepper
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
    is_restarting = bool(config.restart_failed_sub_environments)
    timeout = config.env_step_timeout_s

    def maker(context: EnvContext) -> EnvMaker:
        make = lambda: _checked(creator(context))  # noqa: E731  # it is pickled by value
        index = context.vector_index
        return lambda: RestartingEnv(make, index, is_restarting=is_restarting)

    makers = [maker(context) for context in contexts]
    is_async = mode == "async" or timeout is not None  # Only a process can be told to end.
    stepper = VectorStepper(
        lambda: _async_vector(makers) if is_async else gym.vector.SyncVectorEnv(makers),
        is_restarting=is_restarting,
        timeout=timeout,
        has_memory=True,
    )
    return MadeEnvs(stepper, contexts[0])


def _async_vector(makers: Sequence[EnvMaker]) -> gym.vector.AsyncVectorEnv:
    """Start a process for each environment.

    Raises:
        EnvProcessError: A process ended at its start.
    """
    try:
        return gym.vector.AsyncVectorEnv(makers)
    except ValueError as error:
        if "shared_memory" not in str(error):
            raise
        return gym.vector.AsyncVectorEnv(makers, shared_memory=False)  # a space of the user's own
    except (EOFError, ConnectionError) as error:
        method = multiprocessing.get_start_method()
        raise EnvProcessError(
            "the process of an environment has ended at its start",
            hint=""
            if method == "fork"
            else f"processes start by {method!r} here and import the script first: put what it "
            'runs below `if __name__ == "__main__":`.',
        ) from error


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

    stepper = VectorStepper(make, is_restarting=bool(config.restart_failed_sub_environments))
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
