"""The picture of the layers, held by reading every import in `src` without running it.

core <- legacy <- bridge, core <- v2 <- bridge; cli and the front door may import everything and
nobody imports them. Moving an arrow is a design decision: change it here, on purpose.
"""

import ast
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src"

MAY_IMPORT = {
    "core": {"core"},
    "legacy": {"core", "legacy"},
    "v2": {"core", "v2"},
    "bridge": {"core", "legacy", "v2", "bridge"},
    "offline": {"core", "legacy", "v2", "offline"},
    "adapters": {"core"},
    "ray_pieces": {"core", "v2", "bridge", "ray_pieces"},
    "samples": set(),
}
EVERYTHING = {"", "__main__", "cli"}  # "" is the front door, src/__init__.py

# Folders of one layer that import each other, which none should: the list may only get shorter.
BOTH_WAYS = {
    ("bridge.actor", "bridge.compiled"),
    ("bridge.actor", "bridge.front"),
    ("bridge.front", "bridge.migrate"),
    ("bridge.loading", "bridge.migrate"),
    ("bridge.migrate", "bridge.proof"),
    ("legacy.distributions", "legacy.models"),
    ("v2.algorithms", "v2.config"),
    ("v2.algorithms", "v2.distributed"),
    ("v2.common", "v2.env_to_module"),
    ("v2.config", "v2.learning"),
    ("v2.config", "v2.tuning"),
    ("v2.module_to_env", "v2.planning"),
}

TORCH_IN_CORE = {
    "core.distributions",
    "core.fuse",
    "core.initializers",
    "core.nets",
    "core.tensor_formulas",
    "core.tensors",
    "core.weight_room",
}
NEVER_TORCH = {"core.vault"}
RAY_ALLOWED = {"v2.distributed", "ray_pieces"}


Pair = tuple[str, str]


@dataclass(frozen=True)
class Import:
    """One import: the dotted target, ours without `rlconnect.`; how it is written and when run."""

    target: str
    line: int
    ours: bool
    relative: bool
    on_load: bool


def imports(source: str, module: str, is_package: bool) -> Iterator[Import]:
    """Every import statement and every `import_module("literal")` of one module."""
    package = module.split(".") if module else []
    if not is_package:
        package = package[:-1]
    yield from _walk(ast.parse(source), package, on_load=True)


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


def _within(module: str, names: set[str]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in names)


def violations(source: str, module: str, is_package: bool = False) -> list[str]:
    """What in this module's imports breaks the picture, one line each."""
    layer = module.split(".")[0]
    found = []
    for item in imports(source, module, is_package):
        where = f"{module or '__init__'}:{item.line}"
        if item.ours:
            target = item.target.split(".")[0]
            if not item.relative:
                found.append(f"{where} imports rlconnect.{item.target}, not relatively")
            if layer not in EVERYTHING and target not in MAY_IMPORT[layer]:
                found.append(f"{where} {layer} imports {target or 'the front door'}")
            continue
        library = item.target.split(".")[0]
        if library == "ray" and not _within(module, RAY_ALLOWED):
            found.append(f"{where} imports ray")
        if library == "torch" and layer in {"core", ""}:
            if _within(module, NEVER_TORCH):
                found.append(f"{where} imports torch, which it never may")
            elif item.on_load and not _within(module, TORCH_IN_CORE):
                found.append(f"{where} loads torch on import")
    return found


def both_ways(sources: Iterable[tuple[str, str, bool]], rooms: Container[str]) -> set[Pair]:
    """The pairs of rooms (`layer.folder`) of one layer that import each other, even lazily."""

    def room(module: str) -> str:
        first_two = ".".join(module.split(".")[:2])
        return first_two if first_two in rooms else ""

    arrows = {
        (room(module), room(item.target))
        for module, source, is_package in sources
        for item in imports(source, module, is_package)
        if item.ours
    }
    return {(a, b) for a, b in arrows if a and a < b and (b, a) in arrows}


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(SRC.rglob("*.py")):
        parts = path.relative_to(SRC).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def test_src_keeps_the_picture():
    """No module of ours imports against the arrows, absolutely, or torch and ray where barred."""
    found = [
        line
        for module, path in modules()
        for line in violations(path.read_text(), module, path.name == "__init__.py")
    ]

    assert found == []


