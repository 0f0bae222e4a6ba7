"""Tests of a layer use nothing above it, so the layers above may be taken away."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.house.arrows import our_tree
from tests.house.imports import imports
from tests.test_layers import MAY_IMPORT

TESTS = Path(__file__).parents[1]


def uses(source: str) -> Iterator[tuple[int, str]]:
    """What a test uses of ours or of other tests: `v2.episodes.x`, `tests.fuzz.cases`."""
    tree = our_tree()
    for item in imports(source, "tests", is_package=True):
        if item.ours and item.target:
            yield item.line, tree.module_of(item.target)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "tests":
            yield from ((node.lineno, f"{node.module}.{name.name}") for name in node.names)
        elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "rlconnect":
            yield node.lineno, tree.module_of(node.attr)


def helper(target: str) -> Path | None:
    """The file of a module of tests, or of one that a name is taken from."""
    parts = target.split(".")[1:]
    for length in (len(parts), len(parts) - 1):
        path = TESTS.joinpath(*parts[:length]).with_suffix(".py")
        if path.is_file():
            return path
    return None


@cache
def layers(path: Path) -> dict[str, str]:
    """The layers of ours that a module of tests needs, each with the line that says so."""
    found: dict[str, str] = {}
    where = path.relative_to(TESTS.parent)
    for line, used in uses(path.read_text()):
        if not used.startswith("tests"):
            found.setdefault(used.split(".")[0], f"{where}:{line} uses {used}")
        elif (other := helper(used)) is not None and other != path:
            for layer, why in layers(other).items():
                found.setdefault(layer, f"{where}:{line} uses {used}, and {why}")
    found.pop("", None)
    return found


@pytest.mark.parametrize("layer", ["core", "legacy", "v2", "bridge", "compat"])
def test_tests_of_a_layer_use_nothing_above_it(layer):
    """Neither themselves nor by way of what tests share."""
    above = [
        why
        for path in sorted((TESTS / layer).rglob("*.py"))
        for other, why in layers(path).items()
        if other not in MAY_IMPORT[layer]
    ]

    assert above == []


@pytest.mark.parametrize(
    ("source", "used"),
    [
        ("from rlconnect.cli.app import main", "cli.app"),
        ("from rlconnect import load", "bridge.front.load"),
        ("import rlconnect\nrlconnect.open_checkpoint(path)", "core.vault"),
        ("def test():\n    from rlconnect.core.errors import CheckpointError", "core.errors"),
        ("from tests.fuzz import cases", "tests.fuzz.cases"),
    ],
)
def test_each_use_is_seen(source, used):
    """Whatever the way it is written."""
    assert used in {what for _, what in uses(source)}
