"""Configs in checkpoints: settings by name, and the class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from ...core.errors import UnknownClassError
from ...core.trust import Names, Slot, find
from ...core.trust.arguments import ARGUMENT, live_arguments
from ...core.vault.decode.standins import GlobalRef, Opaque, class_path, mapping_of
from ..envs.registry import check_env_config, env_of_file
from ..modules.multi_spec import RECORDS
from ..saving.class_slots import CONFIG
from .algorithm_config import AlgorithmConfig
from .file_settings import attributes_of, check_counts, tell_paths
from .store import SPELLINGS

_CLASS: Final = "class"
_OURS_ALONE: Final = ("stats_cls_lookup", "sample_collector", "_is_frozen", "algo_class")
"""Settings whose values are classes of whoever wrote the file; the defaults serve as well."""


def config_from(given: Any, default: Any) -> Any:
    """Return a separate config for the argument of an algorithm.

    The argument is a config, a dict of settings, a result of `config.get_state()`, or None.
    `default` supplies all other settings.
    """
    if given is None:
        return default
    if isinstance(given, AlgorithmConfig):
        return given.copy(copy_frozen=False)
    if _CLASS in given:
        return AlgorithmConfig.from_state(given).copy(copy_frozen=False)
    return default.update_from_dict(given)


def saved_settings(config: AlgorithmConfig) -> dict[str, Any]:
    """Return the part of a config that checkpoints store: plain settings, as in RLlib."""
    settings = {key: value for key, value in config.get_state().items() if key not in _OURS_ALONE}
    settings["policies"] = {
        module_id: (spec.policy_class, spec.observation_space, spec.action_space, spec.config)
        for module_id, spec in config.policies.items()
    }
    teacher = settings.get("teacher")
    if teacher is not None and not isinstance(teacher, str):
        settings["teacher"] = f"a {type(teacher).__name__} that code gave"
    return settings


def restored_config(
    saved: Mapping[str, Any], names: Names, given: Mapping[str, Any] | None = None
) -> AlgorithmConfig:
    """Create a config from a checkpoint, without executing code from the file.

    `given` overrides the checkpoint's settings; unknown names are recorded.

    Raises:
        AskedTooMuchError: A setting exceeds a limit for files.
        UnknownClassError: The class of the settings was not passed.
    """
    path = class_path(saved.get(_CLASS))
    cls = find(path, CONFIG, names.trust)
    if isinstance(cls, AlgorithmConfig):  # The caller gave settings in place of a class.
        return cls.update_from_dict(given) if given else cls
    if cls is None:
        raise UnknownClassError(
            f"the checkpoint's settings are of {path or 'no class'}, which is not known",
            hint="pass them: from_checkpoint(path, config=...).",
            class_name=path,
            kinds={path: CONFIG.kind},
        )
    config: AlgorithmConfig = cls()
    config.update_from_dict(given or {})
    reading = _Reading(cls, names, config.env)
    known = vars(config)
    mine = attributes_of(cls, given or ())
    left_out = {*_OURS_ALONE, *_of_no_effect(cls), *mine}
    for name, value in reading.in_order(saved):
        if name not in known or name in left_out or _is_default(value, known[name]):
            continue
        setting = reading.live(name, value)
        if name == "policies":
            config.multi_agent(policies=setting)
        else:
            known[name] = setting
    tell_paths(config, mine)
    check_counts(config, mine)
    return config


class _Reading:
    """Convert the settings in a file, checking what each may contain."""

    def __init__(self, cls: type[AlgorithmConfig], names: Names, env: Any) -> None:
        self.cls = cls
        self.names = names
        self.env = env
        self.places = {
            section.attribute(name): (section, name)
            for section in cls.SECTIONS.values()
            for name in section.settings
        }

    def in_order(self, saved: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """The settings, the environment before its own."""
        return sorted(
            ((key, value) for key, value in saved.items() if isinstance(key, str)),
            key=lambda item: item[0] != "env",
        )

    def live(self, name: str, value: Any) -> Any:
        """One setting.

        Raises:
            ConfigError: It is not what the setting takes.
            UnsafeCheckpointError: It would steer how an environment is made.
        """
        if name == "evaluation_config":
            return self._differing(value)
        if name == "policies":
            return {key: self._policy(spec) for key, spec in mapping_of(value).items()}
        if name == "algorithm_config_overrides_per_module":
            return {key: self._differing(part) for key, part in mapping_of(value).items()}
        section, key = self.places.get(name, (None, ""))
        slot = section.settings[key].slot if section is not None else None
        setting = self._setting(name, value, replace(slot or ARGUMENT, kind=_kind(name, slot)))
        if section is not None and slot is not None and not self.names.missing:
            section.check(key, setting)
        if name == "env" and self.env is None:
            self.env = setting
        if name == "env_config":
            check_env_config(self.env, setting)
        return setting

    def _setting(self, name: str, value: Any, slot: Slot) -> Any:
        if name == "env" and isinstance(value, str):
            known = env_of_file(value)
            return self.names.find(value, slot) if known is None else known
        return live_arguments(value, self.names, slot, RECORDS)

    def _differing(self, value: Any) -> Any:
        """Settings that differ somewhere: a dict of them, or a whole config."""
        if isinstance(value, Opaque):
            return restored_config({_CLASS: value, **value.mapping()}, self.names)
        if not isinstance(value, Mapping):
            return live_arguments(value, self.names)
        env = value.get("env")
        inside = _Reading(self.cls, self.names, self.live("env", env) if env else self.env)
        return {
            key: inside.live(SPELLINGS.get(key, key), part) for key, part in inside.in_order(value)
        }

    def _policy(self, value: Any) -> Any:
        """A PolicySpec's four parts; a class among them changes nothing here."""
        if isinstance(value, Opaque):
            fields = value.mapping()
            parts = [fields.get(part) for part in ("observation_space", "action_space", "config")]
        elif isinstance(value, (list, tuple)) and len(value) == 4:
            parts = list(value[1:])
        else:
            return live_arguments(value, self.names)
        spaces = [live_arguments(part, self.names) for part in parts[:2]]
        return (None, *spaces, None if parts[2] is None else self._differing(parts[2]))


def _kind(name: str, slot: Slot | None) -> str:
    return f"the setting {name!r}, {(slot or ARGUMENT).kind}"


def _of_no_effect(cls: type[AlgorithmConfig]) -> set[str]:
    """Settings that are accepted for RLlib's sake: what is in them need not be known here."""
    return {"model"} | {
        section.attribute(name)
        for section in cls.SECTIONS.values()
        for name, setting in section.settings.items()
        if setting.rule is None and not (setting.meaning or setting.instead or setting.convert)
    }


def _is_default(value: Any, default: Any) -> bool:
    """Whether a value means what the setting is anyway."""
    if value == -1 and default is None:  # RLlib's word for a setting that has moved.
        return True
    if not isinstance(value, (GlobalRef, Opaque)) or default is None:
        return False
    name = getattr(default, "__qualname__", type(default).__qualname__)
    path = class_path(value)
    return path.endswith(f".{name}") or path.rpartition(".")[2] == "DEFAULT_POLICY_MAPPING_FN"
