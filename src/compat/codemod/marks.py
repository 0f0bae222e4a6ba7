"""Lines that say what is left for a person to do, each in a comment of its own line."""

from __future__ import annotations

from typing import Final, TypeVar

import libcst as cst
from libcst.metadata import PositionProvider

from .report import Left

_MARK: Final = "rlconnect:"
_Node = TypeVar("_Node", bound=cst.CSTNode)


def marked(node: cst.SimpleStatementLine, why: str) -> cst.SimpleStatementLine:
    """A line with a comment that says what is the matter, once."""
    return node.with_changes(trailing_whitespace=_noted(node.trailing_whitespace, why))


def _noted(trailing: cst.TrailingWhitespace, why: str) -> cst.TrailingWhitespace:
    before = trailing.comment.value if trailing.comment is not None else ""
    if _MARK in before:
        return trailing
    note = f"# {_MARK} {why}"
    comment = cst.Comment(f"{before}  {note}" if before else note)
    return trailing.with_changes(whitespace=cst.SimpleWhitespace("  "), comment=comment)


class MarkingTransformer(cst.CSTTransformer):
    """Marks the statements in which something is left.

    Attributes:
        changes: What was done, in words.
        left: What was left, and why.
    """

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        super().__init__()
        self.changes: list[str] = []
        self.left: list[Left] = []
        self._whys: list[list[tuple[int, str]]] = []

    def leave_alone(self, node: cst.CSTNode, what: str, why: str) -> None:
        """Note that a part of the current statement is left as it is."""
        line = self.get_metadata(PositionProvider, node).start.line
        self.left.append(Left(line, what, why))
        if self._whys:
            self._whys[-1].append((line, why))

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Begin a statement, or the head of one."""
        if isinstance(node, _STATEMENTS):
            self._whys.append([])
        return super().on_visit(node)

    def on_leave(  # type: ignore[override]  # what comes back is of the node's own kind
        self, original_node: _Node, updated_node: _Node
    ) -> cst.CSTNode | cst.RemovalSentinel | cst.FlattenSentinel[cst.CSTNode]:
        """End it: its line is marked if something in it is left."""
        node = super().on_leave(original_node, updated_node)
        if not isinstance(original_node, _STATEMENTS):
            return node
        why = "; ".join(dict.fromkeys(why_not for _, why_not in sorted(self._whys.pop())))
        if not why:
            return node
        if isinstance(node, (cst.SimpleStatementLine, cst.Decorator)):
            return node.with_changes(trailing_whitespace=_noted(node.trailing_whitespace, why))
        body = getattr(node, "body", None)
        if not isinstance(node, cst.CSTNode) or body is None:
            return node
        if isinstance(body, cst.IndentedBlock):
            return node.with_changes(body=body.with_changes(header=_noted(body.header, why)))
        trailing = _noted(body.trailing_whitespace, why)
        return node.with_changes(body=body.with_changes(trailing_whitespace=trailing))


_STATEMENTS: Final = (cst.SimpleStatementLine, cst.BaseCompoundStatement, cst.Decorator)
