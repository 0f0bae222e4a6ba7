"""Names of environments, and from what a config names to something that makes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import gymnasium as gym

from ...core.errors import ConfigError, UnsafeCheckpointError
from ...core.importing.ray_modules import loaded_module
from ...core.text.near_names import did_you_mean
from .context import EnvContext
from .wrapping import WRAPPERS, wrapped

EnvCreator: TypeAlias = Callable[[EnvContext], Any]

_creators: Final[dict[str, EnvCreator]] = {}


def register_env(name: str, env_creator: EnvCreator) -> None:
    """Let a name stand for environments that a function makes.

    Args:
        name: What `config.environment(name)` will say; a taken one gets the new meaning.
        env_creator: Called with the `EnvContext`.

    Example:
        >>> register_env("short_cartpole", lambda context: gym.make("CartPole-v1", **context))
        >>> env_creator_of("short_cartpole")(EnvContext({"max_episode_steps": 9})).spec.id
        'CartPole-v1'
    """
    if not callable(env_creator):
        raise ConfigError(
            f"register_env({name!r}, ...)",
            expected="a function that takes an EnvContext and makes an environment",
            found=type(env_creator).__name__,
        )
    _creators[name] = env_creator


def is_registered(name: str) -> bool:
    """Return True if `register_env`, ours or Ray's, gave that name a meaning."""
    return name in _creators or _creator_of_ray(name) is not None


def creators_for(env: str) -> dict[str, EnvCreator]:
    """Return the registered functions that a name refers to, also inside wrappers."""
    return {name: creator for name, creator in _creators.items() if name in env}


def known_envs() -> list[str]:
    """The names that mean something: those registered here, and gymnasium's."""
    return [*_creators, *gym.registry]


def env_creator_of(env: Any) -> EnvCreator:
    """What makes the environments that a config names.

    Args:
        env: A registered name, a gymnasium id (its settings become keyword arguments), either
            in wrappers (`TimeLimit(CartPole-v1, max_episode_steps=9)`), a class or a function;
            the last two are called with the `EnvContext`.

    Raises:
        ConfigError: There is none, or it is of another kind.
        UnknownEnvError: A name that neither we nor gymnasium know.
    """
    if env is None:
        raise ConfigError(
            "the config names no environment",
            hint='use config.environment("CartPole-v1"), a class, or a function that takes a '
            "config.",
        )
    if isinstance(env, str):
        creator_of_name = _creators.get(env) or _creator_of_ray(env)
        return creator_of_name or _in_wrapper(env) or _by_gymnasium(env)
    if callable(env):
        creator: EnvCreator = env
        return creator
    raise ConfigError(
        "config.environment(...)",
        expected="a registered name, a gymnasium id, a class or a function",
        found=repr(env),
    )


_MOST_TIMES: Final = 10**6
"""How much larger or slower wrappers that a file names may make an environment."""
_UNKNOWN: Final = (gym.error.NameNotFound, gym.error.NamespaceNotFound)
_MAKES_OTHERS: Final = ("GymV21Environment", "GymV26Environment")
"""Ids of gymnasium's whose environments are made by another library from a further name."""

_STEERING: Final = frozenset(
    (
        "additional_wrappers",
        "apply_api_compatibility",
        "autoreset",
        "disable_env_checker",
        "entry_point",
        "id",
        "num_envs",
        "vector_entry_point",
        "vector_kwargs",
        "vectorization_mode",
        "wrappers",
    )
)
"""What `gym.make` and `make_vec` take for themselves in any of their releases."""


def env_of_file(name: str) -> str | None:
    """The environment that a name in a file may mean: one that is registered already.

    A module before the id is not imported; the id without it counts. A name without a version
    means the newest one that gymnasium holds.

    Args:
        name: The name.

    Returns:
        What `register_env` or gymnasium call it; None if neither knows it.

    Raises:
        UnsafeCheckpointError: Wrappers around it would make it huge.

    Example:
        >>> env_of_file("somebodys_module:CartPole-v1"), env_of_file("somebodys_module:Theirs-v0")
        ('CartPole-v1', None)
    """
    if name in _creators:
        return name
    parts = wrapped(name)
    if parts is not None:
        inner = env_of_file(parts.inner)
        if inner is not None and _times(name) > _MOST_TIMES:
            raise UnsafeCheckpointError(
                f"a file's wrappers make an environment too large or slow: {name!r}",
                expected=f"whole numbers whose product is {_MOST_TIMES:,} or less",
                hint="name the environment yourself: --env, or from_checkpoint(path, env=...).",
            )
        return None if inner is None else parts.named(inner)
    id_ = name.rpartition(":")[2]
    newest = [
        spec for spec in gym.registry.values() if f"{spec.namespace}/{spec.name}" == _full(id_)
    ]
    if id_ not in gym.registry and newest:
        id_ = max(newest, key=lambda spec: spec.version or 0).id
    if id_ not in gym.registry or gym.registry[id_].name in _MAKES_OTHERS:
        return None
    return id_


def _full(id_: str) -> str:
    namespace, slash, name = id_.rpartition("/")
    return f"{namespace if slash else None}/{name}"


def check_env_config(env: Any, env_config: Any) -> None:
    """Refuse settings from a file that would steer how gymnasium makes an environment.

    Raises:
        UnsafeCheckpointError: Some would.
    """
    if not isinstance(env, str) or env in _creators or not isinstance(env_config, Mapping):
        return
    steering = sorted(_STEERING & {str(key) for key in env_config})
    if steering:
        raise UnsafeCheckpointError(
            f"the checkpoint's env_config says how gymnasium is to make {env!r}",
            expected="settings of the environment",
            found=", ".join(steering),
            hint="give the environment yourself: from_checkpoint(path, env=...).",
        )


class UnknownEnvError(ConfigError, gym.error.NameNotFound):
    """No environment of that name is registered."""


def _creator_of_ray(name: str) -> EnvCreator | None:
    """What a name stands for in Ray's registry, if that has been imported."""
    module = loaded_module("ray.tune.registry")
    registry = None if module is None else module._global_registry
    if registry is None or not registry.contains("env_creator", name):
        return None
    creator: EnvCreator = registry.get("env_creator", name)
    return creator


def _times(name: str) -> float:
    parts = wrapped(name)
    return 1.0 if parts is None else parts.times() * _times(parts.inner)


def _in_wrapper(name: str) -> EnvCreator | None:
    parts = wrapped(name)
    if parts is None:
        return None
    create = env_creator_of(parts.inner)
    return lambda context: parts.around(create(context))


def _by_gymnasium(name: str) -> EnvCreator:
    def make(context: EnvContext) -> Any:
        try:
            return gym.make(name, **context)
        except gym.error.Error as error:
            if "(" not in name and not isinstance(error, _UNKNOWN):
                raise
            raise UnknownEnvError(
                f"no environment is called {name!r}",
                expected="a name given to register_env(), or a gymnasium id",
                hint=did_you_mean(
                    name,
                    known_envs(),
                    otherwise=f"wrappers by name: {', '.join(WRAPPERS)}."
                    if "(" in name
                    else "register_env(name, creator).",
                ),
                name=name,
            ) from error

    return make
