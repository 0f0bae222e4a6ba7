"""Stubs of the packages that fetch their names lazily, made of their tables: `make stubs`.

A type checker and an editor read `__init__.pyi`, Python reads the table in `__init__.py`.
`test_stubs.py` holds them to each other.
"""

from importlib import import_module
from pathlib import Path

SRC = Path(__file__).parents[2] / "src"
FRONTS = ("bridge", "legacy", "legacy.heads", "legacy.models", "v2", "v2.tuning")
TABLES = ("_HOME", "_KEPT")
HEADING = "# Made of the table in __init__.py by `make stubs`.\n"


def stub(front):
    """The text of a front's stub, and the file it belongs into."""
    package = import_module(f"rlconnect.{front}")
    modules = {}
    served = {name: home for table in TABLES for name, home in getattr(package, table, {}).items()}
    for name, home in sorted(served.items()):
        module, _, own = home.partition(":")
        modules.setdefault(module, []).append(f"{own or name} as {name}")
    lines = [f"from {module} import {', '.join(modules[module])}\n" for module in sorted(modules)]
    lines += [f"{table}: dict[str, str]\n" for table in TABLES if hasattr(package, table)]
    return SRC / front.replace(".", "/") / "__init__.pyi", HEADING + "".join(lines)


if __name__ == "__main__":
    for each in FRONTS:
        path, text = stub(each)
        path.write_text(text)
