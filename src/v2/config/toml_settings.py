"""Settings as TOML: a table for each method of a config, and what differs from the defaults in it.

    algorithm = "PPO"
    none = ["training.minibatch_size"]

    [environment]
    env = "CartPole-v1"

    [training]
    lr = [[0, 0.001], [100000, 1e-05]]

TOML has no word for None; `none` lists the places that have it. Classes, functions and spaces have
none either and are refused, all of them in one error.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...core.data.toml import parse_toml, toml_key, toml_value
from ...core.errors import CheckpointNotFoundError, ConfigError, UnknownNameError
from ...core.text.near_names import did_you_mean, near_names
from ...core.vault.decode.load_limits import limits_in_force
from ...core.vault.files.reading import read_bytes
from ..envs.registry import UnknownEnvError, check_env_config, env_of_file, known_envs
from ..saving.class_slots import algorithm_named
from .policies import PolicySpec
from .section import Section, unknown_setting
from .store import SPELLINGS, leaves

if TYPE_CHECKING:
    from .algorithm_config import AlgorithmConfig

ALGORITHM: Final = "algorithm"
NONE: Final = "none"
RUN: Final = "run"
"""The table for those who run it: when to stop, what to keep. Settings have no part in it."""
_MOST_BYTES: Final = 1 << 20
_PLAIN: Final = (bool, int, float, str)


class _UnsayableError(Exception):
    """Something has no word in TOML."""


def settings_of(config: AlgorithmConfig) -> dict[str, Any]:
    """What of a config differs from its defaults, as TOML can say it.

    Raises:
        ConfigError: Some of it cannot be said; all of that is named.
    """
    tables: dict[str, Any] = {}
    if config.algo_class is not None:
        tables[ALGORITHM] = config.algo_class.__name__
    nones: list[str] = []
    unsaid: list[str] = []
    for section, name, value, default in _settings(config):
        if _is_same(value, default):
            continue
        place = f"{section.method}.{name}"
        if value is None:
            nones.append(place)
            continue
        try:
            tables.setdefault(section.method, {})[name] = _in_toml(value, place, nones)
        except _UnsayableError as error:
            unsaid.append(f"{place} ({error})")
    if unsaid:
        raise ConfigError(
            "these settings cannot be said in TOML",
            expected="numbers, texts, and lists and dicts of them",
            found=", ".join(unsaid),
            hint="leave them to code: take the rest from the file, then set them.",
        )
    if nones:
        tables[NONE] = nones
    return tables


def config_of(cls: type[AlgorithmConfig], source: str | os.PathLike[str]) -> Any:
    """Make a config of a class, or of one derived from it, of what TOML says.

    Raises:
        ConfigError: It is no TOML, of another algorithm, or a setting is not what it may be.
        UnknownNameError: There is no such table or algorithm.
    """
    data = data_in(source)
    algorithm, name = cls.own_algorithm(), data.get(ALGORITHM)
    config: Any = cls()
    if algorithm is None and name is not None:
        config = algorithm_named(name).get_default_config()
    elif algorithm is not None and name not in (None, algorithm.__name__):
        raise ConfigError(
            f"{cls.__name__}.from_toml()",
            expected=f'algorithm = "{algorithm.__name__}"',
            found=repr(name),
            hint="AlgorithmConfig.from_toml() takes the settings of any algorithm.",
        )
    take_settings(config, data)
    return config


def take_settings(config: AlgorithmConfig, data: Mapping[str, Any]) -> None:
    """Set what TOML says.

    Raises:
        ConfigError: There is no such table or setting, or a value is not what it takes.
    """
    sections = type(config).SECTIONS
    for method, table in _with_nones(data).items():
        if method in (ALGORITHM, RUN):
            continue
        if method not in sections:
            near = near_names(method, sections)
            raise UnknownNameError(
                f"settings have no table [{method}]",
                expected=", ".join(f"[{known}]" for known in (*sections, RUN)),
                hint=f"did you mean [{near[0]}]?" if near else "",
            )
        if not isinstance(table, Mapping):
            raise ConfigError(f"[{method}]", expected="a table", found=repr(table))
        for name, value in table.items():
            _take(config, sections[method], name, value)


def _take(config: AlgorithmConfig, section: Section, name: str, value: Any) -> None:
    known = {*section.settings, *section.renamed}
    now = name if name in known else SPELLINGS.get(name, name)
    if now not in known:
        raise unknown_setting(name, section.settings, f"[{section.method}]")
    if now == "env" and isinstance(value, str):
        value = _env_named(value)
    if now == "env_config":
        check_env_config(config.env, value)
    config.apply(section.method, {now: value})


def _env_named(name: str) -> str:
    """An environment that is known already: for a file no module is imported.

    Raises:
        UnknownEnvError: It is not.
    """
    env = env_of_file(name)
    if env is None:
        raise UnknownEnvError(
            f"no environment is called {name!r}",
            expected="a name given to register_env(), or a gymnasium id",
            hint=did_you_mean(
                name, known_envs(), otherwise="register it first: register_env(name, creator)."
            ),
            name=name,
        )
    return env


def toml_of(data: Mapping[str, Any]) -> str:
    """Settings as a TOML text."""
    lines: list[str] = []
    tables: list[tuple[str, Mapping[str, Any]]] = []
    for key, value in data.items():
        if isinstance(value, Mapping):
            tables.append((toml_key(key), value))
        else:
            lines.append(f"{toml_key(key)} = {toml_value(value)}")
    for name, table in tables:
        inner = {key: part for key, part in table.items() if isinstance(part, Mapping) and part}
        plain = {key: part for key, part in table.items() if key not in inner}
        if plain or not inner:
            lines += ["", f"[{name}]", *_rows(plain)]
        for key, part in inner.items():
            lines += ["", f"[{name}.{toml_key(key)}]", *_rows(part)]
    return "\n".join(lines).lstrip("\n") + "\n"


def _rows(table: Mapping[str, Any]) -> list[str]:
    return [f"{toml_key(key)} = {toml_value(value)}" for key, value in table.items()]


def whole_toml(config: AlgorithmConfig) -> str:
    """Every setting that means something, with what it means; what TOML cannot say as a comment."""
    nones: list[str] = []
    tables: dict[str, list[str]] = {}
    for section, name, value, default in _settings(config):
        meaning = section.settings[name].meaning
        place = f"{section.method}.{name}"
        if not meaning:
            continue
        if value is None and default is not None:
            nones.append(place)
        try:
            text = "" if value is None else toml_value(_in_toml(value, place, nones))
            row = f"{name} = {text}" if text else f"# {name} = none"
        except _UnsayableError as error:
            row = f"# {name} = {error}"
        tables.setdefault(section.method, []).append(f"{row}  # {meaning}")
    lines = [line for method, rows in tables.items() for line in ("", f"[{method}]", *rows)]
    top = [] if config.algo_class is None else [f'{ALGORITHM} = "{config.algo_class.__name__}"']
    if nones:
        top.append(f"{NONE} = {toml_value(nones)}")
    return "\n".join([*top, *lines]).lstrip("\n") + "\n"


def data_in(source: str | os.PathLike[str]) -> dict[str, Any]:
    """The data in a TOML file, or in a text.

    Raises:
        ConfigError: It is no TOML.
        CheckpointNotFoundError: There is no such file.
    """
    is_text = isinstance(source, str) and ("\n" in source or "=" in source or not source)
    name = "the text" if is_text else os.fspath(source)
    if is_text:
        text = str(source)
    else:
        file = Path(source)
        if not os.path.isfile(file):
            raise CheckpointNotFoundError(
                f"nothing lies at {file}", expected="a TOML file with settings"
            )
        text = ""
        content = read_bytes(file, limits_in_force(), most=_MOST_BYTES, follow=True)
    try:
        return parse_toml(text if is_text else content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{name} is no TOML", found=str(error)[:200]) from None


def _settings(config: AlgorithmConfig) -> Iterator[tuple[Section, str, Any, Any]]:
    """Each setting once: its section, its name, what it is and what it is by default."""
    values, defaults = vars(config), vars(type(config)())
    seen: set[str] = set()
    for section in type(config).SECTIONS.values():
        for name in section.settings:
            attribute = section.attribute(name)
            if attribute not in seen:
                seen.add(attribute)
                yield section, name, values[attribute], defaults[attribute]


def _is_same(value: Any, default: Any) -> bool:
    if value is default:
        return True
    try:
        return type(value) is type(default) and bool(value == default)
    except (TypeError, ValueError):  # arrays, in an env_config say
        return False


def _in_toml(value: Any, place: str, nones: list[str] | None) -> Any:
    """A value of a kind that TOML has; places of None are collected, or left out without a list."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, _PLAIN):
        if isinstance(value, str):
            try:
                value.encode()
            except UnicodeEncodeError:
                raise _UnsayableError("a text that is no Unicode") from None
            return str(value)
        return value
    if isinstance(value, Mapping):
        if value and all(isinstance(part, PolicySpec) for part in value.values()):
            return _policies(value, place, nones)
        table = {}
        for key, part in value.items():
            if not isinstance(key, str):
                raise _UnsayableError(f"the key {key!r}, which is no text")
            if "." in key and any(leaf is None for leaf in leaves(part)):
                raise _UnsayableError(f"None below the key {key!r}")
            if part is None:
                if nones is not None:
                    nones.append(f"{place}.{key}")
                continue
            table[key] = _in_toml(part, f"{place}.{key}", nones)
        return table
    if isinstance(value, (list, tuple)):
        if any(leaf is None for leaf in leaves(value)):
            raise _UnsayableError("None in a list")
        return [_in_toml(part, place, nones) for part in value]
    raise _UnsayableError(f"a {type(value).__name__}")


