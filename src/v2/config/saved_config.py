"""Configs as they lie in checkpoints: settings by name, the class beside them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final

from ...core.vault.decode.standins import GlobalRef, Opaque, class_path
from ..checkpoint_files import revived
from ..class_names import UnknownClassError, find_class
from .algorithm_config import AlgorithmConfig

_CLASS: Final = "class"
_OURS_ALONE: Final = ("stats_cls_lookup", "sample_collector", "_is_frozen", "algo_class")
"""Settings whose values are classes of whoever wrote the file; the defaults serve as well."""


def config_from(given: Any, default: Any) -> Any:
    """A config of its own from whatever an algorithm was given.

    Args:
        given: A config, a dict of settings, what `config.get_state()` gave, or None.
        default: The algorithm's own settings, for all that is not said.
    """
    if given is None:
        return default
    if isinstance(given, AlgorithmConfig):
        return given.copy(copy_frozen=False)
    if _CLASS in given:
        return AlgorithmConfig.from_state(given).copy(copy_frozen=False)
    return default.update_from_dict(given)


def saved_settings(config: AlgorithmConfig) -> dict[str, Any]:
    """What a checkpoint holds of a config: plain settings, as RLlib's do."""
    held = {key: value for key, value in config.get_state().items() if key not in _OURS_ALONE}
    held["policies"] = {
        module_id: (spec.policy_class, spec.observation_space, spec.action_space, spec.config)
        for module_id, spec in config.policies.items()
    }
    return held


def restored_config(held: Mapping[str, Any], given: Mapping[str, Any]) -> AlgorithmConfig:
    """Make a config of what a checkpoint holds; no code of the file runs.

    Args:
        held: The decoded settings, of ours or of RLlib's.
        given: The user's classes and functions by the dotted name the file gives them.

    Raises:
        UnknownClassError: A setting is a class or function that nobody has given.
    """
    found = class_path(held[_CLASS]) if _CLASS in held else ""
    cls = find_class(found, AlgorithmConfig, given)
    if isinstance(cls, AlgorithmConfig):  # Somebody gave settings in place of a class.
        return cls
    if cls is None:
        raise UnknownClassError(
            f"the checkpoint's settings are of {found or 'no class'}, which is not known",
            hint="pass them: from_checkpoint(path, config=...).",
            class_name=found,
        )
    config: AlgorithmConfig = cls()
    known = vars(config)
    left_out = {*_OURS_ALONE, *_of_no_effect(cls)}
    for name, value in held.items():
        if name not in known or name in left_out or _is_default(value, known[name]):
            continue
        try:
            made = revived(value, _finder(given))
        except UnknownClassError as error:
            raise UnknownClassError(
                f"the setting {name!r} is {error.class_name}, which is not in the checkpoint",
                hint="pass it: from_checkpoint(path, module_classes={name: it}), or all settings: "
                "from_checkpoint(path, config=...).",
                class_name=error.class_name,
            ) from error
        if name == "policies":
            config.multi_agent(policies={key: _as_spec(each) for key, each in made.items()})
        else:
            known[name] = made
    return config


def _of_no_effect(cls: type[AlgorithmConfig]) -> set[str]:
    """Settings that are accepted for RLlib's sake: what is in them need not be known here."""
    return {"model"} | {
        section.attribute(name)
        for section in cls.SECTIONS.values()
        for name, setting in section.settings.items()
        if setting.rule is None and not (setting.meaning or setting.instead or setting.convert)
    }


def _as_spec(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _is_default(value: Any, default: Any) -> bool:
    """Whether a value means what the setting is anyway."""
    if value == -1 and default is None:  # RLlib's word for a setting that has moved.
        return True
    if not isinstance(value, (GlobalRef, Opaque)) or default is None:
        return False
    name = getattr(default, "__qualname__", type(default).__qualname__)
    path = class_path(value)
    return path.endswith(f".{name}") or path.rpartition(".")[2] == "DEFAULT_POLICY_MAPPING_FN"


def _finder(given: Mapping[str, Any]) -> Any:
    def find(path: str) -> Any:
        module, _, name = path.rpartition(".")
        for known in (path, f"{module}:{name}", name):
            if known in given:
                return given[known]
        found = _loaded(module, name)
        if found is None:
            raise UnknownClassError(f"{path} is not known", class_name=path)
        return found

    return find


def _loaded(module: str, name: str) -> Any:
    """What a module that is loaded already has under a name; nothing is loaded."""
    if module.startswith("ray.rllib."):
        from ... import v2

        return getattr(v2, name, None) if name in v2.__all__ else None
    return getattr(sys.modules.get(module), name, None)
