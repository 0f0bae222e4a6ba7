"""Settings as attributes of an object that can be frozen, copied and read as a dict."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, ValuesView
from copy import copy as shallow_copy
from types import FunctionType
from typing import Any, ClassVar, Final

from typing_extensions import Self

from ...core.data.damage import at
from ...core.errors import ConfigError
from .in_ray_tune import accept_as_space, announce
from .policies import PolicySpec
from .section import Section, UnknownSettingError, unknown_setting

SPELLINGS: Final = {
    "lambda": "lambda_",
    "input": "input_",
    "framework": "framework_str",
    "callbacks": "callbacks_class",
    "create_env_on_driver": "create_env_on_local_worker",
    "custom_eval_function": "custom_evaluation_function",
}
_MOST_SHOWN: Final = 12
_SHOWN: Final = {attribute: name for name, attribute in SPELLINGS.items()}


class FrozenConfigError(ConfigError, AttributeError):
    """A frozen config was to be changed."""


class SettingsStore:
    """Holds the settings of some sections.

    Read them as attributes or by key; `lambda_` is the key "lambda".
    """

    SECTIONS: ClassVar[Mapping[str, Section]] = {}
    """Sections of settings, by the name of their method."""

    def __init__(self) -> None:
        self._is_frozen = False
        for section in type(self).SECTIONS.values():
            for name, setting in section.settings.items():
                setattr(self, section.attribute(name), _unshared(setting.default))

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__dict__.get("_is_frozen", False) and name != "_is_frozen":
            raise FrozenConfigError(
                f"Cannot set attribute ({name}) of an already frozen AlgorithmConfig!",
                hint="change a copy: config.copy(copy_frozen=False).",
            )
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:  # only for what is not there
        if name.startswith("__"):
            raise AttributeError(name)
        raise unknown_setting(name, [*self.__dict__], type(self).__name__)

    def __repr__(self) -> str:
        defaults = {name: repr(value) for name, value in type(self)().to_dict().items()}
        values = {name: repr(value) for name, value in self.to_dict().items()}
        changed = [f"{k}={v:.60}" for k, v in values.items() if v != defaults.get(k)]
        more = [f"and {len(changed) - _MOST_SHOWN} more"] if len(changed) > _MOST_SHOWN else []
        return f"<{type(self).__name__} {', '.join(changed[:_MOST_SHOWN] + more) or 'of defaults'}>"

    def freeze(self) -> None:
        """Disallow further changes."""
        self._is_frozen = True

    def copy(self, copy_frozen: bool | None = None) -> Self:
        """Return another config of the same settings.

        Args:
            copy_frozen: Whether the copy is frozen; None if this one is.
        """
        copied = type(self).__new__(type(self))
        for name, value in self.__dict__.items():
            copied.__dict__[name] = _unshared(value)
        copied.__dict__["_is_frozen"] = self._is_frozen if copy_frozen is None else copy_frozen
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def to_dict(self) -> dict[str, Any]:
        """Return all settings as a dict that `from_dict` takes back.

        If Ray Tune has been imported, `tune.Tuner("PPO")` runs this config's algorithm from now on.
        """
        env = self.__dict__.get("env")
        announce(self.__dict__.get("algo_class"), leaves(getattr(env, "categories", env)))
        return self._all()

    def _all(self) -> dict[str, Any]:
        return {
            _SHOWN.get(name, name): _plain(value)
            for name, value in self.__dict__.items()
            if name not in ("_is_frozen", "algo_class")
        }

    def serialize(self) -> dict[str, Any]:
        """Return all settings as a dict with the dotted names of classes and functions in it."""
        return {name: with_leaves(_named, value) for name, value in self._all().items()}

    @classmethod
    def from_dict(cls, config_dict: Mapping[str, Any]) -> Self:
        """Make a config and update it from a dict."""
        return cls().update_from_dict(config_dict)

    def update_from_dict(self, config_dict: Mapping[str, Any]) -> Self:
        """Set what a dict names; each value is checked as by the method that takes it.

        Raises:
            UnknownSettingError: A key is no setting.
        """
        for key, value in config_dict.items():
            if key == "multiagent":
                self.update_from_dict(value)
            else:
                self._update_one(SPELLINGS.get(key, key), value)
        return self

    def _update_one(self, key: str, value: Any) -> None:
        for section in type(self).SECTIONS.values():
            for name in (*section.settings, *section.renamed):
                if name == key or (name in section.settings and section.attribute(name) == key):
                    self.apply(section.method, {name: value})
                    return
        if key not in self.__dict__:
            raise unknown_setting(key, self.keys(), type(self).__name__)
        setattr(self, key, value)

    def apply(self, method: str, given: Mapping[str, Any]) -> Self:
        """Set what a method of the config is given.

        Args:
            method: Its name.
            given: Settings by name; `NotProvided` is no value.

        Raises:
            UnknownSettingError: It takes no setting of that name.
            ConfigError: A value is not what the setting takes.
        """
        accept_as_space(SettingsStore)
        for attribute, (setting, value) in type(self).SECTIONS[method].read(given).items():
            if setting.merges and isinstance(value, Mapping):
                value = _merged(getattr(self, attribute), value)
            setattr(self, attribute, value)
        return self

    def pop(self, key: str, *default: Any) -> Any:
        """Return a setting without removing it, since a config needs all of its settings."""
        return self.get(key, *default) if default else self[key]

    @classmethod
    def overrides(cls, **kwargs: Any) -> dict[str, Any]:
        """Check settings and give them as a dict, for one module of several.

        Raises:
            UnknownSettingError: There is no such setting.
        """
        try:
            cls().update_from_dict(kwargs)
        except UnknownSettingError as error:
            names = ", ".join(name for name in kwargs if not hasattr(cls(), name)) or error.message
            raise UnknownSettingError(
                f"Invalid property name {names} for config class {cls.__name__}!", hint=error.hint
            ) from None
        return kwargs

    def get_state(self) -> dict[str, Any]:
        """Return the class and all settings."""
        return {"class": type(self), **self.__dict__}

    @classmethod
    @at()
    def from_state(cls, state: Mapping[str, Any]) -> Any:
        """Make a config of what `get_state` gave."""
        kind = state.get("class", cls)
        if not (isinstance(kind, type) and issubclass(kind, SettingsStore)):
            raise ConfigError(
                f"{cls.__name__}.from_state()",
                expected="settings with a class of settings",
                found=repr(kind),
                hint="Algorithm.from_checkpoint(path) takes settings from files.",
            )
        config = kind()
        config.__dict__.update({key: value for key, value in state.items() if key != "class"})
        return config

    def __getitem__(self, key: str) -> Any:
        return getattr(self, SPELLINGS.get(key, key))

    def __setitem__(self, key: str, value: Any) -> None:
        self.update_from_dict({key: value})

    def __contains__(self, key: object) -> bool:
        return SPELLINGS.get(key, key) in self.__dict__ if isinstance(key, str) else False

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def get(self, key: str, default: Any = None) -> Any:
        """Return a setting, or the default if there is none of that name."""
        try:
            return self[key]
        except UnknownSettingError:
            return default

    def keys(self) -> KeysView[str]:
        """Return the names of all settings."""
        return self._all().keys()

    def values(self) -> ValuesView[Any]:
        """Return the values of all settings."""
        return self._all().values()

    def items(self) -> ItemsView[str, Any]:
        """Return the names and values of all settings."""
        return self._all().items()


def _unshared(value: Any) -> Any:
    """Copies of plain containers; what they hold is shared."""
    if type(value) is dict:
        return {key: _unshared(item) for key, item in value.items()}
    if type(value) is list:
        return [_unshared(item) for item in value]
    if type(value) is set:
        return set(value)
    return shallow_copy(value) if isinstance(value, PolicySpec) else value


def _merged(old: Any, new: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(old) if isinstance(old, Mapping) else {}
    for key, value in new.items():
        is_nested = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _merged(merged[key], value) if is_nested else _unshared(value)
    return merged


def _plain(value: Any) -> Any:
    if type(value) is dict:
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, PolicySpec):
        return (value.policy_class, value.observation_space, value.action_space, value.config)
    return value


def _named(leaf: Any) -> Any:
    """Return the dotted name of a class or function; other values are unchanged."""
    if isinstance(leaf, (type, FunctionType)):
        return f"{leaf.__module__}.{leaf.__qualname__}"
    return leaf


def leaves(value: Any) -> Iterator[Any]:
    """Yield the innermost values of a nested value; a plain value is its only leaf.

    Example:
        >>> list(leaves({"a": [1, (2,)], "b": None}))
        [1, 2, None]
    """
    if isinstance(value, Mapping):
        for part in value.values():
            yield from leaves(part)
    elif isinstance(value, (list, tuple, set)):
        for part in value:
            yield from leaves(part)
    else:
        yield value


def with_leaves(change: Callable[[Any], Any], value: Any) -> Any:
    """The same value with all leaves changed.

    Example:
        >>> with_leaves(str, {"a": [1, (2,)]})
        {'a': ['1', ('2',)]}
    """
    if isinstance(value, dict):
        return {key: with_leaves(change, part) for key, part in value.items()}
    if type(value) in (list, tuple, set):
        return type(value)(with_leaves(change, part) for part in value)
    return change(value)
