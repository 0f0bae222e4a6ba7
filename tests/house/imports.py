"""Every import in `src`, read without running it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

SRC = Path(__file__).parents[2] / "src"


@dataclass(frozen=True)
class Import:
    """One import: the dotted target, ours without `rlconnect.`; how it is written and when run."""

    target: str
    line: int
    ours: bool
    relative: bool
    on_load: bool


@cache
def imports(source: str, module: str, is_package: bool) -> tuple[Import, ...]:
    """Every import statement and every `import_module("literal")` of one module."""
    package = module.split(".") if module else []
    if not is_package:
        package = package[:-1]
    return (*_walk(tree_of(source), package, on_load=True),)


@lru_cache(maxsize=1)
def tree_of(source: str) -> ast.AST:
    """A source's syntax, kept until the next is asked for: all trees take hundreds of MB."""
    return ast.parse(source)


def _walk(node: ast.AST, package: list[str], on_load: bool) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        for name in node.names:
            yield _absolute(name.name, node.lineno, on_load)
    elif isinstance(node, ast.ImportFrom):
        yield from _from(node, package, on_load)
    elif isinstance(node, ast.Call) and _called(node) in {"import_module", "__import__"}:
        yield from _by_name(node, package, on_load)
    if isinstance(node, ast.If) and _is_type_checking(node.test):
        for child in node.body:
            yield from _walk(child, package, on_load=False)
        for child in node.orelse:
            yield from _walk(child, package, on_load)
        return
    inside = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
    for child in ast.iter_child_nodes(node):
        yield from _walk(child, package, on_load and not inside)


def _absolute(target: str, line: int, on_load: bool) -> Import:
    first, _, rest = target.partition(".")
    ours = first == "rlconnect"
    return Import(rest if ours else target, line, ours, False, on_load)


def _from(node: ast.ImportFrom, package: list[str], on_load: bool) -> Iterator[Import]:
    # `from .. import core` and `from ..core import spaces` may name modules: follow each name.
    if node.level == 0:
        assert node.module is not None
        yield _absolute(node.module, node.lineno, on_load)
        if node.module == "rlconnect":
            for name in node.names:
                yield _absolute(f"rlconnect.{name.name}", node.lineno, on_load)
        return
    base = package[: len(package) - (node.level - 1)]
    base += node.module.split(".") if node.module else []
    for name in node.names:
        yield Import(".".join([*base, name.name]), node.lineno, True, True, on_load)


def _by_name(node: ast.Call, package: list[str], on_load: bool) -> Iterator[Import]:
    names = [arg.value if isinstance(arg, ast.Constant) else None for arg in node.args]
    if not names or not isinstance(names[0], str):
        return
    target = names[0].lstrip(".")
    level = len(names[0]) - len(target)
    if not level:
        yield _absolute(target, node.lineno, on_load)
        return
    if len(names) > 1 and isinstance(names[1], str):  # else it is __name__ or __package__
        package = names[1].split(".")[1:]
    base = package[: len(package) - (level - 1)]
    yield Import(".".join([*base, target]), node.lineno, True, True, on_load)


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _is_type_checking(test: ast.expr) -> bool:
    return (test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")) == (
        "TYPE_CHECKING"
    )


def modules() -> Iterator[tuple[str, Path]]:
    """Every module of ours, dotted and without `rlconnect.`, with its file."""
    for path in sorted(SRC.rglob("*.py")):
        parts = path.relative_to(SRC).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path
