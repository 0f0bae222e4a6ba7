"""Small mistakes that somebody could make in `src`, one at a time, as edits of its text.

A mutation is known by its function's qualified name, its kind and its text, not by file and line:
a sample drawn by seed stays the same when files move.
"""

import ast
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

SWAPPED = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.Mod: "*",
    ast.BitAnd: "|",
    ast.BitOr: "&",
    ast.LShift: ">>",
    ast.RShift: "<<",
    ast.And: "or",
    ast.Or: "and",
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Mutation:
    """One edit.

    Args:
        function: Qualified name: `Class.method`.
        kind: What sort of mistake.
        before: The text that is edited.
        after: The text in its place.
        number: Which of several alike in the function, from 0.
        module: Where the function lies now.
        start: Offset in the bytes of the file.
    """

    function: str
    kind: str
    before: str
    after: str
    number: int
    module: str
    start: int

    @property
    def name(self) -> str:
        """What it is known by, wherever its file lies."""
        times = f" #{self.number}" if self.number else ""
        return " | ".join((self.function, self.kind, _line(self.before) + times, _line(self.after)))

    def applied(self, source: str) -> str:
        """The module's text with the mistake in it."""
        data = source.encode()
        end = self.start + len(self.before.encode())
        return (data[: self.start] + self.after.encode() + data[end:]).decode()


def _line(text: str) -> str:
    return " ".join(text.split())


def mutations(source: str, module: str) -> Iterator[Mutation]:
    """Every mutation of the functions of one module."""
    lines = source.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for name, function in functions(ast.parse(source)):
        seen: Counter[tuple[str, str]] = Counter()
        for kind, node, after in _of_function(function, source):
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            before = source.encode()[start:end].decode()
            number = seen[kind, before]
            seen[kind, before] += 1
            yield Mutation(name, kind, before, after, number, module, start)


def functions(node: ast.AST, around: tuple[str, ...] = ()) -> Iterator[tuple[str, Function]]:
    """Functions and methods below a node with their qualified names; not those in functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            if not _is_overload(child):
                yield ".".join((*around, child.name)), child
        elif isinstance(child, ast.ClassDef):
            yield from functions(child, (*around, child.name))
        elif isinstance(child, (ast.If, ast.Try)) and "TYPE_CHECKING" not in ast.dump(child)[:80]:
            yield from functions(child, around)


def _is_overload(function: Function) -> bool:
    return any("overload" in ast.dump(each) for each in function.decorator_list)


def _of_function(function: Function, source: str) -> Iterator[tuple[str, ast.AST, str]]:
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    for statement in body:
        for node in _nodes(statement):
            yield from _of_node(node, source)
    for default in (*function.args.defaults, *function.args.kw_defaults):
        if isinstance(default, ast.Constant):
            yield from _of_node(default, source)


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """What a function does: without annotations, and without the words of its errors."""
    yield node
    for field, value in ast.iter_fields(node):
        if field in {"annotation", "returns", "type_comment", "decorator_list"}:
            continue
        if isinstance(node, (ast.Raise, ast.JoinedStr)):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _nodes(child)


def _of_node(node: ast.AST, source: str) -> Iterator[tuple[str, ast.AST, str]]:
    def text(part: ast.AST) -> str:
        return ast.get_source_segment(source, part) or ast.unparse(part)

    match node:
        case ast.Compare(left, [op], [right]) if type(op) in SWAPPED:
            yield "comparison", node, f"{text(left)} {SWAPPED[type(op)]} {text(right)}"
        case ast.BinOp(left, op, right) if type(op) in SWAPPED and not _is_text(left, right):
            yield "arithmetic", node, f"{text(left)} {SWAPPED[type(op)]} {text(right)}"
        case ast.AugAssign(target, op, value) if type(op) in SWAPPED:
            yield "arithmetic", node, f"{text(target)} {SWAPPED[type(op)]}= {text(value)}"
        case ast.BoolOp(op, values):
            joined = f" {SWAPPED[type(op)]} ".join(f"({text(value)})" for value in values)
            yield "and, or", node, joined
        case ast.UnaryOp(ast.Not(), operand):
            yield "not", node, f"({text(operand)})"
        case ast.Constant(bool(value)):
            yield "constant", node, str(not value)
        case ast.Constant(int(value) | float(value)):
            yield "constant", node, repr(value + 1)
        case ast.IfExp(test):
            yield "condition", test, f"not ({text(test)})"
        case ast.If(test):
            yield "condition", test, f"not ({text(test)})"
        case ast.Return(value) if value is not None and ast.unparse(value) != "None":
            yield "return", node, "return None"
        case ast.Expr(ast.Call()) | ast.Raise() | ast.Delete():
            yield "statement", node, "pass"
        case ast.Assign([ast.Attribute() | ast.Subscript()]):
            yield "statement", node, "pass"
        case ast.Break():
            yield "loop", node, "continue"
        case ast.Continue():
            yield "loop", node, "break"


def _is_text(*parts: ast.AST) -> bool:
    return any(
        isinstance(part, ast.JoinedStr)
        or (isinstance(part, ast.Constant) and isinstance(part.value, (str, bytes)))
        for part in parts
    )


def sample(
    every: Iterable[Mutation], count: int, seed: int, left_out: Iterable[str] = ()
) -> list[Mutation]:
    """`count` of them: for each function and kind one at most, all pairs being as likely."""

    def lot(*words: object) -> bytes:
        return hashlib.sha256("\0".join(map(str, (seed, *words))).encode()).digest()

    known_equal = set(left_out)
    drawn: dict[tuple[str, str], Mutation] = {}
    for each in every:
        if each.name in known_equal:
            continue
        pair = (each.function, each.kind)
        best = drawn.get(pair)
        if best is None or lot(each.name) < lot(best.name):
            drawn[pair] = each
    return [drawn[pair] for pair in sorted(drawn, key=lambda pair: lot(*pair))[:count]]
