"""Imports from Ray as imports from rlconnect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import libcst as cst
from libcst import helpers
from libcst.metadata import PositionProvider

from ... import legacy, v2
from ..aliases.stand_ins import STAND_IN
from ..aliases.table import Place, locate, modules, nearest_name
from .renamings import CLASSES
from .report import Left

_ROOT: Final = __name__.split(".")[0]
_MARK: Final = "rlconnect:"
_FLAT: Final = {
    "legacy": {*legacy._HOME, *legacy._KEPT},
    "v2": {*v2._HOME, *v2._KEPT},
}
_WIDTH: Final = 88


class RayImports(cst.CSTTransformer):
    """Rewrites `from ray... import ...`; notes what it has to leave.

    Attributes:
        is_concerned: The file imports Ray or rlconnect at all.
        renamed: Old names of classes, imported under themselves, that have a new name.
        changes: What was done, in words.
        left: What was left, and why.
    """

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        super().__init__()
        self.is_concerned = False
        self.renamed: dict[str, str] = {}
        self.changes: list[str] = []
        self.left: list[Left] = []

    def leave_SimpleStatementLine(  # LibCST's name
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.FlattenSentinel[cst.SimpleStatementLine]:
        """Rewrite a line that imports from Ray."""
        statements = [each for each in updated_node.body if _is_of(each, _ROOT, "ray")]
        if not statements:
            return updated_node
        self.is_concerned = True
        statements = [each for each in statements if _is_of(each, "ray")]
        if not statements:
            return updated_node
        line = self.get_metadata(PositionProvider, original_node).start.line
        only = statements[0]
        if len(updated_node.body) > 1 or not isinstance(only, cst.ImportFrom):
            return self._left(updated_node, line, "import of a module", "import its names instead")
        if isinstance(only.names, cst.ImportStar):
            return self._left(updated_node, line, "import of *", "import its names instead")
        return self._rewritten(updated_node, only, only.names, line)

    def _rewritten(
        self,
        node: cst.SimpleStatementLine,
        statement: cst.ImportFrom,
        aliases: Sequence[cst.ImportAlias],
        line: int,
    ) -> cst.SimpleStatementLine | cst.FlattenSentinel[cst.SimpleStatementLine]:
        path = _dotted(statement.module)
        homes: dict[str, list[cst.ImportAlias]] = {}
        lacking: list[cst.ImportAlias] = []
        for alias in aliases:
            name = _dotted(alias.name)
            place = locate(path, name)
            if place is None or place.home == STAND_IN:
                lacking.append(alias)
                continue
            home, own = self._home(place, name, has_alias=alias.asname is not None)
            homes.setdefault(home, []).append(_alias(alias, own, name))
        if lacking:
            self._note(path, lacking, line)
        if not homes:
            return _marked(node, [_dotted(alias.name) for alias in lacking])
        for home, names in homes.items():
            self.changes.append(
                f"{path} -> {home}: {', '.join(_dotted(alias.name) for alias in names)}"
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
            lines.append(_marked(last, [_dotted(alias.name) for alias in lacking]))
        lines[0] = lines[0].with_changes(leading_lines=node.leading_lines)
        if node.trailing_whitespace.comment is not None and not lacking:
            lines[-1] = lines[-1].with_changes(trailing_whitespace=node.trailing_whitespace)
        return cst.FlattenSentinel(lines)

    def _home(self, place: Place, name: str, *, has_alias: bool) -> tuple[str, str]:
        """The module to import from, and the name to import; old names give way to new ones."""
        new = CLASSES.get(name)
        if new is not None and new in _FLAT["v2"] and place.home == "v2":
            if not has_alias:
                self.renamed[name] = new
            return f"{_ROOT}.v2", new
        for flat, names in _FLAT.items():
            is_home = place.home == flat or place.home.startswith(f"{flat}.")
            if is_home and place.name in names:
                return f"{_ROOT}.{flat}", place.name
        return f"{_ROOT}.{place.home}", place.name

    def _note(self, path: str, lacking: list[cst.ImportAlias], line: int) -> None:
        for alias in lacking:
            name = _dotted(alias.name)
            if f"{path}.{name}" in modules():
                why = "a module: import its names instead"
            else:
                near = nearest_name(path, name)
                is_other = near is not None and near.rpartition(".")[2] != name
                why = "rlconnect lacks it" + (f"; nearest is {near}" if is_other else "")
            self.left.append(Left(line, f"{path}.{name}", why))

    def _left(
        self, node: cst.SimpleStatementLine, line: int, what: str, why: str
    ) -> cst.SimpleStatementLine:
        self.left.append(Left(line, what, why))
        return _marked(node, [], why)


def _is_of(statement: cst.BaseSmallStatement, *roots: str) -> bool:
    """Whether a statement imports from one of these packages, absolutely."""
    if isinstance(statement, cst.ImportFrom):
        return (
            not statement.relative
            and statement.module is not None
            and _dotted(statement.module).split(".")[0] in roots
        )
    if isinstance(statement, cst.Import):
        return any(_dotted(alias.name).split(".")[0] in roots for alias in statement.names)
    return False


def _dotted(node: cst.CSTNode | None) -> str:
    return "" if node is None else helpers.get_full_name_for_node(node) or ""


def _module(path: str) -> cst.Attribute | cst.Name:
    node = cst.parse_expression(path)
    assert isinstance(node, (cst.Attribute, cst.Name))
    return node


def _alias(alias: cst.ImportAlias, own: str, name: str) -> cst.ImportAlias:
    """`own as name`, where the file goes on saying `name`."""
    renamed = alias.with_changes(name=cst.Name(own))
    if alias.asname is None and own != name and CLASSES.get(name) != own:
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


def _marked(
    node: cst.SimpleStatementLine, names: list[str], why: str = ""
) -> cst.SimpleStatementLine:
    """The line with a comment that says what is the matter, once."""
    trailing = node.trailing_whitespace
    before = trailing.comment.value if trailing.comment is not None else ""
    if _MARK in before:
        return node
    note = f"# {_MARK} {why or 'lacks ' + ', '.join(names)}"
    comment = cst.Comment(f"{before}  {note}" if before else note)
    spaced = trailing.with_changes(whitespace=cst.SimpleWhitespace("  "), comment=comment)
    return node.with_changes(trailing_whitespace=spaced)
