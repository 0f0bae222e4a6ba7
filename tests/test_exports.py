"""What a package says it exports, it exports: `__all__` is sorted, complete and true."""

import ast
import importlib
import re
from pathlib import Path

import pytest
import rlconnect
from rlconnect.core.importing.torch_needed import has_torch

SRC = Path(__file__).parents[1] / "src"
PUBLIC = ["", "core", "core.vault", "legacy", "v2", "bridge"]
RESERVED = ["load", "adapt", "migrate", "verify"]


def order(name):
    """The order the linter sorts a written `__all__` in; a computed one may be `sorted()`."""
    kind = 0 if len(name) > 1 and name.isupper() else 1 if name[:1].isupper() else 2
    return kind, [int(p) if p.isdigit() else p for p in re.split(r"(\d+)", name)]


def says_what_it_exports(source):
    """Whether a module assigns `__all__`."""
    return "__all__" in source and any(
        isinstance(target, ast.Name) and target.id == "__all__"
        for node in ast.parse(source).body
        for target in (*getattr(node, "targets", ()), getattr(node, "target", None))
    )


def import_name(path):
    parts = path.relative_to(SRC).with_suffix("").parts
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    return ".".join(("rlconnect", *parts))


EXPORTERS = [
    pytest.param(path, id=import_name(path))
    for path in sorted(SRC.rglob("*.py"))
    if says_what_it_exports(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("path", EXPORTERS)
def test_all_is_sorted_and_true(path):
    """Every name in an `__all__` is there, once, in order; a lazy module serves each of them."""
    try:
        module = importlib.import_module(import_name(path))
    except ModuleNotFoundError as missing:  # a module of the library's own about torch alone
        if missing.name != "torch" or has_torch():
            raise
        pytest.skip("torch is not installed")

    exported = list(module.__all__)

    assert exported in (sorted(set(exported)), sorted(set(exported), key=order))
    assert [name for name in exported if not hasattr(module, name)] == []


@pytest.mark.parametrize("package", PUBLIC)
def test_a_public_package_that_imports_says_what_it_exports(package):
    """A public package's `__init__` is either a docstring alone or has an `__all__`."""
    source = (SRC / package.replace(".", "/") / "__init__.py").read_text(encoding="utf-8")
    statements = ast.parse(source).body

    assert ast.get_docstring(ast.parse(source))
    assert len(statements) == 1 or says_what_it_exports(source)


@pytest.mark.parametrize("package", PUBLIC)
def test_star_import_and_unknown_names(package):
    """`from package import *` works, and a name that is not there is a plain AttributeError."""
    module = importlib.import_module(f"rlconnect.{package}".rstrip("."))

    exec(f"from {module.__name__} import *", {})
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        module.no_such_name  # noqa: B018


@pytest.mark.parametrize("name", RESERVED)
def test_reserved_names_are_absent_until_they_work(name):
    """A front door name that is not filled yet does not pretend to be there."""
    assert hasattr(rlconnect, name) == (name in rlconnect.__all__)


def test_a_lazy_name_is_the_very_object_of_its_module():
    """What the front door hands out is the object itself, the same one each time."""
    from rlconnect.core.vault import open_checkpoint

    assert rlconnect.open_checkpoint is open_checkpoint
    assert rlconnect.open_checkpoint is rlconnect.open_checkpoint


def test_dir_shows_the_front_door():
    """Tab completion offers the lazy names before they are loaded."""
    assert set(rlconnect.__all__) <= set(dir(rlconnect))


def test_the_order_is_the_one_of_the_linter():
    """Constants before classes before functions, and 2 before 10."""
    names = ["b", "Conv10", "MAX", "a", "Conv2", "__version__"]

    assert sorted(names, key=order) == ["MAX", "Conv2", "Conv10", "__version__", "a", "b"]


@pytest.mark.parametrize("source", ["__all__ = ['b']", "__all__: list[str] = ['x']"])
def test_both_spellings_are_seen(source):
    """A plain and an annotated `__all__` are found; other assignments are not taken for one."""
    assert says_what_it_exports(source)
    assert not says_what_it_exports(source.replace("__all__", "names"))
