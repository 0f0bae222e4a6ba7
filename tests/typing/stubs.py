"""Stubs of the packages that fetch their names lazily, made of their tables: `make stubs`.

A type checker and an editor read `__init__.pyi`, Python reads the table in `__init__.py`.
`tests/test_imports.py` holds them to each other.
"""

from importlib import import_module
from inspect import signature
from pathlib import Path

SRC = Path(__file__).parents[2] / "src"
FRONTS = ("", "bridge", "legacy", "offline", "serve", "v2", "v2.tuning")
TABLES = ("_HOME", "_KEPT")
KEYWORDS = SRC / "v2/config/keywords.pyi"
KEYWORDS_HEAD = """# Made of the tables of settings by `make stubs`.
from _typeshed import DataclassInstance
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypedDict

from gymnasium.spaces import Space

from ..modules.multi_spec import MultiRLModuleSpec
from ..modules.spec import RLModuleSpec

class _Domain(Protocol):
    @property
    def domain_str(self) -> str: ...

Function: TypeAlias = Callable[..., Any]
Open: TypeAlias = _Domain | Mapping[str, Any]  # a search space of Ray Tune's
Schedule: TypeAlias = float | Sequence[Sequence[float]]
"""
HEADING = "# Made of the table in __init__.py by `make stubs`.\n"


def stub(front):
    """The text of a front's stub, and the file it belongs into."""
    package = import_module(f"rlconnect.{front}".rstrip("."))
    modules, renamed = {}, []
    served = {name: home for table in TABLES for name, home in getattr(package, table, {}).items()}
    for name, home in sorted(served.items()):
        module, _, own = home.partition(":")
        if home.endswith(":"):  # the module itself
            module, _, own = module.rpartition(".")
            module = module or "."
        own = own or name
        modules.setdefault(module, []).append(f"{own} as {name if own == name else f'_{own}'}")
        if own != name:  # what is imported as something else is private to a type checker
            renamed.append(f"{name} = _{own}\n")
    lines = [f"from {module} import {', '.join(modules[module])}\n" for module in sorted(modules)]
    lines += [f"{table}: dict[str, str]\n" for table in TABLES if hasattr(package, table)]
    if front == "v2.tuning":  # all other names are those of Ray Tune
        lines += ["from typing import Any\n", "def __getattr__(name: str) -> Any: ...\n"]
    return SRC / front.replace(".", "/") / "__init__.pyi", HEADING + "".join([*lines, *renamed])


def keywords():
    """The text of the stub that says what each method of a config takes."""
    from rlconnect.v2.algorithms import bc, cql, dqn, iql, marwil, ppo, sac  # They need torch.
    from rlconnect.v2.config.setting_methods import ALL

    algorithms = {
        "PPO": ppo,
        "MARWIL": marwil,
        "BC": bc,
        "DQN": dqn,
        "SAC": sac,
        "CQL": cql,
        "IQL": iql,
    }
    classes = [_keywords(each.method.title().replace("_", ""), each) for each in ALL]
    common = next(each for each in ALL if each.method == "training")
    classes += [
        _keywords(f"{name}Training", each.TRAINING, common) for name, each in algorithms.items()
    ]
    return KEYWORDS_HEAD + "".join(classes)


def _keywords(name, section, base=None):
    from rlconnect.v2 import AlgorithmConfig

    inherited = {} if base is None else base.settings
    parameters = signature(getattr(AlgorithmConfig, section.method)).parameters.values()
    positional = {each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD}
    lines = [
        f"    {key}: {_annotation(setting)}\n"
        for key, setting in section.settings.items()
        if key not in positional and inherited.get(key) != setting
    ]
    parent = "TypedDict" if base is None else base.method.title()
    return f"\nclass {name}({parent}, total=False):\n{''.join(lines)}"


def _annotation(setting):
    known = "Any" if setting.rule is None else setting.rule.annotation
    if known == "Any":
        return known
    return f"{known} | None | Open" if setting.default is None else f"{known} | Open"


if __name__ == "__main__":
    for each in FRONTS:
        path, text = stub(each)
        path.write_text(text, encoding="utf-8")
    KEYWORDS.write_text(keywords(), encoding="utf-8")