def test_folders_of_a_layer_import_one_way():
    """Two folders of a layer do not import each other, but for those that did when this began."""
    sources = [(name, path.read_text(), path.name == "__init__.py") for name, path in modules()]
    rooms = {f"{path.parents[1].name}.{path.parent.name}" for _, path in modules()}

    found = both_ways(sources, rooms)

    assert found - BOTH_WAYS == set(), "move what both need down, or into one of them"
    assert BOTH_WAYS - found == set(), "these no longer do: take them off the list"


def test_folders_that_import_each_other_are_seen():
    """An import on load, in a function or for types alone counts; one arrow is no pair."""
    sources = [
        ("v2.a.x", "from ..b import y", False),
        ("v2.b.y", "def f():\n    from ..a import x", False),
        ("v2.c", "from .a import x\nfrom .b import y", True),
        ("v2.a.z", "if TYPE_CHECKING:\n    from ..d import w", False),
    ]

    assert both_ways(sources, {"v2.a", "v2.b", "v2.c", "v2.d"}) == {("v2.a", "v2.b")}


def test_every_layer_is_drawn():
    """A new folder or module at the top of `src` is given its place before it may import."""
    top = {module.split(".")[0] for module, _ in modules()}

    assert top - EVERYTHING <= set(MAY_IMPORT)
    assert set(MAY_IMPORT) <= top


@pytest.mark.parametrize(
    ("module", "source", "match"),
    [
        ("core.spaces", "from ..legacy import types", "core imports legacy"),
        ("core.spaces", "from .. import v2", "core imports v2"),
        ("core.spaces", "from .. import __version__", "core imports __version__"),
        ("core.spaces", "def f():\n    from ..bridge import plan", "core imports bridge"),
        ("core.vault.reader", "from ...cli.app import entry", "core imports cli"),
        ("core.a", "if TYPE_CHECKING:\n    from ..v2.config import C", "core imports v2"),
        ("core.a", "import_module('.legacy.types', 'rlconnect')", "core imports legacy"),
        ("legacy.agent.clip", "from ...v2 import config", "legacy imports v2"),
        ("legacy.policy", "from ..bridge import plan", "legacy imports bridge"),
        ("v2.modules.spec", "from ...legacy.names import x", "v2 imports legacy"),
        ("v2.config", "from ..cli import app", "v2 imports cli"),
        ("bridge.plan", "from ..cli import app", "bridge imports cli"),
        ("bridge.plan", "from .. import load", "bridge imports load"),
        ("bridge.plan", "from rlconnect.core import errors", "not relatively"),
        ("cli.app", "import rlconnect", "not relatively"),
        ("core.vault.reader", "def f():\n    import torch", "never may"),
        ("core.vault.reader", "if TYPE_CHECKING:\n    import torch", "never may"),
        ("core.spaces", "import torch.nn", "loads torch on import"),
        ("core.spaces", "try:\n    from torch import nn\nexcept ImportError: ...", "loads torch"),
        ("core.spaces", "class A:\n    import torch", "loads torch on import"),
        ("", "import torch", "loads torch on import"),
        ("legacy.policy", "def f():\n    from ray import rllib", "imports ray"),
        ("v2.config", "importlib.import_module('ray.rllib')", "imports ray"),
    ],
)
def test_the_checker_catches(module, source, match):
    """Each way of breaking the picture is seen, wherever in the file it hides."""
    assert any(match in line for line in violations(source, module))


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("core.vault.reader", "from ..errors import CheckpointError\nfrom . import layout"),
        ("legacy.agent.clip", "from ...core.errors import PieceError\nfrom ..types import A"),
        ("v2.episodes.base", "from ...core import nest"),
        ("bridge.steps.a", "from ...legacy import x\nfrom ...v2 import y\nfrom ..plan import z"),
        ("legacy.a.b", "import_module('..types', __package__)"),
        ("cli.app", "from .. import open_checkpoint\nfrom ..bridge import plan"),
        ("core.spaces", "def f():\n    import torch"),
        ("core.spaces", "if TYPE_CHECKING:\n    import torch"),
        ("core.nets", "import torch"),
        ("core.nets.dense", "from torch import nn"),
        ("legacy.policy", "import torch"),
        ("core.spaces", "import torchvision_like_name\nimport rayleigh"),
    ],
)
def test_the_checker_lets_pass(module, source):
    """What the picture allows is not reported."""
    assert violations(source, module) == []


def test_a_package_resolves_one_dot_to_itself():
    """In `core/__init__.py` one dot means core; in `core/spaces.py` two dots mean the front."""
    assert violations("from .errors import SpaceError", "core", is_package=True) == []
    assert violations("from ..v2 import x", "core", is_package=True) == [
        "core:1 core imports v2",
    ]
