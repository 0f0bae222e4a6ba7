"""What a source gives names to, and what its expressions are."""

from __future__ import annotations

import re
from typing import Final

import libcst as cst

from ...names import front_tables
from ...names.v2 import V2
from .module_names import dotted
from .renamings import TRAINERS

_CONFIG: Final = re.compile(r"config|cfg", re.IGNORECASE)
_OF_ALGORITHM: Final = re.compile(
    r"(?:^|\.)(?:\w*(?:algo|base|bc|marwil|ppo|rllib|train)\w*_)?(?:config|cfg)$", re.IGNORECASE
)
_ALGORITHMS: Final = frozenset(TRAINERS.values())
_HOMES: Final = front_tables(V2)[0]


class GivenNames(cst.CSTVisitor):
    """Finds the names that a file gives to results of `train()` and to algorithms."""

    def __init__(self) -> None:
        super().__init__()
        self.results: set[str] = set()
        self.algorithms: set[str] = set()

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:  # LibCST's name
        """`def on_train_result(self, *, algorithm, result)`."""
        if node.name.value == "on_train_result":
            self.results.add("result")

    def visit_Assign(self, node: cst.Assign) -> None:  # LibCST's name
        """`result = algo.train()`, `algo = config.build()`, `algo = PPO(config)`."""
        called = node.value
        if not isinstance(called, cst.Call):
            return
        names = {dotted(assigned.target) for assigned in node.targets}
        if is_call_of(called, "train"):
            self.results |= names
        last = dotted(called.func).rpartition(".")[2]
        if builds_algorithm(called) or last.endswith("Trainer") or last in _ALGORITHMS:
            self.algorithms |= names


def is_config(node: cst.BaseExpression) -> bool:
    """Whether a chain of calls begins with a config: `PPOConfig()`, `config.copy()`."""
    while True:
        if isinstance(node, cst.Call):
            name = dotted(node.func).rpartition(".")[2]
            if name.endswith("Config") or name == "get_default_config":
                return not _HOMES.get(name, "").startswith(".modules")
            node = node.func
        elif isinstance(node, cst.Attribute):
            if _CONFIG.search(node.attr.value) and not isinstance(node.value, cst.Call):
                return True
            node = node.value
        else:
            return _CONFIG.search(dotted(node)) is not None


def builds_algorithm(call: cst.Call) -> bool:
    """Whether it is `config.build()`, and not what configs of networks are built by."""
    function = call.func
    if not isinstance(function, cst.Attribute):
        return False
    if function.attr.value not in ("build", "build_algo") or not is_config(function.value):
        return False
    owner = function.value
    return isinstance(owner, cst.Call) or _OF_ALGORITHM.search(dotted(owner)) is not None


def is_call_of(node: cst.BaseExpression, method: str) -> bool:
    """Whether it calls a method without arguments."""
    return (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value == method
        and not node.args
    )


def key_of(node: cst.BaseExpression) -> str:
    """The text that something is taken by: `key` of `x["key"]`; nothing if it is no text."""
    return text_of(index_of(node))


def index_of(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """What something is taken by: `i` of `x[i]`."""
    if not isinstance(node, cst.Subscript) or len(node.slice) != 1:
        return None
    index = node.slice[0].slice
    return index.value if isinstance(index, cst.Index) else None


def text_of(node: cst.BaseExpression | None) -> str:
    """The text that a string in the source is; nothing if it is none."""
    is_text = isinstance(node, cst.SimpleString) and isinstance(node.evaluated_value, str)
    return str(cst.ensure_type(node, cst.SimpleString).evaluated_value) if is_text else ""
