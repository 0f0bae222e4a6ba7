"""Every place in our sources where a name could become code, or a file could be written."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SRC = Path(__file__).parents[2] / "src"

_CALLED = {
    "__import__": "import",
    "import_module": "import",
    "run_module": "import",
    "run_path": "import",
    "load": "",  # by its module, below
    "loads": "",
    "Unpickler": "unpickle",
    "make": "",
    "make_vec": "make",
    "write_text": "write",
    "write_bytes": "write",
    "attrgetter": "getattr",
    "methodcaller": "getattr",
}
_BUILT_IN = {"exec": "exec", "eval": "exec", "compile": "exec", "__import__": "import"}
_OF = {
    ("pickle", "load"): "unpickle",
    ("pickle", "loads"): "unpickle",
    ("cloudpickle", "loads"): "unpickle",
    ("marshal", "loads"): "unpickle",
    ("torch", "load"): "unpickle",
    ("np", "load"): "unpickle",
    ("numpy", "load"): "unpickle",
    ("gym", "make"): "make",
    ("gymnasium", "make"): "make",
    ("os", "open"): "write",
    ("os", "system"): "run",
    ("os", "popen"): "run",
    ("os", "mkdir"): "write",
    ("os", "makedirs"): "write",
    ("tempfile", "mkdtemp"): "write",
    ("shutil", "copyfile"): "write",
    ("shutil", "copytree"): "write",
    ("shutil", "rmtree"): "write",
}
_MODULES = {"subprocess": "run", "pty": "run", "runpy": "import", "ctypes": "run"}


def sites_of(source: str) -> Iterator[tuple[str, str, int]]:
    """Kind, expression and line of each such place in one file."""
    for node in ast.walk(ast.parse(source)):
        kind = _kind(node)
        if kind:
            yield kind, _shown(node), node.lineno


def _shown(node: ast.AST) -> str:
    """The expression on one line, without what is written and alike in every Python."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in ("write_text", "write_bytes"):
            node = node.func
        elif node.func.attr in ("make", "make_vec"):
            node = ast.Call(node.func, node.args[:1], [])
    return " ".join(ast.unparse(node).replace('"', "'").split())


@cache
def sites() -> dict[tuple[str, str, str], list[int]]:
    """Lines by file, kind and expression, of all our sources."""
    found: dict[tuple[str, str, str], list[int]] = {}
    for path in sorted(SRC.rglob("*.py")):
        name = path.relative_to(SRC).as_posix()
        for kind, expression, line in sites_of(path.read_text(encoding="utf-8")):
            found.setdefault((name, kind, expression), []).append(line)
    return found


def _kind(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        return _call(node)
    if isinstance(node, (ast.Subscript, ast.Attribute)):
        held = node.value
        if isinstance(node, ast.Attribute) and node.attr != "get":
            held = node
        if (
            isinstance(held, ast.Attribute)
            and held.attr == "modules"
            and _name(held.value) == "sys"
        ):
            is_literal = isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
            return "" if is_literal or node is held else "loaded"
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
            return _namespace(node.value)
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        names = [alias.name for alias in node.names]
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        return next((_MODULES[name] for name in names if name in _MODULES), "")
    return ""


def _call(node: ast.Call) -> str:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else _name(node.func)
    owner = _name(node.func.value) if isinstance(node.func, ast.Attribute) else ""
    if isinstance(node.func, ast.Name) and name in _BUILT_IN:
        return _BUILT_IN[name]
    if owner == "builtins" and name in _BUILT_IN:
        return _BUILT_IN[name]
    if (owner, name) in _OF:
        return _OF[owner, name]
    if name == "getattr" and len(node.args) > 1:
        return "" if isinstance(node.args[1], ast.Constant) else "getattr"
    if name in ("attrgetter", "methodcaller"):
        return "" if node.args and isinstance(node.args[0], ast.Constant) else "getattr"
    if name == "get" and isinstance(node.func, ast.Attribute):
        is_literal = bool(node.args) and isinstance(node.args[0], ast.Constant)
        return "" if is_literal else _namespace(node.func.value)
    if name == "open":
        return _opened(node, owner)
    return _CALLED.get(name, "")


def _namespace(node: ast.AST) -> str:
    """`vars(x)[...]`, `globals()[...]`, `x.__dict__[...]` with a name that is no literal."""
    if isinstance(node, ast.Call) and _name(node.func) in ("vars", "globals", "locals"):
        return "getattr"
    if isinstance(node, ast.Attribute) and node.attr == "__dict__":
        return "getattr"
    return ""


def _opened(node: ast.Call, owner: str) -> str:
    modes = [word.value for word in node.keywords if word.arg == "mode"] or node.args[:2]
    said = [each.value for each in modes if isinstance(each, ast.Constant)]
    said = [mode for mode in said if isinstance(mode, str) and set(mode) <= set("rwxabtU+")]
    if said:
        return "write" if set(said[-1]) & set("wax+") else ""
    is_built_in = isinstance(node.func, ast.Name) or owner == "io"
    has_mode = len(modes) > is_built_in or any(word.arg == "mode" for word in node.keywords)
    return "write" if has_mode else ""


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""
