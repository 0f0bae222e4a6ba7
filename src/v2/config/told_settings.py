"""Settings told in a word each: `lr=3e-4`, `model_config.fcnet_hiddens=[64]`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from ...core.data.toml import parse_toml
from ...core.errors import ConfigError
from ...core.text.near_names import near_names
from ..modules.model_config import DefaultModelConfig
from .section import Section, unknown_setting
from .store import SPELLINGS
from .toml_settings import NONE

if TYPE_CHECKING:
    from .algorithm_config import AlgorithmConfig

_WORDS: Final[Mapping[str, Any]] = {"none": None, "true": True, "false": False}
_MISSPELT: Final = 0.8


def add_told(data: dict[str, Any], cls: type[AlgorithmConfig], word: str) -> None:
    """Add a setting given as `NAME=VALUE` to settings in TOML form.

    The settings are changed. A dotted name of `NAME=VALUE` leads into a dict, and the name of its
    table may stand before it; a value is TOML, or a text.

    Raises:
        ConfigError: It is no such word, or the value is not what the setting takes.
        UnknownSettingError: There is no such setting.

    Example:
        >>> from rlconnect.v2 import PPOConfig
        >>> data = {}
        >>> add_told(data, PPOConfig, "train_batch_size=4e3")
        >>> add_told(data, PPOConfig, "model_config.fcnet_activation=relu")
        >>> data["training"], data["rl_module"]
        ({'train_batch_size': 4000}, {'model_config': {'fcnet_activation': 'relu'}})
    """
    path, sign, text = word.partition("=")
    if not sign or not path:
        raise ConfigError(f"{word!r}", expected="NAME=VALUE", hint="such as lr=3e-4.")
    section, name, inner = _place(cls, path.strip())
    value = _value(text.strip())
    if not inner:
        value = _fitting(section, name, value)
        section.check(name, value)
    _put(data, [section.method, name, *inner], value)


def _put(data: dict[str, Any], place: list[str], value: Any) -> None:
    """Put a value where it belongs; None on the list of those, as TOML has no word for it."""
    table = data
    for step in place[:-1]:
        inner = table.get(step)
        table[step] = table = dict(inner) if isinstance(inner, Mapping) else {}
    dotted = ".".join(place)
    nones = [other for other in data.get(NONE, []) if other != dotted]
    if value is None:
        table.pop(place[-1], None)
        nones.append(dotted)
    else:
        table[place[-1]] = value
    data[NONE] = nones
    if not nones:
        del data[NONE]


def _place(cls: type[AlgorithmConfig], path: str) -> tuple[Section, str, list[str]]:
    steps = path.split(".")
    sections = list(cls.SECTIONS.values())
    if len(steps) > 1 and steps[0] in cls.SECTIONS:
        sections, steps = [cls.SECTIONS[steps[0]]], steps[1:]
    first, *inner = steps
    for section in sections:
        for spelling in (first, SPELLINGS.get(first, first)):
            name = section.renamed.get(spelling, spelling)
            setting = section.settings.get(name)
            if setting is None:
                continue
            if inner and not (isinstance(setting.default, dict) or setting.merges):
                raise ConfigError(f"{path!r}: {name} holds no further settings")
            if name == "model_config" and inner:
                _check_of_model(inner[0])
            return section, name, inner
    known = [name for section in sections for name in (*section.settings, *section.renamed)]
    whose = f"[{sections[0].method}]" if len(sections) == 1 else cls.__name__
    raise unknown_setting(first, known, whose)


def _check_of_model(name: str) -> None:
    """Tell a name that is nearly one of a default network's settings: others may be a user's."""
    known = [field.name for field in fields(DefaultModelConfig)]
    near = near_names(name, known, cutoff=_MISSPELT)
    if name not in known and near:
        raise ConfigError(
            f"model_config has no setting {name!r}",
            hint=f"did you mean {near[0]!r}? Settings of a network of your own go into a file.",
        )


def _value(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        return parse_toml(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        pass
    try:
        return float(text)  # ".5", which TOML does not write so
    except ValueError:
        return text


def _fitting(section: Section, name: str, value: Any) -> Any:
    """A whole number written as 1e6, where an integer is asked for."""
    rule = section.settings[name].rule
    if rule is None or not isinstance(value, float) or not value.is_integer():
        return value
    return value if rule.test(value) or not rule.test(int(value)) else int(value)
