"""Options of loading, for the stack that a checkpoint is of."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

from ...core.errors import ConfigError
from ...legacy.policy.policy import Policy

_SPACES: Final = ("observation_space", "action_space")


def legacy_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options for old-stack policies; others must not be set."""
    return _only_known(options, _of_policies(), "a policy of the old stack")


def module_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options for new-stack modules; others must not be set."""
    return _only_known(options, _of_modules(), "a module of the new stack")


def check_known(options: Mapping[str, Any]) -> None:
    """Refuse an option that no loader has, with Python's own `TypeError`."""
    for name in options:
        if name not in _of_policies() and name not in _of_modules():
            raise TypeError(f"got an unexpected keyword argument {name!r}")


def words_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that any part of a checkpoint accepts: custom classes."""
    return {name: options[name] for name in ("trust", "module_classes") if name in options}


def _names(loader: Callable[..., Any]) -> set[str]:
    return set(inspect.signature(loader).parameters)


def _of_policies() -> set[str]:
    return _names(Policy.from_checkpoint) - {"checkpoint", "policy_ids"}


def _of_modules() -> set[str]:
    from ...v2.modules.rl_module import RLModule

    names = _names(RLModule.from_checkpoint) | _names(RLModule.__init__)
    return names - {"self", "kwargs", "path", "filesystem"}


def _only_known(options: Mapping[str, Any], known_names: set[str], what: str) -> dict[str, Any]:
    set_options = {name: value for name, value in options.items() if value is not None}
    for name in set_options:
        if name in known_names:
            continue
        raise ConfigError(
            f"{name}= says nothing about {what}",
            expected=", ".join(sorted(known_names)),
            found=name,
            hint="leave it out.",
        )
    return set_options
