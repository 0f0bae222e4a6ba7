"""Modules of Ray that a process has imported."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Final

ALIAS_ORIGIN: Final = "rlconnect"
"""The origin in the specs of our import aliases for modules of Ray."""


def loaded_module(name: str) -> ModuleType | None:
    """Return a module of Ray's own that has been imported; None if there is none.

    Args:
        name: Its name, such as "ray.tune.registry". An import alias of ours does not count.
    """
    module = sys.modules.get(name)
    is_alias = getattr(getattr(module, "__spec__", None), "origin", None) == ALIAS_ORIGIN
    return None if is_alias else module
