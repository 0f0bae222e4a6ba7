"""Modules of Ray that a file has names for: `import ray.rllib.algorithms.ppo as ppo`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import libcst as cst
from libcst import helpers

from ...names import SHARED, front_tables
from ...names.legacy import LEGACY
from ...names.v2 import TUNING, V2
from ..aliases.stand_ins import IN_TUNE, STAND_IN
from ..aliases.table import Place, locate, modules
from .renamings import CLASSES, DEFAULT_CONFIG, MOVED_MODULES, TRAINERS

_ROOT: Final = __name__.split(".")[0]
FRONTS: Final = {
    front: set().union(*front_tables(*tables))
    for front, tables in (
        ("v2.tuning", (TUNING,)),
        ("v2", (V2, SHARED)),
        ("legacy", (LEGACY, SHARED)),
    )
}
"""The packages whose names can be imported flat."""
FRONTS["v2.tuning"].update(modules()["ray.tune"])


class ModuleNames(cst.CSTVisitor):
    """Finds which names of a file are modules of Ray, and what the file takes from each.

    Attributes:
        paths: The module's path, as Ray has it today, by the file's name for it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.paths: dict[str, str] = {}
        self._taken: dict[str, set[str]] = {}

    def visit_Import(self, node: cst.Import) -> bool:  # LibCST's name
        """`import ray`, `import ray.tune as tune`."""
        for alias in node.names:
            path = dotted(alias.name)
            if path.partition(".")[0] == "ray":
                name = "ray" if alias.asname is None else dotted(alias.asname.name)
                self.paths[name] = "ray" if alias.asname is None else path_today(path)
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:  # LibCST's name
        """`from ray import tune`, where `tune` is a module."""
        path = dotted(node.module)
        if node.relative or isinstance(node.names, cst.ImportStar) or path.split(".")[0] != "ray":
            return False
        for alias in node.names:
            full_path = path_today(f"{path}.{dotted(alias.name)}")
            if full_path in modules():
                name = alias.name if alias.asname is None else alias.asname.name
                self.paths[dotted(name)] = full_path
        return False

    def visit_Attribute(self, node: cst.Attribute) -> None:  # LibCST's name
        """`tune.run`: what is taken of a name."""
        if isinstance(node.value, cst.Name):
            self._taken.setdefault(node.value.value, set()).add(node.attr.value)

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:  # LibCST's name
        """A name that is set to something else is not the module everywhere: leave it."""
        self.paths.pop(dotted(node.target), None)

    def visit_Param(self, node: cst.Param) -> None:  # LibCST's name
        """A parameter of the same name."""
        self.paths.pop(node.name.value, None)

    def front(self, name: str) -> str | None:
        """The one package of ours that has all that is taken of a module; None if none has."""
        path = self.paths.get(name, "ray")
        if path == "ray":
            return None
        places = [place_today(path, old) for old in sorted(self._taken.get(name, ()))]
        for front, names in FRONTS.items():
            if front == "v2.tuning" and path.startswith("ray.rllib"):
                continue
            if all(_serves(front, names, place) for place in places):
                return front
        return None

    def is_used(self, name: str) -> bool:
        """Whether the file takes anything of a module."""
        return name in self._taken

    def lacking(self, name: str) -> list[str]:
        """What the file takes of a module and rlconnect has nowhere."""
        path = self.paths.get(name, "ray")
        return [each for each in sorted(self._taken.get(name, ())) if not place_today(path, each)]


def path_today(path: str) -> str:
    """What Ray calls a module that had another name in Ray 1.

    Example:
        >>> path_today("ray.rllib.agents.ppo.ppo")
        'ray.rllib.algorithms.ppo.ppo'
    """
    for old, new in MOVED_MODULES.items():
        if path == old or path.startswith(f"{old}."):
            return new + path[len(old) :]
    return path


def name_today(path: str, name: str) -> str:
    """What a class of Ray 1 is called, and which class has the settings of `DEFAULT_CONFIG`."""
    if name == DEFAULT_CONFIG:
        return f"{_algorithm(path)}Config"
    return TRAINERS.get(name, name)


def place_today(path: str, name: str) -> Place | None:
    """Where rlconnect has something of one of Ray's modules; None where it can at most name it."""
    place = locate(path_today(path), name_today(path, name))
    if place is None or place.home == STAND_IN:
        return None
    if place.home == IN_TUNE:  # `rlconnect.v2.tuning` serves all names of `ray.tune`
        return Place("v2.tuning", name) if name in FRONTS["v2.tuning"] else None
    new = CLASSES.get(place.name)
    return Place("v2", new) if new in FRONTS["v2"] and place.home == "v2" else place


def flat_import(front: str) -> tuple[str, str]:
    """The package that a front is imported from, and its name there."""
    package, _, name = f"{_ROOT}.{front}".rpartition(".")
    return package, name


def dotted(node: cst.CSTNode | None) -> str:
    """The dotted name a node is, or nothing."""
    return "" if node is None else helpers.get_full_name_for_node(node) or ""


def _serves(front: str, names: Collection[str], place: Place | None) -> bool:
    return (
        place is not None
        and place.name in names
        and (front == "v2.tuning" or f"{place.home}.".startswith((f"{front}.", "core.")))
    )


def _algorithm(path: str) -> str:
    """The algorithm whose folder a module lies in: `PPO` for `ray.rllib.agents.ppo.ppo`."""
    parts = path_today(path).split(".")
    return parts[3].upper() if len(parts) > 3 else "Algorithm"
