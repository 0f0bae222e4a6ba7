"""What RLlib changed between its releases, in classes and calls."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import libcst as cst
from libcst import helpers

from .renamings import (
    BUILDER_PARAMETERS,
    BUILDERS,
    KEYWORDS,
    MODULE_CONFIG,
    MOVED_TO_LEARNERS,
    NEW_STACK_SWITCH,
    SPACE_HOOK_PARAMETERS,
    SPACE_HOOKS,
)

_NEW_STACK: Final = ("enable_rl_module_and_learner", "enable_env_runner_and_connector_v2")
_EPISODES: Final = re.compile(r"episode|(^|_)eps(_|$)|buffer|chunk", re.IGNORECASE)


class ReleaseChanges(cst.CSTTransformer):
    """Renames and reorders what older releases wrote otherwise.

    Args:
        renamed: Names of the file that its imports no longer give, and what they are called now.
        builders: Functions of the file that build connectors from an env alone.

    Attributes:
        changes: What was done, in words.
    """

    def __init__(self, renamed: Mapping[str, str], builders: frozenset[str]) -> None:
        super().__init__()
        self.renamed = renamed
        self.builders = builders
        self.changes: list[str] = []
        self._classes: list[str] = []

    def visit_ClassDef(self, node: cst.ClassDef) -> None:  # LibCST's name
        """Remember that what follows is in a class."""
        self._classes.append(node.name.value)

    def leave_ClassDef(  # LibCST's name
        self, original_node: cst.ClassDef, updated_node: cst.ClassDef
    ) -> cst.ClassDef:
        """Forget the class."""
        self._classes.pop()
        return updated_node

    def leave_Name(  # LibCST's name
        self, original_node: cst.Name, updated_node: cst.Name
    ) -> cst.BaseExpression:
        """Give a renamed class its new name wherever the file says the old one."""
        new = self.renamed.get(original_node.value)
        return updated_node if new is None else cst.parse_expression(new)

    def leave_Arg(  # LibCST's name
        self, original_node: cst.Arg, updated_node: cst.Arg
    ) -> cst.Arg:
        """A keyword of the same name is something else."""
        return updated_node.with_changes(keyword=original_node.keyword)

    def leave_FunctionDef(  # LibCST's name
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef:
        """Bring signatures up to date: `__call__`, the hook for spaces, builders."""
        name = original_node.name.value
        if self._classes and name == "__call__":
            return self._with_batch(updated_node)
        if self._classes and name in SPACE_HOOKS:
            self._did(f"{name}() -> {SPACE_HOOKS[name]}()")
            named = updated_node.with_changes(name=cst.Name(SPACE_HOOKS[name]))
            return named.with_changes(params=_longer(named.params, SPACE_HOOK_PARAMETERS))
        if name in self.builders:
            longer = _longer(updated_node.params, BUILDER_PARAMETERS)
            if longer is not updated_node.params:
                self._did(f"{name}() takes {', '.join(BUILDER_PARAMETERS)} too")
            return updated_node.with_changes(params=longer)
        return updated_node

    def leave_Attribute(  # LibCST's name
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.BaseExpression:
        """`is_finalized` -> `is_numpy`; what a module asked its config for."""
        if original_node.attr.value == "is_finalized":
            self._did("is_finalized -> is_numpy")
            return updated_node.with_changes(attr=cst.Name("is_numpy"))
        if original_node.attr.value in self.renamed:  # something else of the same name
            return updated_node.with_changes(attr=original_node.attr)
        setting = _asked_of_config(original_node)
        if self._is_module and setting in MODULE_CONFIG:
            self._did(f"self.config.{setting} -> self.{MODULE_CONFIG[setting]}")
            return _attribute("self", MODULE_CONFIG[setting])
        return updated_node

    def leave_Call(  # LibCST's name
        self, original_node: cst.Call, updated_node: cst.Call
    ) -> cst.BaseExpression:
        """Keywords that were renamed or have moved, and methods that were."""
        function = original_node.func
        if isinstance(function, cst.Attribute):
            return self._method_call(function, updated_node)
        called = helpers.get_full_name_for_node(function) or ""
        return self._renamed_keywords(updated_node, KEYWORDS.get(called, {}), called)

    def _method_call(self, function: cst.Attribute, call: cst.Call) -> cst.BaseExpression:
        name = function.attr.value
        if name == "finalize" and not call.args and _is_episode(function.value):
            self._did("finalize() -> to_numpy()")
            return _with_method(call, "to_numpy")
        if self._is_module and name == "get_catalog" and _is_own_config(function.value):
            self._did("self.config.get_catalog() -> self.catalog")
            return _attribute("self", "catalog")
        if name == "experimental" and [_keyword(arg) for arg in call.args] == [NEW_STACK_SWITCH]:
            return self._new_stack(call)
        if name == "env_runners":
            call = self._three_argument_builders(call)
        if name == "training":
            return self._moved_to_learners(call)
        return call

    @property
    def _is_module(self) -> bool:
        return any("Module" in name for name in self._classes)

    def _did(self, change: str) -> None:
        self.changes.append(change)

    def _with_batch(self, function: cst.FunctionDef) -> cst.FunctionDef:
        """A connector's `__call__` whose argument was called `data`."""
        names = _parameter_names(function.params)
        if "data" not in names or "batch" in names or not {"episodes", "rl_module"} & names:
            return function
        self._did("__call__(data) -> __call__(batch)")
        renamed = function.visit(_Renamed("data", "batch"))
        assert isinstance(renamed, cst.FunctionDef)
        return renamed

    def _renamed_keywords(self, call: cst.Call, names: Mapping[str, str], where: str) -> cst.Call:
        if not any(_keyword(arg) in names for arg in call.args):
            return call
        args = []
        for arg in call.args:
            new = names.get(_keyword(arg))
            if new:
                self._did(f"{where}({_keyword(arg)}=) -> {where}({new}=)")
                arg = arg.with_changes(keyword=cst.Name(new))
            args.append(arg)
        return call.with_changes(args=args)

    def _three_argument_builders(self, call: cst.Call) -> cst.Call:
        args = []
        for arg in call.args:
            value = arg.value
            if _keyword(arg) in BUILDERS and isinstance(value, cst.Lambda):
                longer = _longer(value.params, BUILDER_PARAMETERS)
                if longer is not value.params:
                    self._did(f"{_keyword(arg)}=lambda env: -> lambda env, spaces, device:")
                    arg = arg.with_changes(value=value.with_changes(params=longer))
            args.append(arg)
        return call.with_changes(args=args)

    def _moved_to_learners(self, call: cst.Call) -> cst.Call:
        moved = [arg for arg in call.args if _keyword(arg) in MOVED_TO_LEARNERS]
        if not moved:
            return call
        self._did(f"training({', '.join(_keyword(arg) for arg in moved)}) -> learners()")
        if len(moved) == len(call.args):
            return _with_method(call, "learners")
        rest = [arg for arg in call.args if _keyword(arg) not in MOVED_TO_LEARNERS]
        bare = [_on_one_line(arg) for arg in moved]
        first = call.with_changes(args=_ending_like(rest, call.args))
        function = cst.Attribute(value=first, attr=cst.Name("learners"))
        return cst.Call(func=function, args=bare)

    def _new_stack(self, call: cst.Call) -> cst.Call:
        on = call.args[0].value
        self._did("experimental(_enable_new_api_stack=) -> api_stack()")
        tight = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
        args = [
            cst.Arg(value=on.deep_clone(), keyword=cst.Name(name), equal=tight)
            for name in _NEW_STACK
        ]
        return _with_method(call, "api_stack").with_changes(args=args)


