"""Modules of Ray made on import, each a view of a row of the table."""

from __future__ import annotations

import dis
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import FrameType, ModuleType
from typing import Any, Final

from ...core.errors import UnknownNameError
from ...core.importing.ray_modules import ALIAS_ORIGIN
from .table import locate, modules, nearest_module, nearest_name

RLLIB: Final = "ray.rllib"
_TREE: Final = "tree"
_WAYS_ON: Final = (
    "leave out what needs it, write it against rlconnect.v2 or rlconnect.legacy, or run this "
    "where Ray is installed."
)


class UnknownRayModuleError(UnknownNameError, ModuleNotFoundError):
    """A module of Ray that rlconnect has no names for. `name` is its path."""


class UnknownRayNameError(UnknownNameError, ImportError):
    """A name imported from a module of Ray that rlconnect lacks. `name` is what was wanted."""


class RayModule(ModuleType):
    """A module under one of Ray's paths; its names are fetched on first use."""

    def __getattr__(self, name: str) -> Any:
        path = self.__name__
        place = None if _is_machinery(name) else locate(path, name)
        if place is not None:
            value = place.fetch()
            setattr(self, name, value)
            return value
        if name == "__all__":
            return sorted(word for word in modules()[path] if not word.startswith("_"))
        if f"{path}.{name}" in modules():
            return import_module(f"{path}.{name}")
        error = unknown_name(path, name)
        if not _is_machinery(name) and _is_import_from(sys._getframe(1)):
            raise error
        raise AttributeError(str(error), name=name, obj=self)

    def __dir__(self) -> list[str]:
        path = self.__name__
        below = (word.rpartition(".") for word in modules())
        return sorted(
            {*self.__dict__, *modules()[path], *(end for head, _, end in below if head == path)}
        )


def _is_machinery(name: str) -> bool:
    """Whether Python asks for it, rather than a user: `__path__`, `__wrapped__`, ..."""
    return name.startswith("__") and name.endswith("__") and name != "__version__"


def _is_import_from(frame: FrameType) -> bool:
    """Whether the frame is at a `from module import name`.

    There an AttributeError would be replaced by Python's own words, which help nobody.
    """
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] == "IMPORT_FROM"


def unknown_name(path: str, name: str) -> UnknownRayNameError:
    """The error for a name that a module of Ray has and rlconnect lacks."""
    near = nearest_name(path, name)
    return UnknownRayNameError(
        f"rlconnect lacks {path}.{name}, and stands in for Ray here",
        hint=(f"did you mean {near}? Else " if near else "") + _WAYS_ON,
        name=name,
        path=None,
        module=path,
        nearest=near,
    )


class RayFinder(MetaPathFinder, Loader):
    """Answers imports of `ray` and everything below it, and of `tree` where there is none.

    Attributes:
        root: The module that it answers for with all below: `ray`, or `ray.rllib` where Ray is.
    """

    def __init__(self) -> None:
        self.root = "ray"

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module under Ray's name.

        Raises:
            UnknownRayModuleError: rlconnect has no names for it.
        """
        is_tree = fullname == _TREE and PathFinder.find_spec(_TREE) is None
        if not (is_tree or fullname == self.root or fullname.startswith(f"{self.root}.")):
            return None
        if fullname not in modules():
            parent, _, name = fullname.rpartition(".")
            if locate(parent, name) is not None:  # `import ray.rllib.core.Columns` is no module
                return None
            near = nearest_module(fullname)
            raise UnknownRayModuleError(
                f"rlconnect has nothing of the module {fullname}, and stands in for Ray here",
                hint=(f"did you mean {near}? Else " if near else "") + _WAYS_ON,
                name=fullname,
                path=None,
                nearest=near,
            )
        is_package = any(module.startswith(f"{fullname}.") for module in modules())
        return ModuleSpec(fullname, self, origin=ALIAS_ORIGIN, is_package=is_package)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """A module that looks its names up in the table."""
        return RayModule(spec.name, f"`{spec.name}` as rlconnect has it.")

    def exec_module(self, module: ModuleType) -> None:
        """Run nothing: there is no source."""
