"""One pass over a file: imports, renamed calls, and marks for what is left to a person."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any, Final

from ...names import SHARED, front_tables
from ...names.legacy import LEGACY
from ...names.v2 import TUNING, V2
from ...v2.config.setting_methods import SettingMethods
from ..aliases.stand_ins import IN_TUNE, STAND_IN
from ..aliases.table import Place, locate, modules
from . import renamings as table
from .report import Left
from .source import Source

_ROOT: Final = __name__.split(".")[0]
_TUNE: Final = "v2.tuning"
_FRONTS: Final = {
    _TUNE: {*front_tables(TUNING)[0], *modules()["ray.tune"]},
    "v2": set().union(*front_tables(V2, SHARED)),
    "legacy": set().union(*front_tables(LEGACY, SHARED)),
}
_LONGEST: Final = 12
"""The most parts of a dotted name that is read."""


class Rewriter:
    """Edit a file.

    Args:
        source: The file.

    Attributes:
        changes: What was done.
        left: What is left, and why.
        is_concerned: Whether the file imports Ray or rlconnect.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self.changes: list[str] = []
        self.left: list[Left] = []
        self.is_concerned = False
        self._paths: dict[str, str] = {}  # names of the file for modules of Ray
        self._taken: dict[str, set[str]] = {}  # what the file takes of a name
        self._fronts: dict[str, str | None] = {}
        self._renamed: dict[str, str] = {}
        self._done: set[int] = set()
        nodes, rebound = [*ast.walk(source.tree)], set()
        for node in nodes:
            rebound |= self._gather(node)
        for name in rebound:
            self._paths.pop(name, None)
        visits: tuple[dict[type[ast.AST], Any], ...] = (
            {ast.Import: self._import, ast.ImportFrom: self._import_from},
            {
                ast.Name: self._name,
                ast.Attribute: self._attribute,
                ast.FunctionDef: self._function,
                ast.Call: self._call,
                ast.Constant: self._constant,
            },
        )
        for visit in visits if self.is_concerned else ():
            for node in nodes:
                if type(node) in visit:
                    visit[type(node)](node)

    def _gather(self, node: ast.AST) -> set[str]:
        """Find modules and what is taken of them; give names that the file sets otherwise."""
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            above = "" if isinstance(node, ast.Import) else f"{node.module or ''}."
            for alias in () if getattr(node, "level", 0) else node.names:
                path = _path_today(above + alias.name)
                root = path.partition(".")[0]
                self.is_concerned |= root in ("ray", _ROOT)
                if root == "ray" and not above and alias.asname is None:
                    self._paths["ray"] = "ray"
                elif root == "ray" and path in modules():
                    self._paths[alias.asname or alias.name] = path
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            self._taken.setdefault(node.value.id, set()).add(node.attr)
        elif isinstance(node, ast.Assign):
            return {_dotted(target) for target in node.targets}
        return {node.arg} if isinstance(node, ast.arg) else set()

    def _leave(self, node: Any, what: str, why: str) -> None:
        self.left.append(Left(node.lineno, what, why))
        self._source.mark(node.lineno, why)

    # Imports

    def _import(self, node: ast.Import) -> None:
        """`import ray.rllib.algorithms.ppo as ppo` -> `from rlconnect import v2 as ppo`."""
        alias = node.names[0]
        if all(each.name.partition(".")[0] != "ray" for each in node.names):
            return
        front = self._front(alias.asname or "")
        if len(node.names) > 1:
            self._leave(node, "import of a module", "import its names instead")
        elif front is None:
            is_used = (alias.asname or "ray") in self._taken
            why = "what uses it is marked" if is_used else "nothing uses it"
            self._leave(node, f"import {alias.name}", why)
        else:
            home, _, name = f"{_ROOT}.{front}".rpartition(".")
            self.changes.append(f"{alias.name} -> {home}.{name}")
            self._source.replace_statement(node, [f"from {home} import {name} as {alias.asname}"])

    def _import_from(self, node: ast.ImportFrom) -> None:
        path = node.module or ""
        if node.level or path.partition(".")[0] != "ray":
            return
        if node.names[0].name == "*":
            self._leave(node, "import of *", "import its names instead")
            return
        homes: dict[str, list[tuple[ast.alias, str]]] = {}
        for alias in node.names:
            home, name = self._home(path, alias)
            homes.setdefault(home, []).append((alias, name))
        lacking = homes.pop("", [])
        for _, name in lacking:
            is_module = _path_today(f"{path}.{name}") in modules()
            why = "a module: import its names instead" if is_module else "rlconnect lacks it"
            self.left.append(Left(node.lineno, f"{path}.{name}", why))
        if lacking:
            lacks = ", ".join(name for _, name in lacking)
            self._source.mark(node.end_lineno or 1, f"lacks {lacks}")
        for home, pairs in homes.items():
            self.changes.append(f"{path} -> {home}: {', '.join(name for _, name in pairs)}")
        head = re.match(r"from\s+([\w.]+)", self._source.text(node))
        if len(homes) == 1 and not lacking and head is not None:
            ((home, pairs),) = homes.items()
            self._source.replace(node, head[0], head[0].replace(head[1], home))
            for alias, name in pairs:
                self._source.replace(alias, self._source.text(alias), _words(alias, name))
        elif homes:
            every = [*sorted(homes.items()), *([(path, lacking)] if lacking else ())]
            lines = [f"from {home} import {_all_words(pairs)}" for home, pairs in every]
            self._source.replace_statement(node, lines)

    def _home(self, path: str, alias: ast.alias) -> tuple[str, str]:
        """The module of ours to import from, and the name there; "" for what is lacking."""
        name, place = alias.name, _place_today(path, alias.name)
        is_settings = name == table.DEFAULT_CONFIG
        if place is None or (is_settings and alias.asname is not None):
            front = self._front(alias.asname or name)
            if front is None or _path_today(f"{path}.{name}") not in modules():
                return "", name
            home, _, our_name = f"{_ROOT}.{front}".rpartition(".")
            return home, our_name
        if place.home == "v2" and _is_renamed(name) and alias.asname is None:
            self._renamed[name] = place.name + "().to_dict()" * is_settings
        for front, names in _FRONTS.items():
            if place.name in names and f"{place.home}.".startswith(f"{front}."):
                return f"{_ROOT}.{front}", place.name
        return f"{_ROOT}.{place.home}", place.name

    def _front(self, name: str) -> str | None:
        """The one package of ours that has all that is taken of a module; None if none has."""
        if name not in self._fronts:
            path = self._paths.get(name, "ray")
            places = [_place_today(path, old) for old in self._taken.get(name, ())]
            self._fronts[name] = next(
                (
                    front
                    for front, names in _FRONTS.items()
                    if path != "ray" and (front == _TUNE) != path.startswith("ray.rllib")
                    if all(place and _serves(front, names, place) for place in places)
                ),
                None,
            )
        return self._fronts[name]

    # Uses

    def _name(self, node: ast.Name) -> None:
        if node.id in self._renamed:
            self._source.replace(node, node.id, self._renamed[node.id])

    def _attribute(self, node: ast.Attribute) -> None:
        owner, name = _dotted(node.value), node.attr
        path = self._paths.get(owner)
        if owner.partition(".")[0] == "ray" and self._paths.get("ray") == "ray":
            if id(node) not in self._done:
                self._leave(node, f"{owner}.{name}", _instead_of(f"{owner}.{name}"))
            self._done.add(id(node.value))  # what is part of it is told with it
        elif path is not None and path != "ray":
            place = _place_today(path, name)
            if place is None:
                self._leave(node, f"{owner}.{name}", f"lacks {path}.{name}")
            elif place.name != name and self._front(owner) is not None:
                ending = "().to_dict()" if name == table.DEFAULT_CONFIG else ""
                self._rename(node, name, place.name + ending)
        else:
            for key in (f"{owner}.{name}", name):
                if key in table.ATTRIBUTES:
                    self._leave(node, f"{owner}.{name}", table.ATTRIBUTES[key])

    def _rename(self, node: ast.AST, old: str, new: str) -> None:
        if self._source.replace(node, old, new, is_last=True):
            self.changes.append(f"{old} -> {new}")

    def _function(self, node: ast.FunctionDef) -> None:
        every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        old = [each.arg for each in every if each.arg in table.HOOK_PARAMETERS]
        if node.name.startswith("on_") and old:
            why = ", ".join(table.HOOK_PARAMETERS[name] for name in old)
            self._leave(node, f"{node.name}({', '.join(old)})", f"hooks are given {why}")

    def _call(self, node: ast.Call) -> None:
        renamed: Mapping[str, str] = table.KEYWORDS.get(_dotted(node.func), {})
        if isinstance(node.func, ast.Attribute):
            owner, name = _dotted(node.func.value), node.func.attr
            method = table.CONFIG_METHODS.get(name, name)
            section = SettingMethods.SECTIONS.get(method)
            words = {keyword.arg for keyword in node.keywords}
            if section is not None:
                renamed = section.renamed
                if method != name and words and words <= {*section.settings, *renamed}:
                    self._rename(node.func, name, method)
                for word in sorted(words & table.MOVED.keys(), key=str):
                    if name == "training":
                        self._leave(node, f"training({word}=)", table.MOVED[str(word)])
            elif name in table.ALGORITHM_METHODS and "policy" not in owner.lower():
                self._leave(node, f"{owner}.{name}", table.ALGORITHM_METHODS[name])
        for keyword in node.keywords:
            new = renamed.get(keyword.arg or "")
            if new and self._source.replace(keyword, str(keyword.arg), new):
                self.changes.append(f"{keyword.arg}= -> {new}=")

    def _constant(self, node: ast.Constant) -> None:
        today = table.RESULT_KEYS.get(node.value) if isinstance(node.value, str) else None
        if today is not None:
            self._leave(node, repr(node.value), f"results have this as {today}")


