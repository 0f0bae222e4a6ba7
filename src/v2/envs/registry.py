"""Names of environments, and from what a config names to something that makes it."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import gymnasium as gym

from ...core.errors import ConfigError
from .context import EnvContext

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
    """Whether `register_env` gave that name a meaning."""
    return name in _creators


def env_creator_of(env: Any) -> EnvCreator:
    """What makes the environments that a config names.

    Args:
        env: A registered name, a gymnasium id (its settings become keyword arguments), a class
            or a function; the last two are called with the `EnvContext`.

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
        return _creators.get(env) or _by_gymnasium(env)
    if callable(env):
        creator: EnvCreator = env
        return creator
    raise ConfigError(
        "config.environment(...)",
        expected="a registered name, a gymnasium id, a class or a function",
        found=repr(env),
    )


class UnknownEnvError(ConfigError, gym.error.NameNotFound):
    """No environment of that name is registered."""


def _by_gymnasium(name: str) -> EnvCreator:
    def make(context: EnvContext) -> Any:
        try:
            return gym.make(name, **context)
        except (gym.error.NameNotFound, gym.error.NamespaceNotFound) as error:
            near = difflib.get_close_matches(name, (*_creators, *gym.registry), n=1)
            raise UnknownEnvError(
                f"no environment is called {name!r}",
                expected="a name given to register_env(), or a gymnasium id",
                hint=f"did you mean {near[0]!r}?" if near else "register_env(name, creator).",
                name=name,
            ) from error

    return make
