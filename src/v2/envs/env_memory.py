"""What an environment would need to go on in the middle of an episode, as plain data.

`memory_of` reads the attributes of an environment and of its wrappers; `remember` writes them into
one that was made anew. Numbers, text, arrays, containers of them, random generators and
environments inside of environments are data. Spaces, functions and classes do not change and stay.
Whatever else an environment holds (a simulator, a socket, a window) cannot be put into a file, and
then there is no memory of it: its episode begins anew.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any, Final

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec

from ...core.data.damage import at
from ...core.data.plain_data import NotPlainError, from_data, to_data
from .generator_states import generator_of, generator_state

_STAYING: Final = (
    gym.Space,
    EnvSpec,
    type,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.ModuleType,
)
"""The same in each environment that is made the same way."""

_NO_MORE: Final = frozenset(["_reward_range"])
"""What each wrapper had before gymnasium 1.0; it says nothing of an episode."""

_CHECKER: Final = "gymnasium.wrappers.PassiveEnvChecker"
"""It checks first steps, by marks that differ between releases; in an episode there are none."""

_NAME: Final = "the state of an environment"
_LARGEST: Final = 100_000
"""More items than these in one environment are a table, not a memory."""


def memory_of(env: Any) -> list[Any] | None:
    """An environment and its wrappers as data.

    An environment that defines `get_state()` and `set_state(state)` says itself what it needs.

    Args:
        env: The outermost one.

    Returns:
        A layer for each wrapper, from the outside in, and the environment; None if one of them
        holds what is no data.

    Example:
        >>> carts = gym.make("CartPole-v1"), gym.make("CartPole-v1")
        >>> start = carts[0].reset(seed=1)
        >>> remember(carts[1], memory_of(carts[0]))
        True
        >>> all((carts[0].step(1)[0] == carts[1].step(1)[0]).tolist())
        True
    """
    try:
        layers: list[Any] = to_data(env, _written, most=_LARGEST)["env"]
    except NotPlainError:
        return None
    return layers


def remember(env: Any, memory: list[Any]) -> bool:
    """Bring an environment to where another of its kind was; False where it is built otherwise.

    Raises:
        CorruptCheckpointError: The memory is damaged.
    """
    with at(_NAME):
        try:
            _remember(env, memory)
        except NotPlainError:
            return False
    return True


def _written(value: Any, data: Callable[[Any], Any]) -> dict[str, Any]:
    if isinstance(value, np.random.Generator):
        return {"generator": generator_state(value)}
    if isinstance(value, gym.Env):
        return {
            "env": [{"class": _name(layer), **_layer(layer, data)} for layer in _layers_of(value)]
        }
    if isinstance(value, _STAYING):
        return {"stays": True}
    raise NotPlainError(type(value).__name__)


def _layers_of(env: Any) -> list[Any]:
    layers = [env]
    while isinstance(layers[-1], gym.Wrapper):
        layers.append(layers[-1].env)
    return layers


def _name(layer: Any) -> str:
    return f"{type(layer).__module__}.{type(layer).__qualname__}"


def _kind(name: str) -> str:
    """A class's name without the module of gymnasium's wrappers: each release has others."""
    package, last = "gymnasium.wrappers.", name.rpartition(".")[2]
    return package + last if name.startswith(package) else name


def _layer(layer: Any, data: Callable[[Any], Any]) -> dict[str, Any]:
    members = vars(type(layer))
    if callable(members.get("get_state")) and callable(members.get("set_state")):
        return {"state": data(layer.get_state())}
    inner = layer.env if isinstance(layer, gym.Wrapper) else layer
    return {
        "attributes": {
            key: data(value)
            for key, value in vars(layer).items()
            if value is not inner and not isinstance(value, _STAYING)
        }
    }


def _remember(env: Any, memory: list[Any]) -> None:
    layers = _layers_of(env)
    if [_kind(_name(layer)) for layer in layers] != [_kind(layer["class"]) for layer in memory]:
        raise NotPlainError("other wrappers")
    for layer, saved in zip(layers, memory, strict=True):
        if "state" in saved:
            layer.set_state(from_data(saved["state"], _read, name=_NAME))
            continue
        attributes = vars(layer)
        if _kind(saved["class"]) == _CHECKER:
            attributes.update({key: True for key in attributes if key.startswith("checked_")})
            continue
        is_moved = _name(layer) != saved["class"]
        if is_moved and not {*saved["attributes"]} <= {*attributes, *_NO_MORE}:
            raise NotPlainError("a wrapper that keeps its place by other names")
        for key, value in saved["attributes"].items():
            if key.startswith("__") or callable(getattr(type(layer), key, None)):
                raise NotPlainError(key)  # No environment has written that.
            setattr(layer, key, from_data(value, _read, attributes.get(key), _NAME))


def _read(data: Mapping[str, Any], now: Any) -> Any:
    if "generator" in data:
        return generator_of(data["generator"])
    if "env" not in data and "stays" not in data:
        raise ValueError("its tag is unknown")
    if now is None:
        raise NotPlainError("nothing in its place")
    if "env" in data:
        _remember(now, data["env"])
    return now