def _path_today(path: str) -> str:
    """What Ray calls a module that had another name in Ray 1.

    Example:
        >>> _path_today("ray.rllib.agents.ppo.ppo")
        'ray.rllib.algorithms.ppo.ppo'
    """
    for old, new in table.MOVED_MODULES.items():
        if path == old or path.startswith(f"{old}."):
            return new + path[len(old) :]
    return path


def _place_today(path: str, name: str) -> Place | None:
    """Where rlconnect has something of one of Ray's modules; None if it can at most name it."""
    path, now = _path_today(path), table.TRAINERS.get(name, name)
    if name == table.DEFAULT_CONFIG:
        parts = path.split(".")
        now = f"{parts[3].upper() if len(parts) > 3 else 'Algorithm'}Config"
    place = locate(path, now)
    if place is None or place.home == STAND_IN:
        return None
    if place.home == IN_TUNE:  # `rlconnect.v2.tuning` serves all names of `ray.tune`
        return Place(_TUNE, now) if now in _FRONTS[_TUNE] else None
    new = table.CLASSES.get(place.name)
    return Place("v2", new) if new in _FRONTS["v2"] and place.home == "v2" else place


def _serves(front: str, names: set[str], place: Place) -> bool:
    is_home = front == _TUNE or f"{place.home}.".startswith((f"{front}.", "core."))
    return is_home and place.name in names


