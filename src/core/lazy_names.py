"""Packages that are cheap to import: their names are fetched from their modules on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from .torch_needed import torch_needed


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package.

    Args:
        package: Its `__name__`.
        homes: Where each name lives, from the package: `.module`, or `.module:Name` if it is
            called otherwise there.

    Example:
        >>> fetch, names = lazy_names("rlconnect.core", {"Unfit": ".errors:SpaceError"})
        >>> fetch("Unfit").__name__
        'SpaceError'
    """
    namespace = vars(sys.modules[package])

    def fetch(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, own_name = homes[name].partition(":")
        with torch_needed(f"{package}.{name}"):
            home = import_module(module, package)
        value = namespace[name] = getattr(home, own_name or name)
        return value

    def names() -> list[str]:
        return sorted({*namespace, *homes})

    return fetch, names
