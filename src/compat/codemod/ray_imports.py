"""Imports from Ray as imports from rlconnect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import libcst as cst
from libcst.metadata import PositionProvider

from ..aliases.table import Place, modules, nearest_name
from .marks import marked
from .module_names import (
    FRONTS,
    ModuleNames,
    dotted,
    flat_import,
    path_today,
    place_today,
)
from .renamings import CLASSES, DEFAULT_CONFIG, TRAINERS
from .report import Left

_ROOT: Final = __name__.split(".")[0]
_WIDTH: Final = 88
_WHY_NOT: Final = "import its names instead"


class RayImports(cst.CSTTransformer):
    """Rewrites imports from Ray; notes what it has to leave.

    Attributes:
        is_concerned: The file imports Ray or rlconnect at all.
        renamed: Old names of classes, imported under themselves, that have a new name.
        changes: What was done, in words.
        left: What was left, and why.
    """

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, names: ModuleNames) -> None:
        super().__init__()
        self.names = names
        self.is_concerned = False
        self.renamed: dict[str, str] = {}
        self.changes: list[str] = []
        self.left: list[Left] = []

    def leave_SimpleStatementLine(  # LibCST's name
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.FlattenSentinel[cst.SimpleStatementLine]:
        """Rewrite a line that imports from Ray."""
        statements = [
            statement for statement in updated_node.body if _is_of(statement, _ROOT, "ray")
        ]
        if not statements:
            return updated_node
        self.is_concerned = True
        statements = [statement for statement in statements if _is_of(statement, "ray")]
        if not statements:
            return updated_node
        line = self.get_metadata(PositionProvider, original_node).start.line
        only = statements[0]
        if len(updated_node.body) == 1 and isinstance(only, cst.Import) and len(only.names) == 1:
            return self._module_import(updated_node, only.names[0], line)
        if len(updated_node.body) > 1 or not isinstance(only, cst.ImportFrom):
            return self._left(updated_node, line, "import of a module", _WHY_NOT)
        if isinstance(only.names, cst.ImportStar):
            return self._left(updated_node, line, "import of *", _WHY_NOT)
        return self._rewritten(updated_node, only, only.names, line)

    def _module_import(
        self, node: cst.SimpleStatementLine, alias: cst.ImportAlias, line: int
    ) -> cst.SimpleStatementLine:
        """`import ray.rllib.algorithms.ppo as ppo` -> `from rlconnect import v2 as ppo`."""
        name = "" if alias.asname is None else dotted(alias.asname.name)
        front = self.names.front(name)
        if front is None:
            is_used = self.names.is_used(name or "ray")
            why = "what uses it is marked" if is_used else "nothing uses it"
            return self._left(node, line, f"import {dotted(alias.name)}", why)
        package, our_name = flat_import(front)
        self.changes.append(f"{dotted(alias.name)} -> {package}: {our_name}")
        new_import = cst.ImportFrom(_module(package), [alias.with_changes(name=cst.Name(our_name))])
        return node.with_changes(body=[new_import])

    def _rewritten(
        self,
        node: cst.SimpleStatementLine,
        statement: cst.ImportFrom,
        aliases: Sequence[cst.ImportAlias],
        line: int,
    ) -> cst.SimpleStatementLine | cst.FlattenSentinel[cst.SimpleStatementLine]:
        path = dotted(statement.module)
        homes: dict[str, list[cst.ImportAlias]] = {}
        lacking: list[cst.ImportAlias] = []
        for alias in aliases:
            name = dotted(alias.name)
            place = place_today(path, name)
            front = self.names.front(_local_name(alias))
            is_settings = name == DEFAULT_CONFIG and alias.asname is not None
            if place is not None and not is_settings:
                home, our_name = self._home(place, name, has_alias=alias.asname is not None)
            elif front is not None and path_today(f"{path}.{name}") in modules():
                home, our_name = flat_import(front)
            else:
                lacking.append(alias)
                continue
            homes.setdefault(home, []).append(_alias(alias, our_name, name))
        if lacking:
            self._note(path, lacking, line)
        if not homes:
            return marked(node, _lacks(lacking))
        for home, names in homes.items():
            self.changes.append(
                f"{path} -> {home}: {', '.join(dotted(alias.name) for alias in names)}"
            )
        if len(homes) == 1 and not lacking:
            (home, names), *_ = homes.items()
            kept = [
                alias.with_changes(comma=old.comma)
                for alias, old in zip(names, aliases, strict=True)
            ]
            return node.with_changes(
                body=[statement.with_changes(module=_module(home), names=kept)]
            )
        lines = [_import_line(home, names) for home, names in sorted(homes.items())]
        if lacking:
            last = _import_line(path, lacking)
            lines.append(marked(last, _lacks(lacking)))
        lines[0] = lines[0].with_changes(leading_lines=node.leading_lines)
        if node.trailing_whitespace.comment is not None and not lacking:
            lines[-1] = lines[-1].with_changes(trailing_whitespace=node.trailing_whitespace)
        return cst.FlattenSentinel(lines)

    def _home(self, place: Place, name: str, *, has_alias: bool) -> tuple[str, str]:
        """The module to import from, and the name to import; old names give way to new ones."""
        if _is_renamed(name) and place.home == "v2" and not has_alias:
            self.renamed[name] = place.name + ("().to_dict()" if name == DEFAULT_CONFIG else "")
        for flat, names in FRONTS.items():
            is_home = place.home == flat or place.home.startswith(f"{flat}.")
            if is_home and place.name in names:
                return f"{_ROOT}.{flat}", place.name
        return f"{_ROOT}.{place.home}", place.name

    def _note(self, path: str, lacking: list[cst.ImportAlias], line: int) -> None:
        for alias in lacking:
            name = dotted(alias.name)
            if path_today(f"{path}.{name}") in modules():
                lacks = self.names.lacking(_local_name(alias))
                why = (
                    f"rlconnect lacks its {', '.join(lacks)}" if lacks else f"a module: {_WHY_NOT}"
                )
            else:
                near = nearest_name(path, name)
                is_other = near is not None and near.rpartition(".")[2] != name
                why = "rlconnect lacks it" + (f"; nearest is {near}" if is_other else "")
            self.left.append(Left(line, f"{path}.{name}", why))

    def _left(
        self, node: cst.SimpleStatementLine, line: int, what: str, why: str
    ) -> cst.SimpleStatementLine:
        self.left.append(Left(line, what, why))
        return marked(node, why)


def _is_of(statement: cst.BaseSmallStatement, *roots: str) -> bool:
    """Whether a statement imports from one of these packages, absolutely."""
    if isinstance(statement, cst.ImportFrom):
        return (
            not statement.relative
            and statement.module is not None
            and dotted(statement.module).split(".")[0] in roots
        )
    if isinstance(statement, cst.Import):
        return any(dotted(alias.name).split(".")[0] in roots for alias in statement.names)
    return False


def _is_renamed(name: str) -> bool:
    """Whether a file goes on with the new name of a class."""
    return name in CLASSES or name in TRAINERS or name == DEFAULT_CONFIG


def _local_name(alias: cst.ImportAlias) -> str:
    return dotted(alias.name if alias.asname is None else alias.asname.name)


def _lacks(aliases: list[cst.ImportAlias]) -> str:
    return f"lacks {', '.join(dotted(alias.name) for alias in aliases)}"


def _module(path: str) -> cst.Attribute | cst.Name:
    node = cst.parse_expression(path)
    assert isinstance(node, (cst.Attribute, cst.Name))
    return node


def _alias(alias: cst.ImportAlias, our_name: str, name: str) -> cst.ImportAlias:
    """`own as name`, where the file goes on saying `name`."""
    renamed = alias.with_changes(name=cst.Name(our_name))
    if alias.asname is None and our_name != name and not _is_renamed(name):
        renamed = renamed.with_changes(
            asname=cst.AsName(
                name=cst.Name(name),
                whitespace_before_as=cst.SimpleWhitespace(" "),
            )
        )
    return renamed


def _import_line(path: str, aliases: list[cst.ImportAlias]) -> cst.SimpleStatementLine:
    plain = cst.Module([])
    words = [
        plain.code_for_node(alias.with_changes(comma=cst.MaybeSentinel.DEFAULT)).strip()
        for alias in aliases
    ]
    text = f"from {path} import {', '.join(words)}"
    if len(text) > _WIDTH:
        text = f"from {path} import (\n" + "".join(f"    {word},\n" for word in words) + ")"
    line = cst.parse_statement(text)
    assert isinstance(line, cst.SimpleStatementLine)
    return line
