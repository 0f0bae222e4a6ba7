"""Nested results as one level of slash-separated names."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from numbers import Real
from typing import Any, Final, TypeVar

import numpy as np

from ...core.text.visible import visible

_Value = TypeVar("_Value")
_LONGEST_NAME: Final = 1000
_LEFT_OUT: Final = ("config",)


def flat(result: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Give all values of a nested result; the config is left out.

    Example:
        >>> flat({"env_runners": {"num_episodes": 3}, "config": {"lr": 0.1}})
        {'env_runners/num_episodes': 3}
    """
    flattened: dict[str, Any] = {}
    for key, value in result.items():
        if not prefix and key in _LEFT_OUT:
            continue
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            flattened.update(flat(value, f"{name}/"))
        else:
            flattened[name] = value
    return flattened


def scalars(result: Mapping[str, Any]) -> dict[str, float]:
    """Give the finite numbers among them."""
    return {
        name: float(value)
        for name, value in flat(result).items()
        if isinstance(value, (Real, np.number)) and isfinite(float(value))
    }


def shown(values: Mapping[str, _Value]) -> dict[str, _Value]:
    r"""The same under names that columns and tags can have: modules and metrics bring their own.

    Example:
        >>> shown({"learners/\x1b[2J/loss": 0.5})
        {'learners/\\x1b[2J/loss': 0.5}
    """
    return {visible(name, _LONGEST_NAME): value for name, value in values.items()}


def at(result: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """Give what lies at a path; None if nothing does."""
    part: Any = result
    for name in path:
        if not isinstance(part, Mapping) or name not in part:
            return None
        part = part[name]
    return part