def _is_renamed(name: str) -> bool:
    return name in table.CLASSES or name in table.TRAINERS or name == table.DEFAULT_CONFIG


def _all_words(pairs: list[tuple[ast.alias, str]]) -> str:
    return ", ".join(_words(*pair) for pair in pairs)


def _words(alias: ast.alias, new: str) -> str:
    """`new as name`, if the file goes on using another name."""
    name = alias.asname or (new if _is_renamed(alias.name) else alias.name)
    return new if name == new and alias.asname is None else f"{new} as {name}"


def _instead_of(full_path: str) -> str:
    """What to do instead of a dotted name of Ray's."""
    path, _, name = full_path.rpartition(".")
    while _path_today(path) not in modules():
        path, _, name = path.rpartition(".")
    place = None if path == "ray" else _place_today(path, name)
    if place is not None:
        return f"import it: from {_ROOT}.{place.home} import {place.name}"
    if path != "ray":
        return f"lacks {path}.{name}"
    return "rlconnect runs in this process: leave it out, or call it directly"


def _dotted(node: ast.AST) -> str:
    """The dotted name that a node is; nothing if it is none, or a very long one."""
    parts: list[str] = []
    for _ in range(_LONGEST):
        if isinstance(node, ast.Name):
            return ".".join([node.id, *reversed(parts)])
        if not isinstance(node, ast.Attribute):
            return ""
        parts.append(node.attr)
        node = node.value
    return ""