def _policies(specs: Mapping[str, PolicySpec], place: str, nones: list[str] | None) -> Any:
    for module_id, spec in specs.items():
        if any(
            part is not None
            for part in (spec.policy_class, spec.observation_space, spec.action_space)
        ):
            raise _UnsayableError(f"class and spaces of {module_id!r}")
    if not any(spec.config for spec in specs.values()):
        return list(specs)
    return _in_toml({key: dict(spec.config or {}) for key, spec in specs.items()}, place, nones)


def _with_nones(data: Mapping[str, Any]) -> dict[str, Any]:
    """The tables, with None where the list says."""
    listed = data.get(NONE, [])
    tables = {key: value for key, value in data.items() if key != NONE}
    if not isinstance(listed, list) or not all(isinstance(place, str) for place in listed):
        raise ConfigError(NONE, expected="a list of places such as 'training.grad_clip'")
    for place in listed:
        *above, last = place.split(".")
        table = tables
        for key in above:
            inner = table.get(key, {})
            if not isinstance(inner, Mapping):
                raise ConfigError(f"{NONE} = [{place!r}]", found=f"{key} is no table")
            table[key] = table = dict(inner)
        if not above:
            raise ConfigError(f"{NONE} = [{place!r}]", expected="TABLE.SETTING")
        table[last] = None
    return tables