class _Renamed(cst.CSTTransformer):
    """One local name of a function, and the keyword by which its like is handed on."""

    def __init__(self, old: str, new: str) -> None:
        super().__init__()
        self.old = old
        self.new = new

    def leave_Attribute(  # LibCST's name
        self, original_node: cst.Attribute, updated_node: cst.Attribute
    ) -> cst.Attribute:
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(  # LibCST's name
        self, original_node: cst.Arg, updated_node: cst.Arg
    ) -> cst.Arg:
        """Keywords keep their name, but where the argument is handed on under its own."""
        if original_node.keyword is None:
            return updated_node
        is_handed_on = _keyword(original_node) == self.old and (
            isinstance(original_node.value, cst.Name) and original_node.value.value == self.old
        )
        keyword = cst.Name(self.new) if is_handed_on else original_node.keyword
        return updated_node.with_changes(keyword=keyword)

    def leave_Name(  # LibCST's name
        self, original_node: cst.Name, updated_node: cst.Name
    ) -> cst.Name:
        return (
            updated_node.with_changes(value=self.new)
            if original_node.value == self.old
            else updated_node
        )


def argumentless_builders(module: cst.Module) -> frozenset[str]:
    """The names of functions that are given to a config as builders of connectors."""
    builders: set[str] = set()

    class Builders(cst.CSTVisitor):
        def visit_Arg(self, node: cst.Arg) -> None:  # LibCST's name
            if _keyword(node) in BUILDERS and isinstance(node.value, cst.Name):
                builders.add(node.value.value)

    module.visit(Builders())
    return frozenset(builders)


def _keyword(arg: cst.Arg) -> str:
    return "" if arg.keyword is None else arg.keyword.value


def _attribute(owner: str, name: str) -> cst.Attribute:
    return cst.Attribute(value=cst.Name(owner), attr=cst.Name(name))


def _with_method(call: cst.Call, name: str) -> cst.Call:
    return call.with_deep_changes(call.func, attr=cst.Name(name))


def _is_own_config(node: cst.BaseExpression) -> bool:
    return helpers.get_full_name_for_node(node) == "self.config"


def _asked_of_config(node: cst.Attribute) -> str:
    return node.attr.value if _is_own_config(node.value) else ""


def _is_episode(node: cst.BaseExpression) -> bool:
    name = helpers.get_full_name_for_node(node) or ""
    return bool(_EPISODES.search(name.rpartition(".")[2]))


def _parameter_names(params: cst.Parameters) -> set[str]:
    every = (*params.posonly_params, *params.params, *params.kwonly_params)
    return {parameter.name.value for parameter in every}


def _longer(params: cst.Parameters, names: Sequence[str]) -> cst.Parameters:
    """Parameters that were one plain one, with more behind it; others are given back."""
    is_plain = (
        len(params.params) == 1
        and params.params[0].default is None
        and not params.kwonly_params
        and not params.posonly_params
        and params.star_kwarg is None
        and not isinstance(params.star_arg, cst.Param)
    )
    if not is_plain:
        return params
    more = [*params.params, *(cst.Param(cst.Name(name)) for name in names)]
    return params.with_changes(
        params=[parameter.with_changes(comma=cst.MaybeSentinel.DEFAULT) for parameter in more]
    )


def _on_one_line(arg: cst.Arg) -> cst.Arg:
    return arg.with_changes(
        comma=cst.MaybeSentinel.DEFAULT,
        whitespace_after_arg=cst.SimpleWhitespace(""),
    )


def _ending_like(rest: Sequence[cst.Arg], args: Sequence[cst.Arg]) -> list[cst.Arg]:
    """The arguments that stay, the last of them followed by what followed the last of all."""
    last = rest[-1].with_changes(
        comma=args[-1].comma, whitespace_after_arg=args[-1].whitespace_after_arg
    )
    return [*rest[:-1], last]
