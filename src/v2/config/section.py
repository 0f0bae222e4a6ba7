"""A group of settings that one method of a config takes."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from ...core.errors import ConfigError
from ...core.text.near_names import did_you_mean
from ...core.trust import Slot
from .rules import SETTINGS, Rule


class _NotProvided:
    """Marks a missing value where None is a value."""

    def __repr__(self) -> str:
        return "NotProvided"

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> str:
        return "NotProvided"


NotProvided: Final[Any] = _NotProvided()


Method = TypeVar("Method", bound=Callable[..., Any])


class UnknownSettingError(ConfigError, AttributeError, KeyError):
    """A config has no setting of this name.

    The closest name is only computed for the message, because `getattr(config, name, None)` is
    called often.
    """

    asked: tuple[str, Any] = ("", ())
    _hint = ""

    @property
    def hint(self) -> str:
        """The closest setting."""
        name, known = self.asked
        if name and not self._hint:
            everything = f"it has: {', '.join(sorted(known))}."
            short = "".join(part[:1] for part in name.split("_"))  # learning_rate: lr
            if short in known:
                everything = f"did you mean {short!r}?"
            self._hint = did_you_mean(name, known, otherwise=everything)
        return self._hint

    @hint.setter
    def hint(self, words: str) -> None:
        self._hint = words


@dataclass(frozen=True)
class Setting:
    """One setting.

    Args:
        default: The default value.
        rule: The valid values.
        meaning: A short description.
        attribute: The attribute of the config, if it has another name.
        merges: Whether a dict is merged with the existing one.
        convert: Converts a value to its stored form.
        instead: An alternative, if only the default is supported.
        slot: Which values from a checkpoint are allowed, if it may be a class or function.
    """

    default: Any = None
    rule: Rule | None = None
    meaning: str = ""
    attribute: str = ""
    merges: bool = False
    convert: Callable[[Any], Any] | None = None
    instead: str = ""
    slot: Slot | None = None


IDLE = "Accepted for RLlib's sake; changes nothing here."


def idle(**defaults: Any) -> dict[str, Setting]:
    """Settings that are accepted for RLlib's sake and change nothing here."""
    return {name: Setting(default) for name, default in defaults.items()}


def settings_dict(meaning: str, attribute: str = "", **more: Any) -> Setting:
    """A dict that adds to what was given before."""
    return Setting({}, SETTINGS, meaning, attribute, merges=True, **more)


def is_open(value: Any) -> bool:
    """Return True if a value contains something for Ray Tune to try or to draw.

    Example:
        >>> is_open({"lr": {"grid_search": [0.1, 0.2]}}), is_open({"lr": 0.1})
        (True, False)
    """
    if isinstance(value, Mapping):
        return "grid_search" in value or any(map(is_open, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(is_open, value))
    return any(each.__module__ == "ray.tune.search.sample" for each in type(value).__mro__)


@dataclass(frozen=True)
class Section:
    """Settings by the name they are given under.

    Args:
        method: The method of a config that takes them.
        settings: The settings.
        renamed: Names of older releases and what they are called now.
    """

    method: str
    settings: Mapping[str, Setting]
    renamed: Mapping[str, str] = field(default_factory=dict)

    def with_settings(self, **settings: Setting) -> Section:
        """The same section with more settings, or other ones of the same names."""
        return Section(self.method, {**self.settings, **settings}, self.renamed)

    def attribute(self, name: str) -> str:
        """Return the attribute of a setting."""
        return self.settings[name].attribute or name

    def read(self, given: Mapping[str, Any]) -> dict[str, tuple[Setting, Any]]:
        """Check what was given; the result goes by the config's attributes.

        Raises:
            UnknownSettingError: There is no such setting.
            ConfigError: A value is not what the setting takes.
        """
        values = {}
        for name, value in given.items():
            if value is NotProvided:
                continue
            now = self._name_now(name)
            setting = self.settings[now]
            kept = value
            if not is_open(value):  # Checked when a trial has drawn a value.
                self.check(now, value)
                kept = value if setting.convert is None else setting.convert(value)
            values[self.attribute(now)] = setting, kept
        return values

    def check(self, name: str, value: Any) -> None:
        """Check one value.

        Raises:
            ConfigError: It is not what the setting takes.
        """
        setting = self.settings[name]
        if setting.instead and value != setting.default:
            raise ConfigError(
                f"config.{self.method}({name}={value!r}) is not supported here",
                hint=f"{setting.instead}.",
            )
        if value is None and setting.default is None:
            return
        if setting.rule is not None and not setting.rule.test(value):
            raise ConfigError(
                f"config.{self.method}({name}=...)",
                expected=setting.rule.words,
                found=repr(value),
            )

    def _name_now(self, name: str) -> str:
        if name in self.settings:
            return name
        if name in self.renamed:
            now = self.renamed[name]
            warnings.warn(
                f"config.{self.method}({name}=...) is now called {now}.",
                DeprecationWarning,
                stacklevel=5,
            )
            return now
        raise unknown_setting(name, self.settings, f"config.{self.method}()")


def unknown_setting(name: str, known: Any, where: str) -> UnknownSettingError:
    """An error that names the closest setting there is."""
    error = UnknownSettingError(f"{where} has no setting {name!r}")
    error.asked = name, known
    return error


def takes(section: Section) -> Callable[[Method], Method]:
    """Let a method show a section's settings in its signature and its documentation."""

    def decorate(method: Method) -> Method:
        written = [
            parameter
            for parameter in inspect.signature(method).parameters.values()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        names = {parameter.name for parameter in written}
        named = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=NotProvided)
            for name in section.settings
            if name not in names
        ]
        method.__signature__ = inspect.Signature([*written, *named])  # type: ignore[attr-defined]
        lines = [
            f"    {name}: {setting.meaning or IDLE} Default: {setting.default!r}."
            for name, setting in section.settings.items()
        ]
        method.__doc__ = "\n".join([method.__doc__ or "", "", "Args:", *lines])
        return method

    return decorate
