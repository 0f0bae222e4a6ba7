"""Packages that are cheap to import: their names are fetched from their modules on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from .torch_needed import torch_needed


def lazy_names(
    package: str, homes: Mapping[str, str], kept: Mapping[str, str] = MappingProxyType({})
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package.

    A name lives at `.module`, or `.module:Name` if it is called otherwise there, or `.module:` if
    it is the module itself. Names that are `kept` are served to old sources and out of sight:
    `dir()` shows what new ones are written with.

    Example:
        >>> fetch, names = lazy_names("rlconnect.core", {"Unfit": ".errors:SpaceError"})
        >>> fetch("Unfit").__name__
        'SpaceError'
    """
    namespace = vars(sys.modules[package])
    served = {**homes, **kept}

    def fetch(name: str) -> Any:
        if name not in served:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, colon, own_name = served[name].partition(":")
        with torch_needed(f"{package}.{name}"):
            home = import_module(module, package)
        value = home if colon and not own_name else getattr(home, own_name or name)
        namespace[name] = value
        return value

    def names() -> list[str]:
        dunders = {name for name in namespace if name.startswith("__")}
        return sorted({*dunders, *namespace.get("__all__", ()), *homes})

    return fetch, names
