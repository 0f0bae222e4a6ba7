"""Who uses whom in `src`, module by module: imports, and tables that name modules as strings."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.house.imports import SRC, imports, modules, tree_of

NAMED = re.compile(r"(\.+|rlconnect\.)?([a-z_]\w*(?:\.\w+)*)(?::\w*)?")


class Arrow(NamedTuple):
    """One module that uses another; `how` is "import" (on load, lazy or for types) or "name"."""

    start: str
    end: str
    line: int
    how: str


class Tree(NamedTuple):
    """Sources by module, which of them are packages, and what each package hands out.

    Args:
        sources: Text by dotted module.
        packages: The modules that are an `__init__.py`.
        fronts: Package -> public name -> the module it lives in.
    """

    sources: Mapping[str, str]
    packages: frozenset[str]
    fronts: Mapping[str, Mapping[str, str]]

    def module_of(self, target: str) -> str:
        """The module that holds `target`, which may be a module or a name in one."""
        parts = target.split(".") if target else []
        for length in range(len(parts), -1, -1):
            module = ".".join(parts[:length])
            if module in self.sources:
                rest = parts[length:]
                home = self.fronts.get(module, {}).get(rest[0]) if rest else None
                return module if home is None else self.module_of(home)
        return ""

    def package_of(self, module: str) -> str:
        """The package that one dot means in `module`."""
        return module if module in self.packages else module.rpartition(".")[0]


@cache
def our_tree() -> Tree:
    """What lies in `src`; what packages hand out lazily is read from their stubs."""
    found = dict(modules())
    return Tree(
        {module: path.read_text(encoding="utf-8") for module, path in found.items()},
        frozenset(module for module, path in found.items() if path.name == "__init__.py"),
        {_dotted(stub.parent): _homes(stub) for stub in SRC.rglob("__init__.pyi")},
    )


def _dotted(folder: Path) -> str:
    return ".".join(folder.relative_to(SRC).parts)


def _homes(stub: Path) -> dict[str, str]:
    found = imports(stub.read_text(encoding="utf-8"), _dotted(stub.parent), is_package=True)
    return {item.target.rpartition(".")[2]: item.target.rpartition(".")[0] for item in found}


def arrows(tree: Tree) -> Iterator[Arrow]:
    """Every use of a module of ours by another."""
    for module, source in tree.sources.items():
        for end, line, how in _uses(tree, module, source):
            if end != module:
                yield Arrow(module, end, line, how)


def _uses(tree: Tree, module: str, source: str) -> Iterator[tuple[str, int, str]]:
    fronts: dict[str, str] = {}
    for item in imports(source, module, module in tree.packages):
        if item.ours:
            end = tree.module_of(item.target)
            yield end, item.line, "import"
            if end in tree.fronts and end == item.target:
                fronts[end.rpartition(".")[2]] = end
    for node in ast.walk(tree_of(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for end in _named(tree, module, node.value):
                yield end, node.lineno, "name"
        elif isinstance(node, ast.Attribute) and isinstance(node.value, (ast.Name, ast.Call)):
            yield from _of_a_front(tree, node, fronts)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "getattr":
            front = fronts.get(getattr(node.args[0], "id", ""), "")
            if front and not isinstance(node.args[1], ast.Constant):
                yield from ((end, node.lineno, "name") for end in _all_of(tree, front))


def _named(tree: Tree, module: str, text: str) -> Iterator[str]:
    match = NAMED.fullmatch(text)
    if match is None:
        return
    dots, path = match.groups()
    if dots and dots.startswith("."):
        base = tree.package_of(module).split(".")
        path = ".".join([*base[: len(base) - len(dots) + 1], path])
    elif "." not in path:
        return
    if path in tree.sources:
        yield path


def _of_a_front(
    tree: Tree, node: ast.Attribute, fronts: Mapping[str, str]
) -> Iterator[tuple[str, int, str]]:
    # `v2.RLModule`, and `_v2().RLModule` where a function hands out the front it imports.
    if isinstance(node.value, ast.Name):
        named = {node.value.id: fronts[node.value.id]} if node.value.id in fronts else {}
    else:
        named = {} if node.value.args else dict(fronts)
    for front in named.values():
        home = tree.fronts[front].get(node.attr)
        if home is not None:
            yield tree.module_of(home), node.lineno, "import"


def _all_of(tree: Tree, front: str) -> set[str]:
    return {tree.module_of(home) for home in tree.fronts[front].values()}
