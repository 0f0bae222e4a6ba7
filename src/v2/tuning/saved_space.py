"""A space of settings as plain data, and back: what a run's folder keeps of it.

Classes, functions and other objects have no form as data: of them only a description is kept, which
a space that is given again is held to. Reading makes nothing of what a file names but the
distributions of `search_space`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...core.errors import CheckpointWriteError, ConfigError
from ...core.vault.files.json_text import compact
from ...core.vault.own.document import encode
from ..config import search_space
from ..config.algorithm_config import AlgorithmConfig
from ..config.file_settings import check_counts, tell_paths
from ..config.search_space import GRID, Domain
from ..envs.registry import UnknownEnvError, check_env_config, env_of_file
from .variants import Path, put

_DISTRIBUTIONS: Final = {
    each.__name__: each
    for each in (
        *(search_space.choice, search_space.uniform, search_space.quniform),
        *(search_space.loguniform, search_space.qloguniform, search_space.randint),
        *(search_space.qrandint, search_space.lograndint, search_space.qlograndint),
        *(search_space.randn, search_space.qrandn),
    )
}


def is_plain(value: Any) -> bool:
    """Whether a value is data that a file can hold."""
    try:
        encode(value)
    except CheckpointWriteError:
        return False
    return True


def space_to_data(space: Any) -> dict[str, Any]:
    """A space as data: settings, the distributions in them, and what has no form as data.

    Of a config only what differs from its defaults is kept.

    Example:
        >>> data = space_to_data({"lr": search_space.uniform(0, 1), "env": "CartPole-v1"})
        >>> data["settings"], data["distributions"]
        ({'lr': None, 'env': 'CartPole-v1'}, [[['lr'], 'uniform', [0, 1]]])
    """
    kind, settings = "", space
    if isinstance(space, AlgorithmConfig):
        kind, settings = type(space).__name__, _changed(space)
    distributions: list[Any] = []
    objects: list[Any] = []
    plain = _plain(settings, (), distributions, objects)
    return {
        "config": kind,
        "settings": plain,
        "distributions": distributions,
        "objects": objects,
    }


def space_from_data(data: Mapping[str, Any], default: AlgorithmConfig | None) -> Any:
    """The space that `space_to_data` was given.

    Args:
        data: Its data.
        default: What a config of the trainable says by default.

    Raises:
        ConfigError: A part of it is no data, so that it has to be given again.
    """
    objects = data["objects"]
    if objects:
        raise ConfigError(
            "the run's folder does not hold all of its settings",
            found=", ".join(f"{_place(path)} is a {what}" for path, what in objects),
            hint="Tuner.restore(path, trainable, param_space=...), as it was given before.",
        )
    settings: dict[str, Any] = data["settings"]
    for path, name, arguments in data["distributions"]:
        put(settings, path, _DISTRIBUTIONS[name](*arguments))
    if not data["config"]:
        return settings
    if type(default).__name__ != data["config"]:
        raise ConfigError(
            f"the run's space is a {data['config']}, a class that its folder cannot make",
            hint="Tuner.restore(path, trainable, param_space=...), as it was given before.",
        )
    return default.with_values(settings) if default is not None else settings


def check_settings(config: AlgorithmConfig) -> None:
    """Hold a config whose settings come from a file to what a file may ask for.

    Its environment is one that is registered; nothing is imported for its name.

    Raises:
        ConfigError: Nobody has registered it.
        AskedTooMuchError: It asks for more of something than a file may.
    """
    if isinstance(config.env, str):
        known = env_of_file(config.env)
        if known is None:
            raise UnknownEnvError(
                f"the run's environment {config.env!r} is not known here",
                expected="a name given to register_env(), or a gymnasium id",
                hint="register it first, or import the module that does.",
                name=config.env,
            )
        config.env = known
    check_env_config(config.env, config.env_config)
    tell_paths(config, call="Tuner.restore(path, trainable, param_space=...) with {!r}")
    check_counts(config)


def check_same(before: Mapping[str, Any], space: Any) -> None:
    """Hold a space that is given again to the one that a run began with.

    Args:
        before: The data of that one.
        space: The one given.

    Raises:
        ConfigError: Something in it has changed.
    """
    old, new = _by_path(before), _by_path(space_to_data(space))
    for path in [*old, *(path for path in new if path not in old)]:
        if old.get(path) != new.get(path):
            raise ConfigError(
                f"the space has changed since the run began: {path}",
                expected=old.get(path, "no such setting"),
                found=new.get(path, "no such setting"),
                hint="restore with the space that the run began with, or begin a new run.",
            )


def _changed(config: AlgorithmConfig) -> dict[str, Any]:
    """The settings of a config that differ from its defaults."""
    defaults = {name: _text(value) for name, value in type(config)().to_dict().items()}
    return {
        name: value
        for name, value in config.to_dict().items()
        if name not in defaults or _text(value) != defaults[name]
    }


def _text(value: Any) -> str:
    data = space_to_data({"": value})
    return compact(encode([data["settings"], data["distributions"], data["objects"]]))


def _plain(value: Any, path: Path, distributions: list[Any], objects: list[Any]) -> Any:
    """A value with None where there is a distribution or an object."""
    if isinstance(value, Domain):
        arguments = _plain(list(value.arguments), path, distributions, objects)
        distributions.append([list(path), value.name, arguments])
        return None
    if type(value) is dict:
        return {
            key: _plain(part, (*path, key), distributions, objects) for key, part in value.items()
        }
    if type(value) in (list, tuple):
        parts = enumerate(value)
        return type(value)(_plain(part, (*path, n), distributions, objects) for n, part in parts)
    if is_plain(value):
        return value
    name = getattr(value, "__qualname__", "")
    objects.append([list(path), f"{type(value).__name__} {name}".strip()])
    return None


def _by_path(data: Mapping[str, Any]) -> dict[str, str]:
    """Each setting as text, by its place."""
    texts: dict[str, str] = {}

    def walk(value: Any, path: Path) -> None:
        if type(value) is dict and value and GRID not in value:
            for key, part in value.items():
                walk(part, (*path, key))
        else:
            texts[_place(path)] = compact(encode(value))

    walk(data["settings"], ())
    for path, name, arguments in data["distributions"]:
        texts[_place(path)] = f"{name}({', '.join(compact(encode(each)) for each in arguments)})"
    for path, what in data["objects"]:
        place = _place(path)
        texts[place] = f"{what}, {texts[place]}" if texts.get(place, "null") != "null" else what
    return {"config": data["config"] or "a dict", **texts}


def _place(path: Any) -> str:
    return "/".join(map(str, path)) or "all of it"
